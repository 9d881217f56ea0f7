import type { ApiKey } from '../../../engine/ports/keys.js'
import type { TrailRecord } from '../../../engine/ports/audit.js'
import type { WorkflowRecord } from '../../../engine/ports/workflows.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

export function putWorkflow(db: Connection, workflow: WorkflowRecord): void {
  const { tenant, workflowId, digest, definition, updatedAt } = workflow
  db.run(SQL.workflows.putDefinition, digest, definition)
  db.run(SQL.workflows.put, tenant ?? '', workflowId, digest, updatedAt)
}

export function putKey(db: Connection, key: ApiKey): void {
  db.run(
    SQL.keys.put,
    key.keyId,
    key.hash,
    key.tenant,
    key.principal,
    JSON.stringify(key.scopes),
    key.test ? 1 : 0,
    key.createdAt,
    key.expiresAt,
    key.revokedAt,
    JSON.stringify(key.madeBy),
  )
}

/** False when it is not the next one any more (S17). */
export function appendTrail(db: Connection, record: TrailRecord): boolean {
  const { tenant, seq, at, principal, credential, action, object, outcome, previous, hash } = record
  const last = db.get(SQL.trail.last, tenant)
  if (seq !== Number(last?.seq ?? 0) + 1 || previous !== (last?.hash ?? '')) return false
  db.run(SQL.trail.add, tenant, seq, at, principal, credential, action, object, outcome, previous, hash)
  return true
}
