import type { Draft } from './draft.js'
import { childStatusOf, type NodeState, nodeAt } from './state.js'
import { isSuspended, workersOf } from './waiting.js'

/** Keeps account of the time in which nothing but someone outside can move the run. */
export function rest(draft: Draft): void {
  const { mode, open } = draft
  const idle = mode.kind === 'paused' || (open.length > 0 && open.every(index => waitsForSomeone(nodeAt(draft, index))))
  if (idle && draft.idleSince === null) draft.idleSince = draft.lastAt
  if (idle || draft.idleSince === null) return
  draft.idleMs += draft.lastAt - draft.idleSince
  draft.idleSince = null
}

/** One worker that is at work is enough for the run not to rest. */
const waitsForSomeone = (node: NodeState): boolean =>
  (isSuspended(node) || childStatusOf(node) !== undefined) &&
  !workersOf(node).some(worker => worker.is === 'running' && worker.childStatus === undefined)
