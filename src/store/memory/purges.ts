import type { SealedRun } from '../../engine/ports/audit.js'
import type { ExpiredRun, ExpiredRuns, PurgedRun, PurgeResult } from '../../engine/ports/retention.js'
import type { RunRow } from '../../engine/ports/run-index.js'
import { bytesOfEvents, bytesOfTexts } from '../usage-rules.js'
import { forgetDeliveries } from './deliveries.js'
import { purgeJournal } from './journal-keeping.js'
import { addTo, isAlive, type Tables } from './tables.js'

/** The runs that can be found: of one that was purged only its mark is left. */
export const visibleRuns = (tables: Tables): RunRow[] =>
  [...tables.runs.values()].filter(({ runId }) => !tables.purged.has(runId))

export function expiredRoots(tables: Tables, query: ExpiredRuns): ExpiredRun[] {
  const { tenant, exceptTenants = [], workflowId, exceptWorkflows = [], endedBefore, after, limit } = query
  const roots = visibleRuns(tables).flatMap(run =>
    run.parentRunId === null &&
    run.endedAt !== null &&
    run.endedAt < endedBefore &&
    (tenant === undefined || run.tenant === tenant) &&
    (workflowId === undefined || run.workflowId === workflowId) &&
    !exceptTenants.includes(run.tenant) &&
    !exceptWorkflows.includes(run.workflowId)
      ? [{ runId: run.runId, endedAt: run.endedAt }]
      : [],
  )
  const isAfter = (run: ExpiredRun) => after === undefined || inOrder(after, run) < 0
  return roots.sort(inOrder).filter(isAfter).slice(0, limit)
}

const inOrder = (a: ExpiredRun, b: ExpiredRun): number =>
  a.endedAt - b.endedAt || (a.runId < b.runId ? -1 : Number(a.runId > b.runId))

export function purgeFamily(tables: Tables, rootRunId: string, at: number): PurgeResult {
  const root = tables.runs.get(rootRunId)
  if (root?.parentRunId !== null || tables.purged.has(rootRunId)) return { kind: 'gone' }
  const family = familyOf(tables, root)
  const isForked = ({ runId }: RunRow) => [...tables.runs.values()].some(({ fork }) => fork?.sourceRunId === runId)
  const ended = family.flatMap(({ endedAt, ...run }) => (endedAt === null ? [] : [{ ...run, endedAt }]))
  if (ended.length < family.length) return { kind: 'open' }
  if (family.some(({ checkpoint, head }) => checkpoint === null && head !== '')) return { kind: 'unsealed' }
  if (family.some(isForked)) return { kind: 'forked' }
  for (const { runId, tenant, length, head, endedAt } of ended) {
    const mark = { runId, rootRunId, tenant, length, head, endedAt, purgedAt: at, checkpoint: null }
    tables.purged.set(runId, { ...mark, isStored: true, leaseHost: null, leaseUntil: 0 })
    forgetDeliveries(tables, runId)
  }
  return { kind: 'purged', runs: family.length }
}

function familyOf(tables: Tables, root: RunRow): RunRow[] {
  const family = [root]
  for (const { runId } of family)
    family.push(...[...tables.runs.values()].filter(({ parentRunId }) => parentRunId === runId))
  return family
}

export function unsealedPurges(tables: Tables, limit: number): SealedRun[] {
  const unsealed = [...tables.purged.values()].filter(({ checkpoint }) => checkpoint === null)
  unsealed.sort((a, b) => a.purgedAt - b.purgedAt || (a.runId < b.runId ? -1 : 1))
  return unsealed.slice(0, limit).map(({ runId, length, head }) => ({ runId, length, head }))
}

export function claimPurge(
  tables: Tables,
  { hostId, now, leaseMs }: { hostId: string; now: number; leaseMs: number },
): string | undefined {
  if (!isAlive(tables, hostId)) return undefined
  const marks = [...tables.purged.values()].filter(({ isStored }) => isStored)
  const isToldOf = (root: string) =>
    marks.every(({ rootRunId, checkpoint }) => rootRunId !== root || checkpoint !== null)
  const free = marks.find(
    ({ runId, rootRunId, leaseHost, leaseUntil }) =>
      runId === rootRunId &&
      isToldOf(runId) &&
      (leaseHost === null || leaseUntil <= now || !isAlive(tables, leaseHost)),
  )
  if (free) tables.purged.set(free.runId, { ...free, leaseHost: hostId, leaseUntil: now + leaseMs })
  return free?.runId
}

/** The root goes last: as long as it has a row, the family can be claimed again. */
export function deletePurged(
  tables: Tables,
  rootRunId: string,
  hostId: string,
  limit: number,
): 'more' | 'done' | 'lost' {
  const root = tables.purged.get(rootRunId)
  if (!root?.isStored || root.leaseHost !== hostId) return 'lost'
  const stored = [...tables.purged.values()].filter(mark => mark.rootRunId === rootRunId && mark.isStored)
  const next = stored.findLast(({ runId }) => runId !== rootRunId) ?? root
  const events = tables.events.get(next.runId) ?? []
  const gone = events.splice(Math.max(0, events.length - limit), limit)
  addTo(tables.bytes, next.tenant, -bytesOfEvents(gone))
  if (events.length > 0) return 'more'
  deleteRun(tables, next)
  tables.purged.set(next.runId, { ...next, isStored: false, leaseHost: null })
  return next === root ? 'done' : 'more'
}

function deleteRun(tables: Tables, { runId, tenant }: PurgedRun): void {
  deleteContents(tables, runId, tenant)
  for (const table of [tables.runs, tables.events, tables.gates, tables.forks]) table.delete(runId)
  tables.roots.delete(runId)
  tables.families.delete(runId)
  tables.streamRuns.delete(runId)
  for (const key of tables.appends.keys()) if (key.startsWith(`${runId}:`)) tables.appends.delete(key)
}

/** Kept states and outcomes of a run, and what is its own in the journal. */
export function deleteContents(tables: Tables, runId: string, tenant: string): void {
  for (const { state } of tables.snapshots.get(runId) ?? []) addTo(tables.bytes, tenant, -bytesOfTexts(state))
  for (const { id, outcome } of [...tables.invocations.values()].filter(one => one.runId === runId)) {
    tables.invocations.delete(id)
    addTo(tables.bytes, tenant, -bytesOfTexts(outcome ?? null))
  }
  tables.snapshots.delete(runId)
  purgeJournal(tables, runId, tenant)
}

export function readPurged(tables: Tables, tenant: string | null, runId: string): PurgedRun | undefined {
  const mark = tables.purged.get(runId)
  if (mark === undefined || (tenant !== null && mark.tenant !== tenant)) return undefined
  const { isStored: _isStored, leaseHost: _leaseHost, leaseUntil: _leaseUntil, ...purged } = mark
  return purged
}
