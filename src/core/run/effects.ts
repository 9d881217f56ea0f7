import type { Ceilings } from '../budget/budget.js'
import { handoffEffects } from '../handoff/effects.js'
import { type CancelPeer, lettingGo, type StartPeer, type WatchPeer } from '../handoff/peer-effects.js'
import type { AiOverride, ModelName, ModelRole } from '../invocation/brief.js'
import { SYSTEM_AGENT } from '../invocation/system-call.js'
import { invocationEffects, prepareAgentEffect } from '../invocation/effects.js'
import type { Exchange } from '../invocation/exchange.js'
import type { InvocationState } from '../invocation/state.js'
import { deskOf } from '../journal/effects.js'
import type { Desk, JournalUse } from '../journal/entry.js'
import type { Sight } from '../journal/place.js'
import type { Json, JsonObject } from '../json.js'
import { type Fork, isReplay } from '../replay/events.js'
import { verificationEffects } from '../verification/effects.js'
import type { BoundGate } from '../verification/gate.js'
import type { ContextEntry } from '../verification/gate-context.js'
import type { Feedback } from '../verification/voting/judgement.js'
import { isOwnEffect } from '../workflow/own-effects.js'
import { type PlanNode, planNodeAt } from '../workflow/plan.js'
import type { Rules } from './decide.js'
import type { Invoking, RepeatPolicy, RunStatus } from './events.js'
import { deadline, nodeDueAt } from './limits.js'
import { hasReadyNodes, type Outlook } from './schedule.js'
import { type Active, nodeAt, type RunState } from './state.js'
import type { OnHost, Waiting } from './waiting.js'
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
      /** What is given besides the inputs, to be seen by no reader of the child's log. */
      readonly withheld?: JsonObject
      /** Blocking gates that have to pass what the child leaves. */
      readonly gatedBy?: readonly string[]
      /** It has a memory of its own. */
      readonly isolated?: true
      /** Not a worker: it judges what one has brought. */
      readonly verifier?: true
    }
  | {
      readonly kind: 'watch-child'
      readonly nodeId: string
      readonly since: number
      readonly worker: number
      readonly childRunId: string
      /** Those named before it come first: only whether it waits is told yet, not that it has ended. */
      readonly early?: true
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
  | StartPeer
  | WatchPeer
  | CancelPeer
  /** Find out about a result what the host can find out by itself. */
  | {
      readonly kind: 'gather-evidence'
      readonly nodeId: string
      readonly since: number
      readonly bound: BoundGate
      readonly attempt: number
      readonly round: number
      readonly dimensions: readonly string[]
      readonly result: Json
      /** The same as it may be shown. */
      readonly output: Json
      /** What the gate's `context` came to; empty where it names nothing, or came to nothing. */
      readonly context: readonly ContextEntry[]
      /** Whose files are looked at; undefined where nobody's are. */
      readonly sight: Sight | undefined
    }
  | {
      readonly kind: 'call-provider'
      readonly nodeId: string
      readonly since: number
      readonly provider: string
      readonly input: Json
      readonly ordinal: number
      readonly repeat: RepeatPolicy
      /** Events of the run that are given along. */
      readonly transcript?: { readonly from: number; readonly to: number }
      /** Of what the host performs itself. */
      readonly seat?: ActingFrom
    }
  | {
      readonly kind: 'check-schema'
      readonly nodeId: string
      readonly since: number
      readonly schema: JsonObject
      readonly value: Json
    }
  | {
      readonly kind: 'prepare-agent'
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
      readonly desk: Desk
    }
  | {
      readonly kind: 'use-journal'
      readonly nodeId: string
      readonly since: number
      readonly ordinal: number
      readonly use: JournalUse
      readonly desk: Desk
    }
  | {
      readonly kind: 'call-model'
      readonly nodeId: string
      readonly since: number
      readonly role: ModelRole
      readonly ordinal: number
      readonly call: number
      readonly attempt: number
      readonly invocation: InvocationState
      readonly maxOutputTokens: number
      readonly verbosity: 'summary' | 'full' | 'off'
      /** What is kept with the answer, of an agent that has conversations. */
      readonly exchange?: Exchange
    }
  | {
      readonly kind: 'call-tool'
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
      /** A gate is to see what it brings. */
      readonly gated: boolean
      readonly desk: Desk
    }
  | { readonly kind: 'continue'; readonly since: number }
  /** Go on telling what the source of this replay went through. */
  | { readonly kind: 'replay'; readonly since: number; readonly fork: Fork }

/** Where a node acts from: for whom, within which bounds, and what of memory and workspace it sees. */
export type ActingFrom = {
  readonly principal: string
  readonly scopes: readonly string[]
  readonly desk: Desk
}

export function pending({ plan, limits }: Outlook, state: RunState): readonly Effect[] {
  if (state.phase !== 'active') return []
  // R-REPLAY-12: nothing else is ever owed to a replay, so it cannot reach the world.
  if (state.fork && isReplay(state)) return [{ kind: 'replay', since: state.fork.fromSeq, fork: state.fork }]
  if (state.mode.kind === 'paused') return []
  const effects: Effect[] = hasReadyNodes({ plan, ...(limits ? { limits } : {}) }, state)
    ? [{ kind: 'continue', since: state.next }]
    : []
  for (const index of state.open) {
    const node = nodeAt(state, index)
    if (node.is === 'waiting') effects.push(...owedTo({ plan }, state, planNodeAt(plan, index), node))
  }
  effects.push(...lettingGo(state))
  return effects
}

function owedTo(rules: Pick<Rules, 'plan'>, state: Active, planNode: PlanNode, node: Waiting): Effect[] {
  switch (node.on) {
    case 'host':
      return owedByHost(state, planNode, node)
    case 'person':
      return []
    case 'workers':
      return [
        ...verificationEffects(rules.plan, planNode, node, state),
        ...handoffEffects(rules, planNode, node, state),
      ]
    case 'brief':
      return [prepareAgentEffect(rules.plan, state, planNode, node)]
    case 'agent':
      return invocationEffects(state, planNode, node)
    case 'gate':
      return verificationEffects(rules.plan, planNode, node, state)
  }
}

function owedByHost(state: Active, { node: { id: nodeId } }: PlanNode, node: OnHost): Effect[] {
  const { wait, since } = node
  if (wait.kind === 'journal') {
    const { use, ordinal } = wait
    return [{ kind: 'use-journal', nodeId, since, ordinal, use, desk: deskOf(state, node) }]
  }
  if (wait.kind === 'check') return [{ kind: 'check-schema', nodeId, since, schema: wait.schema, value: wait.value }]
  if (wait.kind !== 'effect') return []
  const { kind: _, ...asked } = wait
  const seat = isOwnEffect(asked.provider) ? { seat: seatOf(state, node) } : {}
  return [{ kind: 'call-provider', nodeId, since, ...asked, ...seat }]
}

const seatOf = (state: Active, node: OnHost): ActingFrom => ({
  principal: state.started.owner.principal ?? SYSTEM_AGENT,
  scopes: state.started.principalScope ?? [],
  desk: deskOf(state, node),
})

/** What is owed until another run, or another host, has come so far: looking again now and then is enough. */
export const isWatching = ({ kind }: Effect): boolean =>
  kind === 'watch-child' || kind === 'watch-peer' || kind === 'cancel-peer'

/** When the run must be looked at again even if nobody says so; null when it has ended. */
export function wakeAt(rules: Pick<Rules, 'plan' | 'limits'>, state: RunState): number | null {
  if (state.phase !== 'active') return null
  // Of a child here its end tells; of a peer's run only whoever has asked to be told: a new holder asks at once.
  const effects = pending(rules, state).map(({ kind }) =>
    kind === 'watch-child' ? state.lastAt + CHILD_RECHECK_MS : WAKE_NOW,
  )
  return Math.min(nextTimer(rules, state), ...effects)
}

/** The next moment at which time alone changes the run; Infinity when there is none, as for a replay, whose time is past. */
export const nextTimer = (rules: Pick<Rules, 'plan' | 'limits'>, state: RunState): number =>
  state.phase === 'active' && isReplay(state) ? Number.POSITIVE_INFINITY : nextMoment(rules, state)

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
