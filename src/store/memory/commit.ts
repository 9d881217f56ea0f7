import { absent, present } from '../../core/present.js'
import type { StoredQuotas, TenantUsage } from '../../core/quotas.js'
import { isTerminal } from '../../core/run/events.js'
import { STREAM_WORKFLOWS } from '../../core/standing/stream.js'
import type { Commit, CommitResult, NewRun, StoredEvent, StreamAppend } from '../../engine/ports/event-log.js'
import type { RunRow } from '../../engine/ports/run-index.js'
import { checkFork } from '../fork-rules.js'
import { mayReplace, responseKey } from '../response-rules.js'
import { bytesOfEvents, bytesOfTexts, newRunsIn, quotaRefusal } from '../usage-rules.js'
import { addDelivery } from './deliveries.js'
import { refuseErased } from './erasures.js'
import { gateRowsAfterAppend } from './gates.js'
import { writeJournal } from './journal-commit.js'
import { readLog } from './log.js'
import { streamRunsAfter } from './streams.js'
import { addTo, firstOf, isAlive, type Tables } from './tables.js'

/** Checks everything, then writes everything; nothing in between can interleave, which makes it one transaction. */
export function applyCommit(tables: Tables, commit: Commit): CommitResult {
  const refusal = refuse(tables, commit)
  if (refusal) return wasApplied(tables, commit) ? { kind: 'committed' } : refusal
  refuseErased(tables, commit.response?.tenant)
  for (const { create } of commit.streams) refuseErased(tables, create?.tenant)
  for (const stream of commit.streams) checkTerminal(tables, stream)
  const ends = commit.streams.map(stream => sharedEnd(tables, stream))
  const gates = commit.streams.map(stream => gateRowsAfterAppend(tables, stream))
  const begun = commit.streams.flatMap(stream => streamRunsAfter(tables, commit, stream))
  const conflict = writeJournal(tables, commit)
  if (conflict) return conflict
  for (const [i, { runId }] of commit.streams.entries()) if (gates[i]) tables.gates.set(runId, gates[i])
  for (const [i, stream] of commit.streams.entries()) write(tables, commit, stream, ends[i] ?? null)
  for (const { streamId, rows } of begun) tables.streamRuns.set(streamId, rows)
  for (const delivery of commit.deliveries ?? []) addDelivery(tables, delivery)
  for (const runId of commit.wakes) wake(tables, runId)
  if (commit.response) tables.responses.set(responseKey(commit.response), commit.response)
  return { kind: 'committed' }
}

function refuse(tables: Tables, { hostId, streams, response, quotas }: Commit): CommitResult | undefined {
  if (!isAlive(tables, hostId)) return { kind: 'fenced' }
  const earlier = response && tables.responses.get(responseKey(response))
  if (earlier && !mayReplace(earlier, response.digest, response.at))
    return { kind: 'response-exists', response: earlier }
  for (const { runId, expected, epoch, create } of streams) {
    const run = tables.runs.get(runId)
    const fits = run ? !create && expected === run.length : create !== undefined
    if (!fits) return { kind: 'conflict', runId }
    if (run && epoch !== null && (run.epoch !== epoch || run.owner !== hostId)) return { kind: 'fenced' }
  }
  for (const { create } of streams) {
    const runId = create && activeInScope(tables, create)
    if (runId !== undefined) return { kind: 'scope-active', runId }
  }
  return quotas && overQuota(tables, streams, quotas)
}

function overQuota(tables: Tables, streams: readonly StreamAppend[], quotas: StoredQuotas): CommitResult | undefined {
  const { create } = streams.find(stream => stream.create !== undefined) ?? {}
  if (create === undefined) return undefined
  const parent = streams.find(stream => stream.create && stream.create.parentRunId !== null)?.create?.parentRunId
  const kin = parent == null ? 0 : (tables.families.get(tables.roots.get(parent) ?? parent) ?? 0)
  return quotaRefusal(quotas, newRunsIn(streams), usageOf(tables, create.tenant), kin)
}

export const usageOf = ({ active, bytes }: Tables, tenant: string): TenantUsage => ({
  activeRuns: active.get(tenant) ?? 0,
  storedBytes: bytes.get(tenant) ?? 0,
})

