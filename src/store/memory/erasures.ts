import { STREAM_WORKFLOWS } from '../../core/standing/stream.js'
import type { RunRow } from '../../engine/ports/run-index.js'
import {
  type ErasedEvent,
  type EraseResult,
  type Erasing,
  type ErasureMark,
  type RunToErase,
  TenantErased,
} from '../../engine/ports/tenants.js'
import { bytesOfEvents } from '../usage-rules.js'
import { deleteWebhook } from './deliveries.js'
import { eraseJournal } from './journal-keeping.js'
import { deleteContents } from './purges.js'
import { addTo, isAlive, type Tables } from './tables.js'

/** What the triggers on tables of tenants do in SQL (S14). */
export function refuseErased(tables: Tables, tenant: string | null | undefined): void {
  if (typeof tenant === 'string' && tables.erasures.has(tenant)) throw new TenantErased()
}

export function putDataKey(tables: Tables, tenant: string, wrapped: string): string {
  refuseErased(tables, tenant)
  const kept = tables.dataKeys.get(tenant) ?? wrapped
  tables.dataKeys.set(tenant, kept)
  return kept
}

export function eraseTenants(tables: Tables, marks: readonly ErasureMark[]): EraseResult {
  const tenants = marks.map(({ tenant }) => tenant)
  const open = [...tables.open].flatMap(runId => tables.runs.get(runId) ?? [])
  const theirs = open.filter(({ tenant }) => tenants.includes(tenant))
  const runs = theirs.filter(({ workflowId }) => !STREAM_WORKFLOWS.includes(workflowId))
  if (runs.length > 0) return { kind: 'open', runs: runs.length }
  for (const { tenant, ...mark } of marks) {
    for (const stream of theirs) if (stream.tenant === tenant) endStream(tables, stream, mark.askedAt)
    const known = tables.erasures.get(tenant) ?? { erasedAt: null, uptoRun: '', leaseHost: null, leaseUntil: 0 }
    tables.erasures.set(tenant, { ...known, tenant, ...mark })
    tables.dataKeys.delete(tenant)
    for (const key of tables.keys.values()) if (key.tenant === tenant) tables.keys.delete(key.keyId)
    for (const { webhookId } of tables.webhooks.values()) deleteWebhook(tables, tenant, webhookId)
  }
  return { kind: 'marked' }
}

/** It is nobody's any more: whoever holds it is fenced. */
function endStream(tables: Tables, stream: RunRow, endedAt: number): void {
  const { runId, epoch } = stream
  tables.runs.set(runId, { ...stream, status: 'cancelled', endedAt, wakeAt: null, epoch: epoch + 1 })
  tables.open.delete(runId)
}

export function claimErasure(
  tables: Tables,
  { hostId, now, leaseMs }: { hostId: string; now: number; leaseMs: number },
): string | undefined {
  if (!isAlive(tables, hostId)) return undefined
  const pending = [...tables.erasures.values()].filter(({ erasedAt }) => erasedAt === null)
  pending.sort((a, b) => a.askedAt - b.askedAt || (a.tenant < b.tenant ? -1 : 1))
  const free = pending.find(
    ({ leaseHost, leaseUntil }) => leaseHost === null || leaseUntil <= now || !isAlive(tables, leaseHost),
  )
  if (free) tables.erasures.set(free.tenant, { ...free, leaseHost: hostId, leaseUntil: now + leaseMs })
  return free?.tenant
}

export function nextToErase(tables: Tables, tenant: string): RunToErase | undefined {
  const erasure = tables.erasures.get(tenant)
  if (erasure === undefined) return undefined
  const left = [...tables.runs.values()].filter(run => run.tenant === tenant && run.runId > erasure.uptoRun)
  const [next] = left.sort((a, b) => (a.runId < b.runId ? -1 : 1))
  return next && { runId: next.runId, fromSeq: next.fork?.fromSeq ?? 0, length: next.length }
}

