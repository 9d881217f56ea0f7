import { isTerminal } from '../../../core/run/events.js'
import type { Commit, CommitResult, NewRun, StoredEvent, StreamAppend } from '../../../engine/ports/event-log.js'
import { mayReplace } from '../../response-rules.js'
import type { Connection } from '../connection.js'
import { type PackedCommit, unpackCommit } from '../packed.js'
import { SQL } from '../statements.js'
import { addDelivery } from './deliveries.js'
import { sharedEnd, sharedTimes, shareEvents } from './forks.js'
import { shareGateRows, writeGated } from './gates.js'
import { isAlive } from './hosts.js'
import { conflictIn } from './journal.js'
import { findResponse, putResponse } from './responses.js'
import { countBytes, quotaRefused, rootOf } from './usage.js'

/** A commit that published a file which has another version than it must have: to be undone, and answered so. */
export class WorkspaceConflict extends Error {
  constructor(readonly refused: Refused) {
    super('a file has another version')
  }
}

/** Everything but `committed`, which crosses back to the main thread as null. */
type Refused = Exclude<CommitResult, { kind: 'committed' }>

/**
 * One commit inside the batch's transaction. All checks come before the first write, so a refusal leaves nothing to
 * undo and the other commits of the batch are not touched by it. What throws is undone with the batch (W1).
 */
export function writeCommit(db: Connection, packed: PackedCommit): Refused | null {
  const commit = unpackCommit(packed)
  const epochs: number[] = []
  const refused = refuse(db, commit, epochs)
  if (refused) return wasApplied(db, commit) ? null : refused
  commit.streams.forEach((stream, i) => {
    if (stream.create) createRun(db, commit, stream, stream.create)
    appendEvents(db, commit.appendId, stream, epochs[i]!)
    if (stream.snapshot !== undefined)
      db.run(SQL.events.keepSnapshot, stream.runId, lengthAfter(stream), stream.snapshot)
    countBytes(db, stream)
    if (!stream.create) extendRun(db, stream)
  })
  for (const runId of commit.wakes) db.run(SQL.runs.wake, runId)
  if (commit.response) putResponse(db, commit.response)
  for (const delivery of commit.deliveries ?? []) addDelivery(db, delivery)
  return null
}

/** The order is part of the contract: host, response, then each stream's sequence and epoch, then scopes, then quotas. */
function refuse(db: Connection, { hostId, streams, response, quotas }: Commit, epochs: number[]): Refused | undefined {
  if (!isAlive(db, hostId)) return { kind: 'fenced' }
  const earlier = response && findResponse(db, response)
  if (earlier && !mayReplace(earlier, response.digest, response.at))
    return { kind: 'response-exists', response: earlier }
  for (const { runId, expected, epoch, create } of streams) {
    const run = db.get(SQL.runs.place, runId)
    const fits = run ? !create && expected === run.length : create !== undefined
    if (!fits) return { kind: 'conflict', runId }
    if (run && epoch !== null && (run.epoch !== epoch || run.owner !== hostId)) return { kind: 'fenced' }
    epochs.push(Number(run?.epoch ?? 1))
  }
  for (const { create } of streams) {
    if (!create?.exclusiveScope || create.scopeId === null) continue
    const active = db.get(SQL.runs.activeInScope, create.tenant, create.scopeId)
    if (active) return { kind: 'scope-active', runId: active.run_id as string }
  }
  return quotas ? quotaRefused(db, streams, quotas) : undefined
}

/** S4: a repetition of an append whose outcome was not known. A fork may have no event to tell it by. */
function wasApplied(db: Connection, { appendId, streams }: Commit): boolean {
  const first = streams.find(({ create, events }) => create?.fork || events.length > 0)
  if (first === undefined) return false
  const row = first.create?.fork
    ? db.get(SQL.runs.appendId, first.runId)
    : db.get(SQL.events.appendId, first.runId, first.expected)
  return row?.append_id === appendId
}

/** A fork without own events takes its times from those it shares. */
function createRun(db: Connection, { appendId, hostId }: Commit, stream: StreamAppend, create: NewRun): void {
  const { runId, expected, status, wakeAt, events, head } = stream
  const { tenant, parentRunId, fork } = create
  const endedAt = sharedEnd(db, stream) ?? endOf(stream)
  const { first, last } = events.length > 0 ? { first: events[0]!.at, last: events.at(-1)!.at } : sharedTimes(db, fork!)
  db.run(
    SQL.runs.create,
    runId,
    tenant,
    create.workflowId,
    create.workflowDigest,
    parentRunId,
    create.parentNodeId,
    create.scopeId,
    JSON.stringify(create.tags),
    status,
    lengthAfter(stream),
    hostId,
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
    parentRunId === null ? null : rootOf(db, parentRunId),
  )
  if (fork) shareEvents(db, runId, fork)
  if (fork) shareGateRows(db, runId, fork)
  writeGated(db, runId, create.gated)
}

function appendEvents(
  db: Connection,
  appendId: string,
  { runId, expected, events }: StreamAppend,
  epoch: number,
): void {
  for (const event of events) {
    try {
      appendEvent(db, runId, event, epoch, event.sequence === expected ? appendId : null)
    } catch (error) {
      const conflict = conflictIn(error)
      if (!conflict) throw error
      throw new WorkspaceConflict({ kind: 'workspace-conflict', runId, sequence: event.sequence, ...conflict })
    }
  }
}

function appendEvent(
  db: Connection,
  runId: string,
  { sequence, type, nodeId, payload, secret, cause, foreignCause, input, salt, hash, at }: StoredEvent,
  epoch: number,
  appendId: string | null,
): void {
  db.run(
    SQL.events.append,
    runId,
    sequence,
    type,
    nodeId,
    payload,
    secret,
    cause,
    foreignCause,
    input,
    salt,
    hash,
    at,
    epoch,
    appendId,
  )
}

function extendRun(db: Connection, stream: StreamAppend): void {
  const { runId, status, wakeAt, events, head } = stream
  db.run(SQL.runs.extend, runId, status, lengthAfter(stream), head, events.at(-1)?.at ?? null, endOf(stream), wakeAt)
}

const lengthAfter = ({ expected, events }: StreamAppend): number => expected + events.length

/** When the terminal event happened, if the last event is one. */
function endOf({ events }: StreamAppend): number | null {
  const last = events.at(-1)
  return last && isTerminal(last.type) ? last.at : null
}
