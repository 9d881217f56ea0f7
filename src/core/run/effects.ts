import type { AiOverride, ModelName, ModelRole } from '../invocation/brief.js'
import type { Ceilings } from '../budget/budget.js'
import type { InvocationState } from '../invocation/state.js'
import type { BoundGate } from '../verification/gate.js'
import type { Feedback } from '../verification/judgement.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import { present } from '../present.js'
import { hasReadyNodes } from './schedule.js'
import { deadline, nodeDueAt } from './limits.js'
import type { Rules } from './decide.js'
import type { Fork, Invoking, RepeatPolicy, RunStatus } from './events.js'
import { verbosityOf } from '../invocation/model-call.js'
import { carriesSecret, secretsOf } from './redaction.js'
import { type Plan, type PlanNode, planNodeAt } from '../workflow/plan.js'
import { handedTo } from '../handoff/state.js'
import { handoffMove } from '../handoff/decide.js'
import { placeOf } from '../verification/attempt.js'
import { termsFor } from '../handoff/mapping.js'
import { verificationEffects } from '../verification/effects.js'
import { type Active, nodeAt, type RunState } from './state.js'
import type { OnAgent, OnBrief, OnHost, OnWorkers, Waiting } from './waiting.js'
import { CHILD_RECHECK_MS, WAKE_NOW } from './wake-time.js'

/**
 * What the world owes a run now. Derived from state alone, so nothing but the log has to survive a crash. `since`
 * identifies the asking: performing an effect again is harmless, its answer is taken once.
 */
export type Effect =
  | {
      readonly kind: 'start-child'
      readonly nodeId: string
      readonly since: number
      readonly worker: number
      readonly workflowId: string
      readonly inputs: JsonObject
      /** Names of inputs that carry a secret. */
      readonly hiddenInputs: readonly string[]
      readonly unset: readonly string[]
      readonly timeoutMs: number
      readonly principalScope: readonly string[] | undefined
      readonly grant: Ceilings | undefined
      /** Not a worker: it judges what one has brought. */
      readonly verifier?: true
    }
  | {
      readonly kind: 'watch-child'
      readonly nodeId: string
      readonly since: number
      readonly worker: number
      readonly childRunId: string
      /** What this run knows of the child. */
      readonly status: RunStatus
      /** Names of the child's variables that are mapped back. */
      readonly wanted: readonly string[]
      /** Whether their checksum is. */
      readonly attest: boolean
    }
  | {
      readonly kind: 'cancel-child'
      readonly nodeId: string
      readonly since: number
      readonly worker: number
      readonly childRunId: string
    }
  /** Find out about a result what the host can find out by itself. */
  | {
      readonly kind: 'inspect'
      readonly nodeId: string
      readonly since: number
      readonly bound: BoundGate
      readonly attempt: number
      readonly round: number
      readonly dimensions: readonly string[]
      readonly result: Json
      /** The same as it may be shown. */
      readonly output: Json
    }
  | {
      readonly kind: 'call'
      readonly nodeId: string
      readonly since: number
      readonly provider: string
      readonly input: Json
      readonly ordinal: number
      readonly repeat: RepeatPolicy
      /** Events of the run that are given along. */
      readonly transcript?: { readonly from: number; readonly to: number }
    }
  | {
      readonly kind: 'check'
      readonly nodeId: string
      readonly since: number
      readonly schema: JsonObject
      readonly value: Json
    }
  | {
      readonly kind: 'brief'
      readonly nodeId: string
      readonly since: number
      readonly wait: Invoking
      readonly workflowPrompts: JsonObject
      readonly variables: JsonObject
      readonly ai: AiOverride
      /** By role and class: the models that this run uses already. */
      readonly models: { readonly [use: string]: ModelName }
      /** What was found in the agent's last result, where that was sent back. */
      readonly feedback?: Feedback
    }
  | {
      readonly kind: 'think'
      readonly nodeId: string
      readonly since: number
      readonly role: ModelRole
      readonly ordinal: number
      readonly call: number
      readonly attempt: number
      readonly invocation: InvocationState
      readonly maxOutputTokens: number
      readonly verbosity: 'summary' | 'full' | 'off'
    }
  | {
      readonly kind: 'use'
      readonly nodeId: string
      readonly since: number
      readonly ordinal: number
      readonly call: number
      readonly position: number
      readonly toolId: string
      readonly repeat: RepeatPolicy
      readonly agentId: string
      readonly principal: string
      /** Where the model's call, with its arguments, is kept. */
      readonly contents: string
    }
  | { readonly kind: 'continue'; readonly since: number }
  /** Go on telling what the source of this replay went through. */
  | { readonly kind: 'retell'; readonly since: number; readonly fork: Fork }

