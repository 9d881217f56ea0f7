import type { StoredQuotas } from '../../core/quotas.js'
import type { Fork } from '../../core/replay/events.js'
import type { Commit } from '../../engine/ports/event-log.js'
import type { Receipt } from '../../engine/ports/receipts.js'
import type { SqlValue } from './driver.js'

/**
 * A commit as it crosses to the writer thread: arrays of primitives in the order of the SQL parameters. Copying them is
 * several times cheaper than copying objects, and the main thread pays for it on every append.
 */
export type PackedCommit = readonly [
  appendId: string,
  hostId: string,
  streams: readonly PackedStream[],
  wakes: readonly string[],
  receipt: PackedReceipt | null,
  /** DELIVERY_FIELDS values for each delivery. */
  deliveries: readonly SqlValue[],
  quotas: StoredQuotas | null,
  tenant: string,
]

export type PackedStream = readonly [
  runId: string,
  expected: number,
  epoch: number | null,
  status: string,
  wakeAt: number | null,
  create: PackedRun | null,
  /** EVENT_FIELDS values for each event. */
  events: readonly SqlValue[],
  head: string,
  snapshot: string | null,
]

export type PackedRun = readonly [
  tenant: string,
  workflowId: string,
  workflowDigest: string,
  parentRunId: string | null,
  parentNodeId: string | null,
  scopeId: string | null,
  tags: string,
  exclusiveScope: boolean,
  fork: Fork | null,
  /** GATED_FIELDS values for each gated point. */
  gated: readonly SqlValue[],
]

export type PackedReceipt = readonly [
  tenant: string,
  endpoint: string,
  key: string,
  digest: string,
  state: string,
  leaseOwner: string,
  leaseUntil: number,
  status: number,
  headers: string,
  body: string,
  at: number,
]

/** type, nodeId, payload, secret, cause, input, salt, hash, at */
export const EVENT_FIELDS = 9

/** gateId, point, nodeId, workerId, confirm */
export const GATED_FIELDS = 5

/** About how many rows a commit writes. */
export const rowsIn = ([, , streams]: PackedCommit): number =>
  streams.reduce((rows, [, , , , , , events]) => rows + 1 + events.length / EVENT_FIELDS, 0)

/** About how many characters it writes. */
export const charactersIn = ([, , streams, , receipt]: PackedCommit): number =>
  streams.reduce(
    (sum, [, , , , , , events, , snapshot]) => sum + (snapshot?.length ?? 0) + events.reduce(addLength, 0),
    receipt?.[9].length ?? 0,
  )

const addLength = (sum: number, value: SqlValue): number => (typeof value === 'string' ? sum + value.length : sum)

/** webhookId, runId, sequence, tenant, eventType, at */
export const DELIVERY_FIELDS = 6

export const packCommit = ({
  appendId,
  hostId,
  streams,
  wakes,
  receipt,
  deliveries = [],
  quotas,
  tenant = '',
}: Commit): PackedCommit => [
  appendId,
  hostId,
  streams.map(packStream),
  wakes,
  receipt ? packReceipt(receipt) : null,
  deliveries.flatMap(one => [one.webhookId, one.runId, one.sequence, one.tenant, one.eventType, one.at]),
  quotas ?? null,
  tenant,
]

function packStream({
  runId,
  expected,
  epoch,
  status,
  wakeAt,
  create,
  events,
  head,
  snapshot,
}: Commit['streams'][number]): PackedStream {
  const fields: SqlValue[] = []
  for (const event of events) {
    const { type, nodeId, payload, secret, cause, input, salt, hash, at } = event
    fields.push(type, nodeId, payload, secret, cause, input, salt, hash, at)
  }
  const run: PackedRun | null = create
    ? [
        create.tenant,
        create.workflowId,
        create.workflowDigest,
        create.parentRunId,
        create.parentNodeId,
        create.scopeId,
        create.tags.length === 0 ? '[]' : JSON.stringify(create.tags),
        create.exclusiveScope,
        create.fork,
        create.gated.flatMap(one => [one.gateId, one.point, one.nodeId, one.workerId ?? '', one.confirm]),
      ]
    : null
  return [runId, expected, epoch, status, wakeAt, run, fields, head, snapshot ?? null]
}

export const packReceipt = (receipt: Receipt): PackedReceipt => [
  receipt.tenant,
  receipt.endpoint,
  receipt.key,
  receipt.digest,
  receipt.state,
  receipt.leaseOwner,
  receipt.leaseUntil,
  receipt.status,
  JSON.stringify(receipt.headers),
  receipt.body,
  receipt.at,
]
