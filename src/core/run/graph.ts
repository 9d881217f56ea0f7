import type { Meter } from '../meter.js'
import type { TriggerRule } from '../workflow/definition.js'
import { type Plan, type PlanEdge, planNodeAt } from '../workflow/plan.js'
import { scopeOf } from './inputs.js'
import { type Active, nodeAt } from './state.js'

/**
 * When a node's turn comes. Inbound edges are grouped by their trigger rule; every group must hold.
 *
 *   all_success   every edge is live
 *   any_success   one edge is live (as soon as it is)
 *   none_failed   no source failed and at least one edge is live
 *   all_complete  every source has settled, however
 *   any_failed    one source failed (as soon as it has)
 *
 * An edge is live when its source completed, chose the edge's port, and the edge's condition holds. A rule that can no
 * longer hold skips the node, and the skip spreads along its own edges.
 */
export type Readiness =
  | { readonly is: 'wait' }
  | { readonly is: 'start'; readonly cause: number }
  | { readonly is: 'skip'; readonly reason: string; readonly cause: number }

const WAIT: Readiness = { is: 'wait' }

/** Rules that let a failure pass without failing the run. */
export const TOLERANT: ReadonlySet<TriggerRule> = new Set(['any_success', 'all_complete', 'any_failed'])

/** Conditions are charged to the meter; where it has no room for them, OVER_BUDGET is thrown. */
export function readiness(plan: Plan, state: Active, index: number, meter: Meter): Readiness {
  const { node, inbound } = planNodeAt(plan, index)
  const current = nodeAt(state, index)
  if (current.is === 'completed') return nextPass(plan, state, index, current)
  if (current.is !== 'idle') return WAIT
  const edges = inbound.filter(edge => !edge.back)
  if (edges.length === 0)
    return node.disabled ? { is: 'skip', reason: 'disabled', cause: 0 } : { is: 'start', cause: 0 }
  const flows = edges.map(edge => flowOf(plan, state, edge, meter))
  const cause = latestCause(state, edges)
  const verdicts = [...new Set(edges.map(edge => edge.rule))].map(rule =>
    judge(
      rule,
      flows.filter((_, i) => edges[i]?.rule === rule),
    ),
  )
  const refused = verdicts.find(verdict => verdict !== 'hold' && verdict !== 'wait')
  if (refused) return { is: 'skip', reason: refused, cause }
  if (verdicts.includes('wait')) return WAIT
  return node.disabled ? { is: 'skip', reason: 'disabled', cause } : { is: 'start', cause }
}

/** A loop goes round again at once, or when its whole body has settled since it last decided. */
function nextPass(
  plan: Plan,
  state: Active,
  index: number,
  { since, outputs }: Extract<Active['nodes'][number], { is: 'completed' }>,
): Readiness {
  const { body, inbound, type } = planNodeAt(plan, index)
  if (!type.loops) return WAIT
  const port = type.chosenPort?.(outputs)
  if (port === 'again') return { is: 'start', cause: since }
  if (port === 'done' || body.length === 0) return WAIT
  const settled = body.every(inner => {
    const node = nodeAt(state, inner)
    return isSettled(node) && node.since > since && !goesOn(plan, inner, node)
  })
  return settled
    ? {
        is: 'start',
        cause: latestCause(
          state,
          inbound.filter(edge => edge.back),
        ),
      }
    : WAIT
}

/** A loop inside the body that has not come to its end. */
function goesOn(plan: Plan, index: number, node: Active['nodes'][number]): boolean {
  const { type } = planNodeAt(plan, index)
  return type.loops === true && node.is === 'completed' && type.chosenPort?.(node.outputs) !== 'done'
}

type Flow = 'pending' | 'live' | 'dead' | 'failed'

function flowOf(plan: Plan, state: Active, edge: PlanEdge, meter: Meter): Flow {
  const source = nodeAt(state, edge.source)
  if (source.is === 'failed') return 'failed'
  if (source.is === 'skipped' || source.is === 'cancelled') return 'dead'
  if (source.is !== 'completed') return 'pending'
  const { type } = planNodeAt(plan, edge.source)
  const port = type.chosenPort?.(source.outputs)
  if (port !== undefined && port !== edge.port) return type.loops && port !== 'done' ? 'pending' : 'dead'
  if (edge.condition === undefined) return 'live'
  return edge.condition(scopeOf(plan, state, { output: source.outputs }), meter) ? 'live' : 'dead'
}

export const leaves = (outbound: readonly PlanEdge[], port: string): boolean =>
  outbound.some(edge => edge.port === port)

type Verdict = 'hold' | 'wait' | 'upstream-failed' | 'upstream-skipped'

function judge(rule: TriggerRule, flows: readonly Flow[]): Verdict {
  const has = (flow: Flow) => flows.includes(flow)
  const lost: Verdict = has('failed') ? 'upstream-failed' : 'upstream-skipped'
  switch (rule) {
    case 'any_success':
      return has('live') ? 'hold' : has('pending') ? 'wait' : lost
    case 'any_failed':
      return has('failed') ? 'hold' : has('pending') ? 'wait' : 'upstream-skipped'
    case 'all_complete':
      return has('pending') ? 'wait' : 'hold'
    case 'none_failed':
      return has('pending') ? 'wait' : has('live') && !has('failed') ? 'hold' : lost
    case 'all_success':
      return has('pending') ? 'wait' : flows.every(flow => flow === 'live') ? 'hold' : lost
  }
}

const isSettled = (
  node: Active['nodes'][number],
): node is Extract<Active['nodes'][number], { is: 'completed' | 'failed' | 'skipped' | 'cancelled' }> =>
  node.is === 'completed' || node.is === 'failed' || node.is === 'skipped' || node.is === 'cancelled'

/** The sequence of the event that settled last among the sources: what this node's turn is due to. */
const latestCause = (state: Active, edges: readonly PlanEdge[]): number =>
  edges.reduce((latest, edge) => {
    const source = nodeAt(state, edge.source)
    return isSettled(source) ? Math.max(latest, source.since) : latest
  }, 0)