const holdsLease = (tables: Tables, { tenant, hostId }: Erasing): boolean => {
  const erasure = tables.erasures.get(tenant)
  return erasure?.erasedAt === null && erasure.leaseHost === hostId
}

export function eraseEvents(
  tables: Tables,
  { runId, ...erasing }: Erasing & { readonly runId: string },
  events: readonly ErasedEvent[],
): boolean {
  if (!holdsLease(tables, erasing)) return false
  if (tables.runs.get(runId)?.tenant !== erasing.tenant) return true
  const left = new Map(events.map(({ sequence, erased }) => [sequence, erased]))
  const blank = { payload: '{}', secret: null, input: null, salt: null }
  const own = tables.events.get(runId) ?? []
  const erase = (event: (typeof own)[number]) => {
    const erased = left.get(event.sequence)
    return erased === undefined || event.erased !== null ? event : { ...event, ...blank, erased }
  }
  const now = own.map(erase)
  addTo(tables.bytes, erasing.tenant, bytesOfEvents(now) - bytesOfEvents(own))
  tables.events.set(runId, now)
  return true
}

export function eraseRun(tables: Tables, { runId, ...erasing }: Erasing & { readonly runId: string }): boolean {
  const erasure = tables.erasures.get(erasing.tenant)
  if (erasure === undefined || !holdsLease(tables, erasing)) return false
  deleteContents(tables, runId, erasing.tenant)
  tables.gates.delete(runId)
  const run = tables.runs.get(runId)
  if (run) tables.runs.set(runId, { ...run, tags: [], scopeId: null })
  tables.erasures.set(erasing.tenant, { ...erasure, uptoRun: runId })
  return true
}

export function finishErasure(
  tables: Tables,
  { at, limit, ...erasing }: Erasing & { readonly at: number; readonly limit: number },
): 'more' | 'done' | 'lost' {
  const { tenant } = erasing
  const erasure = tables.erasures.get(tenant)
  if (erasure === undefined || !holdsLease(tables, erasing)) return 'lost'
  if (nextToErase(tables, tenant)) return 'more'
  const deleted = [
    deleteSome(tables.responses, row => row.tenant === tenant, limit),
    deleteSome(tables.standards, ([row]) => row?.tenant === tenant, limit),
    deleteSome(tables.deliveries, row => row.tenant === tenant, limit),
    ...eraseJournal(tables, tenant, limit),
  ]
  if (deleted.includes(limit)) return 'more'
  tables.trail.delete(tenant)
  deleteWorkflows(tables, tenant)
  tables.erasures.set(tenant, { ...erasure, erasedAt: at, leaseHost: null })
  return 'done'
}

function deleteSome<Row>(table: Map<string, Row>, isGone: (row: Row) => boolean, limit: number): number {
  const gone = [...table].filter(([, row]) => isGone(row)).slice(0, limit)
  for (const [key] of gone) table.delete(key)
  return gone.length
}

/** And the definitions that nobody else has run or may run. A tenant that is not erased to its end yet is somebody. */
function deleteWorkflows({ workflows, definitions, runs, erasures }: Tables, tenant: string): void {
  const ofTenant = <T extends { readonly tenant: string | null }>(rows: Map<string, T>) =>
    [...rows.values()].filter(row => row.tenant === tenant)
  const digests = [...ofTenant(runs).map(run => run.workflowDigest), ...ofTenant(workflows).map(row => row.digest)]
  for (const [key, row] of workflows) if (row.tenant === tenant) workflows.delete(key)
  const isOther = (name: string) => name !== tenant && (erasures.get(name)?.erasedAt ?? null) === null
  const used = new Set([
    ...[...workflows.values()].map(({ digest }) => digest),
    ...[...runs.values()].filter(run => isOther(run.tenant)).map(run => run.workflowDigest),
  ])
  for (const digest of digests) if (!used.has(digest)) definitions.delete(digest)
}
