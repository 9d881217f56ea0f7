import { isTerminal } from '../../core/run/event.js'
import type { CommitResult } from '../../engine/ports.js'
import { mayReplace } from '../receipt-rules.js'
import type { Connection } from './connection.js'
import { EVENT_FIELDS, type PackedCommit, type PackedReceipt, type PackedRun, type PackedStream } from './packed.js'
import { toReceipt } from './rows.js'
import { isAlive } from './write-hosts.js'

/** Everything but `committed`, which crosses back to the main thread as null. */
type Refused = Exclude<CommitResult, { kind: 'committed' }>

/**
 * One commit inside the batch's transaction. All checks come before the first write, so a refusal leaves nothing to
 * undo and the other commits of the batch are not touched by it.
 */
export function writeCommit(db: Connection, commit: PackedCommit): Refused | null {
  const [appendId, hostId, streams, wakes, receipt] = commit
  const epochs: number[] = []
  const refused = refuse(db, commit, epochs)
  if (refused) return wasApplied(db, appendId, streams) ? null : refused
  streams.forEach((stream, i) => {
    if (stream[5]) createRun(db, hostId, stream, stream[5])
    insertEvents(db, appendId, stream, epochs[i]!)
    if (!stream[5]) updateRun(db, stream)
  })
  for (const runId of wakes) db.run('UPDATE runs SET wake_at = 0 WHERE run_id = ? AND ended_at IS NULL', runId)
  if (receipt) putReceipt(db, receipt)
  return null
}

/** The order is part of the contract: host, receipt, then each stream's sequence and epoch, then scopes. */
function refuse(db: Connection, [, hostId, streams, , receipt]: PackedCommit, epochs: number[]): Refused | undefined {
  if (!isAlive(db, hostId)) return { kind: 'fenced' }
  const earlier = receipt && findReceipt(db, receipt)
  if (earlier && !mayReplace(earlier, receipt[3], receipt[10])) return { kind: 'receipt-exists', receipt: earlier }
  for (const [runId, expected, epoch] of streams) {
    const run = db.get('SELECT length, epoch, owner FROM runs WHERE run_id = ?', runId)
    if (expected !== (run?.length ?? 0)) return { kind: 'conflict', runId }
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
  return undefined
}

/** S4: a repetition of an append whose outcome was not known. */
function wasApplied(db: Connection, appendId: string, streams: readonly PackedStream[]): boolean {
  const first = streams.find(stream => stream[6].length > 0)
  const row = first && db.get('SELECT append_id FROM events WHERE run_id = ? AND seq = ?', first[0], first[1])
  return row?.append_id === appendId
}

function createRun(db: Connection, owner: string, stream: PackedStream, create: PackedRun): void {
  const [runId, , , status, wakeAt, , events] = stream
  const endedAt = endOf(events)
  db.run(
    `INSERT INTO runs (run_id, tenant, workflow_id, workflow_digest, parent_run_id, parent_node_id, scope_id, tags,
       status, length, owner, epoch, attempts, wake_at, created_at, updated_at, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?, ?, ?)`,
    runId,
    create[0],
    create[1],
    create[2],
    create[3],
    create[4],
    create[5],
    create[6],
    status,
    events.length / EVENT_FIELDS,
    owner,
    endedAt === null ? wakeAt : null,
    events[5] as number,
    events.at(-1) as number,
    endedAt,
  )
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
      `INSERT INTO events (run_id, seq, type, node_id, payload, secret, cause, at, epoch, append_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      runId,
      seq,
      e[i]!,
      e[i + 1]!,
      e[i + 2]!,
      e[i + 3]!,
      e[i + 4]!,
      e[i + 5]!,
      epoch,
      i === 0 ? appendId : null,
    )
    seq += 1
  }
}

function updateRun(db: Connection, [runId, expected, , status, wakeAt, , events]: PackedStream): void {
  const endedAt = endOf(events)
  db.run(
    `UPDATE runs SET status = ?, length = ?, attempts = 0, updated_at = coalesce(?, updated_at),
       ended_at = coalesce(ended_at, ?), wake_at = CASE WHEN coalesce(ended_at, ?) IS NULL THEN ? END
     WHERE run_id = ?`,
    status,
    expected + events.length / EVENT_FIELDS,
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
