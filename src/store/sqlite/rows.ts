import type { RunStatus } from '../../core/run/event.js'
import type { ApiKey, Receipt, RunRow, StoredEvent, WorkflowRecord } from '../../engine/ports.js'
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
})

export const toEvent = (row: SqlRow): StoredEvent => ({
  sequence: row.seq as number,
  type: row.type as string,
  nodeId: row.node_id as Text,
  payload: row.payload as string,
  secret: row.secret as Text,
  cause: row.cause as Int,
  at: row.at as number,
})

export const toWorkflow = (row: SqlRow): WorkflowRecord => ({
  tenant: row.tenant === '' ? null : (row.tenant as string),
  workflowId: row.workflow_id as string,
  digest: row.digest as string,
  definition: row.definition as string,
  updatedAt: row.updated_at as number,
})

export const toReceipt = (row: SqlRow): Receipt => ({
  tenant: row.tenant as string,
  endpoint: row.endpoint as string,
  key: row.key as string,
  digest: row.digest as string,
  state: row.state as Receipt['state'],
  leaseOwner: row.lease_owner as string,
  leaseUntil: row.lease_until as number,
  status: row.status as number,
  headers: JSON.parse(row.headers as string) as Receipt['headers'],
  body: row.body as string,
  at: row.at as number,
})

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
})
