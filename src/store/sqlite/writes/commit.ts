import { isTerminal } from '../../../core/run/events.js'
import type { CommitResult } from '../../../engine/ports/event-log.js'
import { mayReplace } from '../../receipt-rules.js'
import type { Connection } from '../connection.js'
import { EVENT_FIELDS, type PackedCommit, type PackedReceipt, type PackedRun, type PackedStream } from '../packed.js'
import { toReceipt } from '../rows.js'
import { insertDeliveries } from './deliveries.js'
import { sharedEnd, sharedTimes, writePrefixes } from './forks.js'
import { shareGateRows, writeGated } from './gates.js'
import { isAlive } from './hosts.js'
import { countBytes, quotaRefused, rootOf } from './usage.js'

/** Everything but `committed`, which crosses back to the main thread as null. */
type Refused = Exclude<CommitResult, { kind: 'committed' }>

/**
 * One commit inside the batch's transaction. All checks come before the first write, so a refusal leaves nothing to
 * undo and the other commits of the batch are not touched by it. What throws is undone with the batch (W1).
 */
export function writeCommit(db: Connection, commit: PackedCommit): Refused | null {
  const [appendId, , streams, wakes, receipt, deliveries] = commit
  const epochs: number[] = []
  const refused = refuse(db, commit, epochs)
  if (refused) return wasApplied(db, appendId, streams) ? null : refused
  streams.forEach((stream, i) => {
    if (stream[5]) createRun(db, commit, stream, stream[5])
    insertEvents(db, appendId, stream, epochs[i]!)
    if (stream[8] !== null) keepState(db, stream, stream[8])
    countBytes(db, stream)
    if (!stream[5]) updateRun(db, stream)
  })
  for (const runId of wakes) db.run('UPDATE runs SET wake_at = 0 WHERE run_id = ? AND ended_at IS NULL', runId)
  if (receipt) putReceipt(db, receipt)
  insertDeliveries(db, deliveries)
  return null
}

/** The order is part of the contract: host, receipt, then each stream's sequence and epoch, then scopes, then quotas. */
function refuse(db: Connection, commit: PackedCommit, epochs: number[]): Refused | undefined {
  const [, hostId, streams, , receipt, , quotas] = commit
  if (!isAlive(db, hostId)) return { kind: 'fenced' }
  const earlier = receipt && findReceipt(db, receipt)
  if (earlier && !mayReplace(earlier, receipt[3], receipt[10])) return { kind: 'receipt-exists', receipt: earlier }
  for (const [runId, expected, epoch, , , create] of streams) {
    const run = db.get('SELECT length, epoch, owner FROM runs WHERE run_id = ?', runId)
    const fits = run ? !create && expected === run.length : create !== null
    if (!fits) return { kind: 'conflict', runId }
    if (run && epoch !== null && (run.epoch !== epoch || run.owner !== hostId)) return { kind: 'fenced' }
    epochs.push(Number(run?.epoch ?? 1))
  }
  for (const [, , , , , create] of streams) {
    if (!create?.[7] || create[5] === null) continue
    const active = db.get(
      `SELECT run_id FROM runs WHERE tenant = ? AND scope_id = ? AND scope_id IS NOT NULL AND ended_at IS NULL
        ORDER BY run_id LIMIT 1`,
      create[0],
      create[5],
    )
    if (active) return { kind: 'scope-active', runId: active.run_id as string }
  }
  return quotas ? quotaRefused(db, streams, quotas) : undefined
}

/** S4: a repetition of an append whose outcome was not known. A fork may have no event to tell it by. */
function wasApplied(db: Connection, appendId: string, streams: readonly PackedStream[]): boolean {
  const first = streams.find(stream => stream[5]?.[8] || stream[6].length > 0)
  if (first === undefined) return false
  const [runId, expected, , , , create] = first
  const row = create?.[8]
    ? db.get('SELECT append_id FROM runs WHERE run_id = ?', runId)
    : db.get('SELECT append_id FROM events WHERE run_id = ? AND seq = ?', runId, expected)
  return row?.append_id === appendId
}