export function pending({ plan }: Pick<Rules, 'plan'>, state: RunState): readonly Effect[] {
  if (state.phase !== 'active') return []
  // R-REPLAY-12: nothing else is ever owed to a replay, so it cannot reach the world.
  if (state.fork?.mode === 'replay') return [{ kind: 'retell', since: state.fork.fromSeq, fork: state.fork }]
  if (state.mode.kind === 'paused') return []
  const effects: Effect[] = hasReadyNodes({ plan }, state) ? [{ kind: 'continue', since: state.next }] : []
  for (const index of state.open) {
    const node = nodeAt(state, index)
    if (node.is === 'waiting') effects.push(...owedTo({ plan }, state, planNodeAt(plan, index), node))
  }
  return effects
}

function owedTo(rules: Pick<Rules, 'plan'>, state: Active, planNode: PlanNode, node: Waiting): Effect[] {
  switch (node.on) {
    case 'host':
      return owedByHost(planNode, node)
    case 'person':
      return []
    case 'workers':
      return [...verificationEffects(planNode, node, state), ...owedToWorkers(rules, planNode, node, state)]
    case 'brief':
      return [briefOf(rules.plan, state, planNode, node)]
    case 'agent':
      return owedToAgent(state, planNode, node)
    case 'gate':
      return verificationEffects(planNode, node, state)
  }
}

function owedByHost({ node: { id: nodeId } }: PlanNode, { wait, since }: OnHost): Effect[] {
  if (wait.kind === 'check') return [{ kind: 'check', nodeId, since, schema: wait.schema, value: wait.value }]
  if (wait.kind !== 'effect') return []
  const { kind: _, ...asked } = wait
  return [{ kind: 'call', nodeId, since, ...asked }]
}

function briefOf(plan: Plan, state: Active, planNode: PlanNode, { wait, since }: OnBrief): Effect {
  const nodeId = planNode.node.id
  const shown = Object.entries(state.variables).filter(([name]) => !state.hidden.variables.includes(name))
  const defaults = plan.definition.defaults as Json | undefined
  const workflowPrompts = isObject(defaults) && isObject(defaults.promptRefs) ? defaults.promptRefs : {}
  const { ai } = state.started.configurable ?? {}
  const given = { workflowPrompts, variables: Object.fromEntries(shown), ai: (isObject(ai) ? ai : {}) as AiOverride }
  const found = state.gated?.feedback[placeOf(nodeId)]
  const feedback = found && { feedback: found }
  return { kind: 'brief', nodeId, since, wait, ...given, models: state.models, ...feedback }
}

