import type { StoredQuotas } from '../../core/quotas.js'
import type { Fork } from '../../core/replay/events.js'
import type { RunStatus } from '../../core/run/events.js'
import type { NewDelivery } from '../../engine/ports/deliveries.js'
import type { Commit, GatedPoint, NewRun, StoredEvent, StreamAppend } from '../../engine/ports/event-log.js'
import type { RememberedResponse } from '../../engine/ports/remembered-responses.js'
import type { SqlValue } from './driver.js'

/**
 * A commit as it crosses to the writer thread: arrays of primitives, the fields of many events in one. Copying them is
 * several times cheaper than copying objects, and the main thread pays for it on every append. Only this module knows
 * their order: `unpackCommit` gives back what `packCommit` was given.
 */
export type PackedCommit = readonly [
  /** About how many rows it writes, and how many characters. */
  rows: number,
  characters: number,
  tenant: string,
  appendId: string,
  hostId: string,
  streams: readonly PackedStream[],
  wakes: readonly string[],
  response: RememberedResponse | null,
  deliveries: readonly SqlValue[],
  quotas: StoredQuotas | null,
]

type PackedStream = readonly [
  runId: string,
  expected: number,
  epoch: number | null,
  status: RunStatus,
  wakeAt: number | null,
  create: PackedRun | null,
  events: readonly SqlValue[],
  head: string,
  snapshot: string | null,
]

type PackedRun = readonly [
  tenant: string,
  workflowId: string,
  workflowDigest: string,
  parentRunId: string | null,
  parentNodeId: string | null,
  scopeId: string | null,
  tags: readonly string[],
  exclusiveScope: boolean,
  fork: Fork | null,
  gated: readonly SqlValue[],
]

type PackedEvent = readonly [
  type: string,
  nodeId: string | null,
  payload: string,
  secret: string | null,
  cause: number | null,
  foreignCause: string | null,
  input: string | null,
  salt: string | null,
  hash: string,
  at: number,
]

type PackedDelivery = readonly [
  webhookId: string,
  runId: string,
  sequence: number,
  tenant: string,
  eventType: string,
  at: number,
]

type PackedPoint = readonly [
  gateId: string,
  point: GatedPoint['point'],
  nodeId: string,
  workerId: string | null,
  confirm: GatedPoint['confirm'],
]

export const rowsIn = ([rows]: PackedCommit): number => rows

export const charactersIn = ([, characters]: PackedCommit): number => characters

export const tenantIn = ([, , tenant]: PackedCommit): string => tenant

const charactersOf = ({ streams, response }: Commit): number =>
  streams.reduce(
    (sum, { snapshot, events }) =>
      events.reduce(
        (inside, { payload, secret, input }) => inside + payload.length + (secret?.length ?? 0) + (input?.length ?? 0),
        sum + (snapshot?.length ?? 0),
      ),
    response?.body.length ?? 0,
  )

export const packCommit = (commit: Commit): PackedCommit => [
  commit.streams.reduce((rows, { events }) => rows + 1 + events.length, 0),
  charactersOf(commit),
  commit.tenant ?? '',
  commit.appendId,
  commit.hostId,
  commit.streams.map(packStream),
  commit.wakes,
  commit.response ?? null,
  (commit.deliveries ?? []).flatMap(packDelivery),
  commit.quotas ?? null,
]

export function unpackCommit(packed: PackedCommit): Commit {
  const [, , tenant, appendId, hostId, streams, wakes, response, deliveries, quotas] = packed
  return {
    appendId,
    hostId,
    streams: streams.map(unpackStream),
    wakes,
    ...(response && { response }),
    deliveries: unpackAll(deliveries, 6, unpackDelivery),
    ...(quotas && { quotas }),
    tenant,
  }
}

function packStream(stream: StreamAppend): PackedStream {
  const { runId, expected, epoch, status, wakeAt, create, head, snapshot } = stream
  const fields: SqlValue[] = []
  for (const { type, nodeId, payload, secret, cause, foreignCause, input, salt, hash, at } of stream.events)
    fields.push(type, nodeId, payload, secret, cause, foreignCause, input, salt, hash, at)
  return [runId, expected, epoch, status, wakeAt, create ? packRun(create) : null, fields, head, snapshot ?? null]
}

function unpackStream(packed: PackedStream): StreamAppend {
  const [runId, expected, epoch, status, wakeAt, create, fields, head, snapshot] = packed
  return {
    runId,
    expected,
    epoch,
    status,
    wakeAt,
    events: unpackAll(fields, 10, (event: PackedEvent, i) => unpackEvent(event, expected + i)),
    head,
    ...(snapshot !== null && { snapshot }),
    ...(create && { create: unpackRun(create) }),
  }
}

function unpackEvent(packed: PackedEvent, sequence: number): StoredEvent {
  const [type, nodeId, payload, secret, cause, foreignCause, input, salt, hash, at] = packed
  return { sequence, type, nodeId, payload, secret, cause, foreignCause, at, input, salt, hash, erased: null }
}

const packRun = (run: NewRun): PackedRun => [
  run.tenant,
  run.workflowId,
  run.workflowDigest,
  run.parentRunId,
  run.parentNodeId,
  run.scopeId,
  run.tags,
  run.exclusiveScope,
  run.fork,
  run.gated.flatMap(packPoint),
]

function unpackRun(packed: PackedRun): NewRun {
  const [tenant, workflowId, workflowDigest, parentRunId, parentNodeId, scopeId, tags, exclusiveScope, fork, gated] =
    packed
  return {
    tenant,
    workflowId,
    workflowDigest,
    parentRunId,
    parentNodeId,
    scopeId,
    tags,
    exclusiveScope,
    fork,
    gated: unpackAll(gated, 5, unpackPoint),
  }
}

const packPoint = ({ gateId, point, nodeId, workerId, confirm }: GatedPoint): PackedPoint => [
  gateId,
  point,
  nodeId,
  workerId,
  confirm,
]

const unpackPoint = ([gateId, point, nodeId, workerId, confirm]: PackedPoint): GatedPoint => ({
  gateId,
  point,
  nodeId,
  workerId,
  confirm,
})

const packDelivery = ({ webhookId, runId, sequence, tenant, eventType, at }: NewDelivery): PackedDelivery => [
  webhookId,
  runId,
  sequence,
  tenant,
  eventType,
  at,
]

const unpackDelivery = ([webhookId, runId, sequence, tenant, eventType, at]: PackedDelivery): NewDelivery => ({
  webhookId,
  runId,
  sequence,
  tenant,
  eventType,
  at,
})

/** Of what stands one after the other, `size` fields each. */
function unpackAll<Packed extends readonly SqlValue[], T>(
  fields: readonly SqlValue[],
  size: Packed['length'],
  unpack: (packed: Packed, index: number) => T,
): T[] {
  const unpacked: T[] = []
  for (let i = 0; i < fields.length; i += size)
    unpacked.push(unpack(fields.slice(i, i + size) as unknown as Packed, unpacked.length))
  return unpacked
}