/** What S13 counts of one append. */
function countUsage(tables: Tables, { runId, events, snapshot, create }: StreamAppend, isOpen: boolean): void {
  const { tenant, parentRunId, workflowId } = tables.runs.get(runId) ?? absent(`run ${runId}`)
  addTo(tables.bytes, tenant, bytesOfEvents(events) + bytesOfTexts(snapshot ?? null))
  if (STREAM_WORKFLOWS.includes(workflowId)) return
  addTo(tables.active, tenant, Number(isOpen) - Number(tables.open.has(runId)))
  if (create === undefined || parentRunId === null) return
  const root = tables.roots.get(parentRunId) ?? parentRunId
  tables.roots.set(runId, root)
  addTo(tables.families, root, 1)
}

function wasApplied(tables: Tables, { appendId, streams }: Commit): boolean {
  const first = streams.find(({ create, events }) => create?.fork || events.length > 0)
  if (first === undefined) return false
  const { runId, expected, create } = first
  return appendId === (create?.fork ? tables.forks.get(runId) : tables.appends.get(firstOf(runId, expected)))
}

function activeInScope(tables: Tables, { tenant, scopeId, exclusiveScope }: NewRun): string | undefined {
  if (!exclusiveScope || scopeId === null) return undefined
  const active = [...tables.open].filter(runId => {
    const run = tables.runs.get(runId)
    return run?.tenant === tenant && run.scopeId === scopeId
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

/** When the run has ended by what it shares with the run it is a fork of. */
function sharedEnd(tables: Tables, { runId, events, create }: StreamAppend): number | null {
  if (!create?.fork) return null
  const { tenant, fork } = create
  const source = tables.purged.has(fork.sourceRunId) ? undefined : tables.runs.get(fork.sourceRunId)
  return checkFork({ runId, tenant, fork, ownEvents: events.length }, source)
}

function write(tables: Tables, { appendId, hostId }: Commit, stream: StreamAppend, endedBefore: number | null): void {
  const { runId, expected, events, status, wakeAt, head, snapshot, create } = stream
  const before = create
    ? newRow(tables, hostId, stream, create, endedBefore)
    : (tables.runs.get(runId) ?? absent(`run ${runId}`))
  const last = events.at(-1)
  const endedAt = last && isTerminal(last.type) ? last.at : before.endedAt
  if (last) tables.appends.set(firstOf(runId, expected), appendId)
  if (create?.fork) tables.forks.set(runId, appendId)
  const log = tables.events.get(runId)
  if (log) log.push(...events)
  else tables.events.set(runId, [...events])
  if (snapshot !== undefined) {
    const kept = { length: expected + events.length, state: snapshot }
    tables.snapshots.set(runId, [...(tables.snapshots.get(runId) ?? []), kept])
  }
  tables.runs.set(runId, {
    ...before,
    status,
    length: expected + events.length,
    attempts: 0,
    wakeAt: endedAt === null ? wakeAt : null,
    updatedAt: last?.at ?? before.updatedAt,
    endedAt,
    head,
  })
  countUsage(tables, stream, endedAt === null)
  if (endedAt === null) tables.open.add(runId)
  else tables.open.delete(runId)
}

function newRow(
  tables: Tables,
  owner: string,
  { runId, events }: StreamAppend,
  create: NewRun,
  endedAt: number | null,
): RunRow {
  const { exclusiveScope: _, gated: _gated, ...columns } = create
  const { first, last } = timesOf(tables, events, create)
  return {
    ...columns,
    runId,
    status: 'pending',
    length: 0,
    owner,
    epoch: 1,
    attempts: 0,
    wakeAt: null,
    createdAt: first,
    updatedAt: last,
    endedAt,
    head: '',
    checkpoint: null,
  }
}

/** Of the events a new run is created with; of those it shares when it is a fork and has no own ones yet. */
function timesOf(tables: Tables, events: readonly StoredEvent[], { fork }: NewRun): { first: number; last: number } {
  const [first] = events
  const last = events.at(-1)
  if (first && last) return { first: first.at, last: last.at }
  const { sourceRunId, fromSeq } = present(fork ?? undefined, 'event of a run that is no fork')
  const at = (sequence: number): number =>
    present(readLog(tables, sourceRunId, sequence, 1)[0], `event ${sequence} of run ${sourceRunId}`).at
  return { first: at(0), last: at(fromSeq - 1) }
}

function wake(tables: Tables, runId: string): void {
  const run = tables.runs.get(runId)
  if (run && run.endedAt === null) tables.runs.set(runId, { ...run, wakeAt: 0 })
}
