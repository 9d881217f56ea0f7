import type { Json, JsonObject } from '../json.js'
import { hasReadyNodes } from './advance.js'
import { deadline, nodeDueAt } from './bounds.js'
import type { Rules } from './decide.js'
import type { Fork, RepeatPolicy, RunStatus } from './event.js'
import { carriesSecret, secretsOf } from './masking.js'
import type { RunState } from './state.js'
import { CHILD_RECHECK_MS, WORK_OWED } from './wake-time.js'

/**
 * What the world owes a run now. Derived from state alone, so nothing but the log has to survive a crash. `since`
 * identifies the asking: performing an effect again is harmless, its answer is taken once.
 */
export type Effect =
  | {
      readonly kind: 'start-child'
      readonly nodeId: string
      readonly since: number
      readonly workflowId: string
      readonly inputs: JsonObject
      /** Names of inputs that carry a secret. */
      readonly hiddenInputs: readonly string[]
      readonly unset: readonly string[]
      readonly timeoutMs: number
    }
  | {
      readonly kind: 'watch-child'
      readonly nodeId: string
      readonly since: number
      readonly childRunId: string
      /** What this run knows of the child. */
      readonly status: RunStatus
    }
  | { readonly kind: 'cancel-child'; readonly nodeId: string; readonly since: number; readonly childRunId: string }
  | {
      readonly kind: 'call'
      readonly nodeId: string
      readonly since: number
      readonly provider: string
      readonly input: Json
      readonly ordinal: number
      readonly repeat: RepeatPolicy
    }
  | {
      readonly kind: 'check'
      readonly nodeId: string
      readonly since: number
      readonly schema: JsonObject
      readonly value: Json
    }
  | { readonly kind: 'continue'; readonly since: number }
  /** Go on telling what the source of this replay went through. */
  | { readonly kind: 'retell'; readonly since: number; readonly fork: Fork }

export function pending({ plan }: Pick<Rules, 'plan'>, state: RunState): readonly Effect[] {
  if (state.phase !== 'active') return []
  // R-REPLAY-12: nothing else is ever owed to a replay, so it cannot reach the world.
  if (state.fork?.mode === 'replay') return [{ kind: 'retell', since: state.fork.fromSeq, fork: state.fork }]
  if (state.mode.kind === 'paused') return []
  const stopping = state.mode.kind === 'stopping'
  const effects: Effect[] = hasReadyNodes({ plan }, state) ? [{ kind: 'continue', since: state.next }] : []
  for (const index of state.open) {
    const node = state.nodes[index]!
    if (node.is !== 'waiting') continue
    const nodeId = plan.nodes[index]!.node.id
    const { wait, since, childRunId } = node
    if (wait.kind === 'child' && childRunId !== undefined) {
      if (stopping && wait.propagateCancellation) effects.push({ kind: 'cancel-child', nodeId, since, childRunId })
      effects.push({ kind: 'watch-child', nodeId, since, childRunId, status: node.childStatus ?? 'running' })
    } else if (wait.kind === 'child') {
      const { workflowId, inputs, unset } = wait
      const secrets = secretsOf(state)
      const hiddenInputs = Object.keys(inputs).filter(name => carriesSecret(inputs[name]!, secrets))
      const { timeoutMs } = plan.nodes[index]!
      effects.push({ kind: 'start-child', nodeId, since, workflowId, inputs, hiddenInputs, unset, timeoutMs })
    } else if (wait.kind === 'check') {
      effects.push({ kind: 'check', nodeId, since, schema: wait.schema, value: wait.value })
    } else if (wait.kind === 'effect') {
      const { provider, input, ordinal, repeat } = wait
      effects.push({ kind: 'call', nodeId, since, provider, input, ordinal, repeat })
    }
  }
  return effects
}

/** When the run must be looked at again even if nobody says so; null when it has ended. */
export function wakeAt(rules: Pick<Rules, 'plan' | 'limits'>, state: RunState): number | null {
  if (state.phase !== 'active') return null
  const effects = pending(rules, state).map(effect =>
    effect.kind === 'watch-child' ? state.lastAt + CHILD_RECHECK_MS : WORK_OWED,
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
  for (const index of state.open) next = Math.min(next, nodeDueAt(plan.nodes[index]!, state.nodes[index]!, mayStart))
  return next
}