/** A fork without own events takes its times from those it shares. */
function createRun(db: Connection, [appendId, owner]: PackedCommit, stream: PackedStream, create: PackedRun): void {
  const [runId, expected, , status, wakeAt, , events, head] = stream
  const fork = create[8]
  const endedAt = sharedEnd(db, stream) ?? endOf(events)
  const { first, last } =
    events.length > 0
      ? { first: events[EVENT_FIELDS - 1] as number, last: events.at(-1) as number }
      : sharedTimes(db, fork!)
  db.run(
    `INSERT INTO runs (run_id, tenant, workflow_id, workflow_digest, parent_run_id, parent_node_id, scope_id, tags,
       status, length, owner, epoch, attempts, wake_at, created_at, updated_at, ended_at, head,
       source_run_id, from_seq, source_length, fork_mode, append_id, root_run_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    runId,
    create[0],
    create[1],
    create[2],
    create[3],
    create[4],
    create[5],
    create[6],
    status,
    expected + events.length / EVENT_FIELDS,
    owner,
    endedAt === null ? wakeAt : null,
    first,
    last,
    endedAt,
    head,
    fork?.sourceRunId ?? null,
    expected,
    fork?.sourceLength ?? null,
    fork?.mode ?? null,
    fork ? appendId : null,
    create[3] === null ? null : rootOf(db, create[3]),
  )
  if (fork) writePrefixes(db, runId, fork)
  if (fork) shareGateRows(db, runId, fork)
  writeGated(db, runId, create[9])
}

function insertEvents(
  db: Connection,
  appendId: string,
  [runId, expected, , , , , e]: PackedStream,
  epoch: number,
): void {
  let seq = expected
  for (let i = 0; i < e.length; i += EVENT_FIELDS) {
    db.run(
      `INSERT INTO events (run_id, seq, type, node_id, payload, secret, cause, input, salt, hash, at, epoch,
         append_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      runId,
      seq,
      e[i]!,
      e[i + 1]!,
      e[i + 2]!,
      e[i + 3]!,
      e[i + 4]!,
      e[i + 5]!,
      e[i + 6]!,
      e[i + 7]!,
      e[i + 8]!,
      epoch,
      i === 0 ? appendId : null,
    )
    seq += 1
  }
}

function keepState(db: Connection, [runId, expected, , , , , events]: PackedStream, state: string): void {
  const length = expected + events.length / EVENT_FIELDS
  db.run('INSERT INTO snapshots (run_id, length, state) VALUES (?, ?, ?)', runId, length, state)
}

function updateRun(db: Connection, [runId, expected, , status, wakeAt, , events, head]: PackedStream): void {
  const endedAt = endOf(events)
  db.run(
    `UPDATE runs SET status = ?, length = ?, head = ?, attempts = 0, updated_at = coalesce(?, updated_at),
       ended_at = coalesce(ended_at, ?), wake_at = CASE WHEN coalesce(ended_at, ?) IS NULL THEN ? END
     WHERE run_id = ?`,
    status,
    expected + events.length / EVENT_FIELDS,
    head,
    events.at(-1) ?? null,
    endedAt,
    endedAt,
    wakeAt,
    runId,
  )
}

/** When the terminal event happened, if the last event is one. */
const endOf = (events: PackedStream[6]): number | null =>
  events.length > 0 && isTerminal(events.at(-EVENT_FIELDS) as string) ? (events.at(-1) as number) : null

export const findReceipt = (
  db: Connection,
  [tenant, endpoint, key]: readonly [string, string, string, ...unknown[]],
) => {
  const row = db.get('SELECT * FROM receipts WHERE tenant = ? AND endpoint = ? AND key = ?', tenant, endpoint, key)
  return row && toReceipt(row)
}

/** Inserts, or replaces what `mayReplace` has allowed to be replaced in the same transaction. */
export function putReceipt(db: Connection, receipt: PackedReceipt, claim: string | null = null): void {
  db.run(
    `INSERT INTO receipts
       (tenant, endpoint, key, digest, state, lease_owner, lease_until, status, headers, body, at, claim)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, endpoint, key) DO UPDATE SET
       digest = excluded.digest, state = excluded.state, lease_owner = excluded.lease_owner,
       lease_until = excluded.lease_until, status = excluded.status, headers = excluded.headers,
       body = excluded.body, at = excluded.at, claim = excluded.claim`,
    ...receipt,
    claim,
  )
}
