import { isTerminal } from '../../core/run/event.js'
import type { Commit, CommitResult, NewRun, RunRow, StoredEvent, StreamAppend } from '../../engine/ports.js'
import { mayReplace, receiptKey } from '../receipt-rules.js'
import { firstOf, isAlive, type Tables } from './tables.js'

/** Checks everything, then writes everything; nothing in between can interleave, which makes it one transaction. */
export function applyCommit(tables: Tables, commit: Commit): CommitResult {
  const refusal = refuse(tables, commit)
  if (refusal) return wasApplied(tables, commit) ? { kind: 'committed' } : refusal
  for (const stream of commit.streams) checkTerminal(tables, stream)
  for (const stream of commit.streams) write(tables, commit, stream)
  for (const runId of commit.wakes) wake(tables, runId)
  if (commit.receipt) tables.receipts.set(receiptKey(commit.receipt), commit.receipt)
  return { kind: 'committed' }
}

function refuse(tables: Tables, { hostId, streams, receipt }: Commit): CommitResult | undefined {
  if (!isAlive(tables, hostId)) return { kind: 'fenced' }
  const earlier = receipt && tables.receipts.get(receiptKey(receipt))
  if (earlier && !mayReplace(earlier, receipt.digest, receipt.at)) return { kind: 'receipt-exists', receipt: earlier }
  for (const { runId, expected, epoch } of streams) {
    const run = tables.runs.get(runId)
    if (expected !== (run?.length ?? 0)) return { kind: 'conflict', runId }
    if (run && epoch !== null && (run.epoch !== epoch || run.owner !== hostId)) return { kind: 'fenced' }
  }
  for (const { create } of streams) {
    const runId = create && activeInScope(tables, create)
    if (runId !== undefined) return { kind: 'scope-active', runId }
  }
  return undefined
}

function wasApplied(tables: Tables, { appendId, streams }: Commit): boolean {
  const first = streams.find(stream => stream.events.length > 0)
  return first !== undefined && tables.appends.get(firstOf(first.runId, first.expected)) === appendId
}

function activeInScope(tables: Tables, { tenant, scopeId, exclusiveScope }: NewRun): string | undefined {
  if (!exclusiveScope || scopeId === null) return undefined
  const active = [...tables.open].filter(runId => {
    const run = tables.runs.get(runId)!
    return run.tenant === tenant && run.scopeId === scopeId
  })
  return active.sort()[0]
}

/** What the terminal index and trigger do in SQL (S5). */
function checkTerminal(tables: Tables, { runId, events }: StreamAppend): void {
  const ended = tables.runs.get(runId)?.endedAt ?? null
  if (events.length > 0 && (ended !== null || events.slice(0, -1).some(event => isTerminal(event.type)))) {
    throw new Error(`run ${runId} has ended: nothing may follow its terminal event`)
  }
}

function write(tables: Tables, { appendId, hostId }: Commit, stream: StreamAppend): void {
  const { runId, expected, events, status, wakeAt } = stream
  const before = stream.create ? newRow(runId, hostId, stream.create, events[0]!) : tables.runs.get(runId)!
  const last = events.at(-1)
  const endedAt = last && isTerminal(last.type) ? last.at : before.endedAt
  if (last) tables.appends.set(firstOf(runId, expected), appendId)
  const log = tables.events.get(runId)
  if (log) log.push(...events)
  else tables.events.set(runId, [...events])
  tables.runs.set(runId, {
    ...before,
    status,
    length: expected + events.length,
    attempts: 0,
    wakeAt: endedAt === null ? wakeAt : null,
    updatedAt: last?.at ?? before.updatedAt,
    endedAt,
  })
  if (endedAt === null) tables.open.add(runId)
  else tables.open.delete(runId)
}

function newRow(runId: string, owner: string, create: NewRun, { at }: StoredEvent): RunRow {
  const { exclusiveScope: _, ...columns } = create
  return {
    ...columns,
    runId,
    status: 'pending',
    length: 0,
    owner,
    epoch: 1,
    attempts: 0,
    wakeAt: null,
    createdAt: at,
    updatedAt: at,
    endedAt: null,
  }
}

function wake(tables: Tables, runId: string): void {
  const run = tables.runs.get(runId)
  if (run && run.endedAt === null) tables.runs.set(runId, { ...run, wakeAt: 0 })
}