/** The one call that is under way; nothing while a person is asked. */
function owedToAgent(state: Active, planNode: PlanNode, { wait, since, invocation, asked }: OnAgent): Effect[] {
  if (asked) return []
  const nodeId = planNode.node.id
  const { ordinal } = wait
  const { now, rounds, brief, calls } = invocation
  if (now.is === 'thinking') {
    const { call, attempt, maxOutputTokens } = now
    // A summary is cut after secrets have been taken out, so that no half of one is left.
    const wanted = verbosityOf(state)
    const verbosity = wanted === 'summary' && secretsOf(state) !== undefined ? 'full' : wanted
    return [
      { kind: 'think', nodeId, since, role: wait.role, ordinal, call, attempt, invocation, maxOutputTokens, verbosity },
    ]
  }
  if (now.is !== 'using') return []
  const { wanted, contents } = present(rounds.at(-1), 'round of the agent')
  const { toolId = '' } = present(wanted[now.position], 'tool call of the round')
  const repeat = brief.tools.find(tool => tool.toolId === toolId)?.repeat ?? 'never'
  const principal = state.started.owner.principal ?? 'core.system'
  const use = {
    ordinal,
    call: calls,
    position: now.position,
    toolId,
    repeat,
    agentId: brief.agentId,
    principal,
    contents,
  }
  return [{ kind: 'use', nodeId, since, ...use }]
}

/** One child is started at a time, in the order of the decision, so that every host tells the same log. */
function owedToWorkers(rules: Pick<Rules, 'plan'>, planNode: PlanNode, node: OnWorkers, state: Active): Effect[] {
  const { since, workers } = node
  const stopping = state.mode.kind === 'stopping'
  const { config, id: nodeId } = planNode.node
  // What the run can do by itself comes first, so that it does not depend on who is faster.
  const isMoving = stopping || handoffMove(rules, state, planNode.index) !== undefined
  const starting = isMoving ? -1 : workers.findIndex(worker => worker.is === 'dispatching')
  return workers.flatMap((worker, k): Effect[] => {
    const workflowId = handedTo(node, k)
    if (worker.is === 'dispatching' && k === starting) {
      const { inputs, unset, grant } = worker
      const secrets = secretsOf(state)
      const hiddenInputs = Object.entries(inputs).flatMap(([name, value]) =>
        carriesSecret(value, secrets) ? [name] : [],
      )
      const { principalScope } = termsFor(config, workflowId)
      const { timeoutMs } = planNode
      const given = { inputs, hiddenInputs, unset, timeoutMs, principalScope, grant }
      return [{ kind: 'start-child', nodeId, since, worker: k, workflowId, ...given }]
    }
    if (worker.is !== 'running') return []
    const { childRunId, childStatus: status = 'running' } = worker
    const { outputs, attest } = termsFor(config, workflowId)
    const wanted = outputs.map(([, child]) => child)
    const watch: Effect = { kind: 'watch-child', nodeId, since, worker: k, childRunId, status, wanted, attest }
    if (!stopping || config.propagateCancellation === false) return [watch]
    return [{ kind: 'cancel-child', nodeId, since, worker: k, childRunId }, watch]
  })
}

/** When the run must be looked at again even if nobody says so; null when it has ended. */
export function wakeAt(rules: Pick<Rules, 'plan' | 'limits'>, state: RunState): number | null {
  if (state.phase !== 'active') return null
  const effects = pending(rules, state).map(effect =>
    effect.kind === 'watch-child' ? state.lastAt + CHILD_RECHECK_MS : WAKE_NOW,
  )
  return Math.min(nextTimer(rules, state), ...effects)
}

/** The next moment at which time alone changes the run; Infinity when there is none, as for a replay, whose time is past. */
export const nextTimer = (rules: Pick<Rules, 'plan' | 'limits'>, state: RunState): number =>
  state.phase === 'active' && state.fork?.mode === 'replay' ? Number.POSITIVE_INFINITY : nextMoment(rules, state)

/** The same by the run's own time. */
export function nextMoment({ plan, limits }: Pick<Rules, 'plan' | 'limits'>, state: RunState): number {
  if (state.phase !== 'active' || state.mode.kind === 'stopping') return Number.POSITIVE_INFINITY
  let next = deadline(plan, state, limits)
  if (state.mode.kind === 'paused') return next
  const mayStart = state.mode.kind === 'running'
  for (const index of state.open)
    next = Math.min(next, nodeDueAt(planNodeAt(plan, index), nodeAt(state, index), mayStart))
  return next
}
