import { type Refusal, refuse } from '../core/problem.js'
import { type OpenInterrupt, openInterrupts } from '../core/run/interrupts.js'
import { isWaiting, type RunState } from '../core/run/state.js'
import type { RunView } from '../engine/api.js'
import { shownHash } from '../engine/shown-hash.js'
import { type InterruptDoc, renderInterrupt } from '../wire/interrupt.js'

export const hashOf = ({ asked }: OpenInterrupt): string => shownHash(asked.kind, asked.shown)

export const interruptDoc = (open: OpenInterrupt): InterruptDoc => renderInterrupt(open, hashOf(open))

/** What a waiting run asks; nothing when it only waits for what a child asks, and a replay asks nobody. */
export const asksOf = (view: RunView): OpenInterrupt[] =>
  isWaiting(view.status) && !isReplay(view.state) ? openInterrupts(view.plan, view.state) : []

const isReplay = (state: RunState): boolean => state.fork?.mode === 'replay'

/**
 * The interrupt that a node has open, or why there is none to look at or to make a link for. An answer is not judged
 * here: whether it still comes in time is decided with the commit that would carry it.
 */
export function findInterrupt(
  view: RunView,
  nodeId: string,
  interruptId: string | undefined,
  now: number,
): OpenInterrupt | Refusal {
  const { plan, state } = view
  if (isReplay(state)) return refuse('interrupt_not_found', 'A replay asks nobody; answer the run it retells.')
  const index = plan.indexOf.get(nodeId)
  if (index === undefined || state.phase === 'absent' || (state.asks[index] ?? 0) === 0)
    return refuse('interrupt_not_found', 'The node of this run has asked nothing.')
  const open = isStopping(state) ? undefined : openInterrupts(plan, state).find(other => other.nodeId === nodeId)
  if (open === undefined || (interruptId !== undefined && open.asked.interruptId !== interruptId))
    return closed(view, index)
  if (open.dueAt !== null && now >= open.dueAt) return refuse('interrupt_expired', 'The time to answer is over.')
  return open
}

const isStopping = (state: RunState): boolean => state.phase === 'active' && state.mode.kind === 'stopping'

function closed({ state, status }: RunView, index: number): Refusal {
  const node = state.phase === 'absent' ? undefined : state.nodes[index]
  const wasOpen = node?.is === 'cancelled' || (node?.is === 'waiting' && node.asked !== undefined)
  const details = { runStatus: status }
  return wasOpen && isParentsDoing(state)
    ? refuse('interrupt_gone', 'The run was cancelled with its parent; nobody waits for an answer.', details)
    : refuse('interrupt_already_resolved', 'The interrupt is closed; nobody waits for an answer.', details)
}

const isParentsDoing = (state: RunState): boolean =>
  state.phase === 'ended'
    ? state.outcome.status === 'cancelled' && state.outcome.reason === 'parent-cancelled'
    : state.phase === 'active' && state.mode.kind === 'stopping' && 'parentRunId' in state.mode.stop
