import type { ApiKey } from '../../../engine/ports/keys.js'
import type { Receipt, ReceiptKey } from '../../../engine/ports/receipts.js'
import type { WorkflowRecord } from '../../../engine/ports/workflows.js'
import { mayReplace } from '../../receipt-rules.js'
import type { Connection } from '../connection.js'
import { packReceipt } from '../packed.js'
import { findReceipt, putReceipt } from './commit.js'
import { isErased } from './erasures.js'

/** `claim` names one call of the store, so that repeating it after a writer's death finds its own row. */
type ReceiptClaim = { receipt: Receipt; now: number; claim: string }

export function putWorkflow(
  db: Connection,
  { tenant, workflowId, digest, definition, updatedAt }: WorkflowRecord,
): void {
  db.run('INSERT INTO definitions (digest, definition) VALUES (?, ?) ON CONFLICT DO NOTHING', digest, definition)
  db.run(
    `INSERT INTO workflows (tenant, workflow_id, digest, updated_at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET digest = excluded.digest, updated_at = excluded.updated_at`,
    tenant ?? '',
    workflowId,
    digest,
    updatedAt,
  )
}

/** Null when claimed, else what is there. */
export function claimReceipt(db: Connection, { receipt, now, claim }: ReceiptClaim): Receipt | null {
  const { tenant, endpoint, key } = receipt
  const existing = findReceipt(db, [tenant, endpoint, key])
  if (existing && !mayReplace(existing, receipt.digest, now)) {
    const mine = db.get(
      'SELECT 1 FROM receipts WHERE tenant = ? AND endpoint = ? AND key = ? AND claim = ?',
      tenant,
      endpoint,
      key,
      claim,
    )
    return mine ? null : existing
  }
  putReceipt(db, packReceipt(receipt), claim)
  return null
}

export function finishReceipt(db: Connection, receipt: Receipt): void {
  const { tenant, endpoint, key, leaseOwner } = receipt
  const existing = findReceipt(db, [tenant, endpoint, key])
  if (isErased(db, tenant)) return
  if (existing?.state === 'pending' && existing.leaseOwner === leaseOwner) putReceipt(db, packReceipt(receipt))
}

export function deleteReceipt(db: Connection, { tenant, endpoint, key }: ReceiptKey): void {
  db.run('DELETE FROM receipts WHERE tenant = ? AND endpoint = ? AND key = ?', tenant, endpoint, key)
}

/** At most `limit`, so that a large purge does not hold up appends. */
export const purgeReceipts = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(
    `DELETE FROM receipts WHERE (tenant, endpoint, key) IN
       (SELECT tenant, endpoint, key FROM receipts WHERE at < ? ORDER BY at LIMIT ?)`,
    olderThan,
    limit,
  )

export function putKey(db: Connection, key: ApiKey): void {
  db.run(
    `INSERT INTO api_keys (key_id, hash, tenant, principal, scopes, test, created_at, expires_at, revoked_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (key_id) DO UPDATE SET hash = excluded.hash, tenant = excluded.tenant, principal = excluded.principal,
       scopes = excluded.scopes, test = excluded.test, created_at = excluded.created_at,
       expires_at = excluded.expires_at, revoked_at = excluded.revoked_at`,
    key.keyId,
    key.hash,
    key.tenant,
    key.principal,
    JSON.stringify(key.scopes),
    key.test ? 1 : 0,
    key.createdAt,
    key.expiresAt,
    key.revokedAt,
  )
}
