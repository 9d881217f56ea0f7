import type { Json } from '../../core/json.js'
import type { Fork } from '../../core/replay/events.js'
import type { RunStatus } from '../../core/run/events.js'
import type { Checkpoint } from '../../engine/ports/audit.js'
import type { Delivery, Webhook } from '../../engine/ports/deliveries.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import type { ApiKey, KeyMaker } from '../../engine/ports/keys.js'
import type { RememberedResponse } from '../../engine/ports/remembered-responses.js'
import type { RunRow } from '../../engine/ports/run-index.js'
import type { Standard } from '../../engine/ports/standards.js'
import type { WorkflowRecord } from '../../engine/ports/workflows.js'
import type { SqlRow } from './driver.js'

type Text = string | null
type Int = number | null

export const toRun = (row: SqlRow): RunRow => ({
  runId: row.run_id as string,
  tenant: row.tenant as string,
  workflowId: row.workflow_id as string,
  workflowDigest: row.workflow_digest as string,
  status: row.status as RunStatus,
  parentRunId: row.parent_run_id as Text,
  parentNodeId: row.parent_node_id as Text,
  scopeId: row.scope_id as Text,
  tags: JSON.parse(row.tags as string) as string[],
  length: row.length as number,
  owner: row.owner as string,
  epoch: row.epoch as number,
  attempts: row.attempts as number,
  wakeAt: row.wake_at as Int,
  createdAt: row.created_at as number,
  updatedAt: row.updated_at as number,
  endedAt: row.ended_at as Int,
  fork: toFork(row),
  head: row.head as string,
  checkpoint: row.checkpoint as Int,
})

const toFork = (row: SqlRow): Fork | null =>
  row.source_run_id === null
    ? null
    : {
        sourceRunId: row.source_run_id as string,
        fromSeq: row.from_seq as number,
        mode: row.fork_mode as Fork['mode'],
        sourceLength: row.source_length as number,
      }

export const toEvent = (row: SqlRow): StoredEvent => ({
  sequence: row.seq as number,
  type: row.type as string,
  nodeId: row.node_id as Text,
  payload: row.payload as string,
  secret: row.secret as Text,
  cause: row.cause as Int,
  foreignCause: row.foreign_cause as Text,
  at: row.at as number,
  input: row.input as Text,
  salt: row.salt as Text,
  hash: row.hash as string,
  erased: row.erased as Text,
})

export const toWorkflow = (row: SqlRow): WorkflowRecord => ({
  tenant: row.tenant === '' ? null : (row.tenant as string),
  workflowId: row.workflow_id as string,
  digest: row.digest as string,
  definition: row.definition as string,
  updatedAt: row.updated_at as number,
})

export const toStandard = (row: SqlRow): Standard => ({
  tenant: row.tenant === '' ? null : (row.tenant as string),
  kind: row.kind as Standard['kind'],
  id: row.id as string,
  version: row.version as number,
  hash: row.hash as string,
  body: row.body as string,
  updatedAt: row.updated_at as number,
})

export const toResponse = (row: SqlRow): RememberedResponse => ({
  tenant: row.tenant as string,
  endpoint: row.endpoint as string,
  key: row.key as string,
  digest: row.digest as string,
  state: row.state as RememberedResponse['state'],
  leaseOwner: row.lease_owner as string,
  leaseUntil: row.lease_until as number,
  status: row.status as number,
  headers: JSON.parse(row.headers as string) as RememberedResponse['headers'],
  body: row.body as string,
  at: row.at as number,
})

/** Undefined for an effect that is not known, or not finished. */
export const toOutcome = (row: SqlRow | undefined): Json | undefined =>
  typeof row?.outcome === 'string' ? (JSON.parse(row.outcome) as Json) : undefined

export const toKey = (row: SqlRow): ApiKey => ({
  keyId: row.key_id as string,
  hash: row.hash as string,
  tenant: row.tenant as string,
  principal: row.principal as string,
  scopes: JSON.parse(row.scopes as string) as string[],
  test: row.test === 1,
  createdAt: row.created_at as number,
  expiresAt: row.expires_at as Int,
  revokedAt: row.revoked_at as Int,
  madeBy: JSON.parse(row.made_by as string) as KeyMaker[],
})

export const toWebhook = (row: SqlRow): Webhook => ({
  webhookId: row.webhook_id as string,
  tenant: row.tenant as string,
  url: row.url as string,
  events: JSON.parse(row.events as string) as string[],
  tags: JSON.parse(row.tags as string) as string[],
  secret: row.secret as string,
  createdAt: row.created_at as number,
  health: JSON.parse(row.health as string) as Webhook['health'],
})

export const toDelivery = (row: SqlRow): Delivery => ({
  webhookId: row.webhook_id as string,
  tenant: row.tenant as string,
  runId: row.run_id as string,
  sequence: row.seq as number,
  eventType: row.event_type as string,
  at: row.at as number,
  state: row.state as Delivery['state'],
  attempts: row.attempts as number,
  status: row.status as Int,
  error: row.error as Text,
  finishedAt: row.finished_at as Int,
})

export const toCheckpoint = (row: SqlRow): Checkpoint => ({
  seq: row.seq as number,
  at: row.at as number,
  keyId: row.key_id as string,
  prev: row.prev as string,
  runs: JSON.parse(row.runs as string) as Checkpoint['runs'],
  purged: JSON.parse(row.purged as string) as Checkpoint['purged'],
  hash: row.hash as string,
  signature: row.signature as string,
})
