/**
 * What a run writes down for later, and what it has read. The words themselves never come here: effects store and read
 * them, and the run is told names and digests. What becomes of a write is the store's (docs/design/journal.md):
 *
 * | a write   | entered by                                   | left by, to                                             |
 * |-----------|----------------------------------------------|---------------------------------------------------------|
 * | prepared  | an effect has stored its content             | the outcome is heard: memory.written, assay.file.written |
 * | held      | the same, where a blocking gate stands above | the merging event: to published; no merge: dropped (M12) |
 * | published | the same, where none does; the merge         | superseded, forgotten, expired: stays in the journal     |
 *
 *  J3  A time to live counts from the time of the event (R-MEM-5).
 *  J5  Nobody writes into a space that the run has no place in.
 */

import type { OutcomeOf } from '../invocation/lifecycle.js'
import { type Failure, failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { RunEvent } from '../run/events.js'
import { failAttempt, settleNode } from '../run/node-lifecycle.js'
import { nodeAt } from '../run/state.js'
import type { PlanNode } from '../workflow/plan.js'
import type { EntriesRead, EntryMade } from './entry.js'
import type { WriteSecret } from './events.js'

/** Tells of a write. Returns why it cannot be told, if it cannot. */
export function writeEntry(
  context: DecisionContext,
  { node: { id: nodeId }, index }: PlanNode,
  made: EntryMade,
  cause: number,
  agentId?: string,
): Failure | undefined {
  const { space, op, ref, id } = made
  const place = context.active.journal?.[space]
  const node = nodeAt(context.active, index)
  if (place === undefined || node.is !== 'waiting') return NO_PLACE[space]
  const conflict = space === 'workspace' ? context.conflictAt('write', { nodeId }) : undefined
  if (conflict) return conflict
  const secret: WriteSecret = {
    space,
    scope: place.scope,
    since: node.since,
    ref,
    id,
    op,
    tags: made.tags,
    expiresAt: made.ttlMs === undefined ? null : context.at + made.ttlMs,
    contentId: made.contentId,
    hash: made.hash,
    bytes: made.bytes,
    contentType: made.contentType,
    ifMatch: made.ifMatch,
    seen: made.seen,
  }
  context.emit({ ...told(space, op, { ref, id, nodeId, agentId }), nodeId, secret, cause } as RunEvent)
  return undefined
}

type Named = {
  readonly ref: string
  readonly id: string
  readonly nodeId: string
  readonly agentId: string | undefined
}

/** R-MEM-20: names, and nothing of what was written. */
function told(space: EntryMade['space'], op: EntryMade['op'], { ref, id, nodeId, agentId }: Named) {
  const by = { nodeId, ...(agentId === undefined ? {} : { agentId }) }
  if (space === 'workspace')
    return { type: op === 'put' ? 'assay.file.written' : 'assay.file.removed', payload: { path: id, ...by } } as const
  const payload = { memoryRef: ref, memoryId: id, ...by }
  return { type: op === 'put' ? 'memory.written' : 'assay.memory.forgotten', payload } as const
}

/** Tells that something was read, by whom and how much; which and what is for the host alone. */
export function noteRead(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  { space, rows, digest }: EntriesRead,
  cause: number,
  agentId?: string,
): void {
  const payload = { nodeId, space, entries: rows.length, ...(agentId === undefined ? {} : { agentId }) }
  context.emit({ type: 'assay.journal.read', nodeId, payload, secret: { rows, digest }, cause })
}

/** What a node asked of the journal has come. */
export function journalUsed(
  context: DecisionContext,
  planNode: PlanNode,
  { answer, since }: OutcomeOf<'JournalUsed'>,
): void {
  const node = nodeAt(context.active, planNode.index)
  if (node.is !== 'waiting' || node.on !== 'host' || node.wait.kind !== 'journal') return
  if (!answer.ok) return failAttempt(context, planNode, answer.error, since)
  const { entry, read, output } = answer
  if (read) noteRead(context, planNode, read, since)
  const problem = entry && writeEntry(context, planNode, entry, since)
  if (problem) return failAttempt(context, planNode, problem, since)
  const named = entry && (entry.space === 'memory' ? { memoryId: entry.id } : { path: entry.id })
  const outcome = { ...output, ...named }
  settleNode(context, planNode, node.wait, { kind: 'answer', output: outcome }, since)
}

const lacks = (what: string): Failure =>
  failure('capability_not_provided', `this run has no ${what}: it judges, or the host keeps none`, { retryable: false })

const NO_PLACE = { memory: lacks('memory'), workspace: lacks('workspace') } as const
