import { absent } from '../../core/present.js'
import type { Weights } from '../../core/quotas.js'
import { WAKE_NOW } from '../../core/run/wake-time.js'
import type { DueRun, RunRow } from '../../engine/ports/run-index.js'
import { inTurns } from '../turns.js'
import { type HostRow, isAlive, type Tables } from './tables.js'

export type Registration = { hostId: string; hostName: string; leaseMs: number; now: number }

export function registerHost(tables: Tables, { hostId, hostName, leaseMs, now }: Registration): void {
  const known = tables.hosts.get(hostId)
  if (known && known.state !== 'alive') throw new Error(`host ${hostId} was ${known.state}: register under a new id`)
  for (const [id, host] of tables.hosts) {
    if (host.hostName === hostName && id !== hostId && host.state === 'alive') fence(tables, id, host)
  }
  tables.hosts.set(hostId, { hostName, leaseUntil: now + leaseMs, state: 'alive' })
}

export function heartbeat(tables: Tables, hostId: string, leaseMs: number, now: number): boolean {
  const host = tables.hosts.get(hostId)
  if (host?.state !== 'alive') return false
  tables.hosts.set(hostId, { ...host, leaseUntil: now + leaseMs })
  return true
}

export function releaseHost(tables: Tables, hostId: string): void {
  const host = tables.hosts.get(hostId)
  if (host?.state === 'alive') tables.hosts.set(hostId, { ...host, state: 'released' })
}

export function lastingId(tables: Tables, wanted: { readonly id: string; readonly given: boolean }): string {
  const known = tables.identity.get('host')
  const kept = known === undefined || (wanted.given && !known.given) ? wanted : known
  tables.identity.set('host', kept)
  return kept.id
}

/** The claiming host itself is never fenced here: that it asks shows that it lives. A fenced one claims nothing. */
export function claimOrphans(tables: Tables, hostId: string, now: number, limit: number, weights: Weights): number {
  if (!isAlive(tables, hostId)) return 0
  for (const [id, host] of tables.hosts) {
    if (id !== hostId && host.state === 'alive' && host.leaseUntil <= now) fence(tables, id, host)
  }
  const orphans = openRuns(tables).filter(run => !isAlive(tables, run.owner))
  orphans.sort((a, b) => (a.wakeAt ?? Number.POSITIVE_INFINITY) - (b.wakeAt ?? Number.POSITIVE_INFINITY))
  const claimed = inTurns(byTenant(orphans), weights, limit)
  for (const run of claimed) {
    const interrupted = run.wakeAt !== null && run.wakeAt <= WAKE_NOW && tables.hosts.get(run.owner)?.state === 'fenced'
    const attempts = run.attempts + (interrupted ? 1 : 0)
    tables.runs.set(run.runId, { ...run, owner: hostId, epoch: run.epoch + 1, attempts })
  }
  return claimed.length
}

export function dueRuns(tables: Tables, hostId: string, now: number, limit: number, weights: Weights): DueRun[] {
  const due = waiting(tables, hostId).filter(run => run.wakeAt <= now)
  return inTurns(byTenant(due), weights, limit).map(({ runId, epoch, attempts, wakeAt, length }) => ({
    runId,
    epoch,
    attempts,
    wakeAt,
    length,
  }))
}

function byTenant<T extends RunRow>(runs: readonly T[]): Map<string, T[]> {
  const lists = new Map<string, T[]>()
  for (const run of runs) {
    const list = lists.get(run.tenant)
    if (list) list.push(run)
    else lists.set(run.tenant, [run])
  }
  return lists
}

function waiting(tables: Tables, hostId: string): (RunRow & { readonly wakeAt: number })[] {
  const mine = openRuns(tables).flatMap(run => {
    const { owner, wakeAt } = run
    return owner === hostId && wakeAt !== null ? [{ ...run, wakeAt }] : []
  })
  return mine.sort((a, b) => a.wakeAt - b.wakeAt || (a.runId < b.runId ? -1 : 1))
}

const openRuns = (tables: Tables): RunRow[] =>
  [...tables.open].map(runId => tables.runs.get(runId) ?? absent(`run ${runId}`))

const fence = (tables: Tables, id: string, host: HostRow): void => {
  tables.hosts.set(id, { ...host, state: 'fenced' })
}
