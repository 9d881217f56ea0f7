import type { ApiKey, InvocationClaim, Receipt, ReceiptKey, WorkflowRecord } from '../../engine/ports.js'
import { mayReplace } from '../receipt-rules.js'
import type { Connection } from './connection.js'
import { packReceipt } from './packed.js'
import { findReceipt, putReceipt } from './write-commit.js'
import { isAlive } from './write-hosts.js'

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

export type ClaimedInvocation =
  | { kind: 'claimed'; again: boolean }
  | { kind: 'done'; outcome: string }
  | { kind: 'in-flight' }

/** A host that is not alive starts nothing new: for it, every effect is in somebody else's hands. */
export function claimInvocation(
  db: Connection,
  { claim, token }: { claim: InvocationClaim; token: string },
): ClaimedInvocation {
  const held = db.get('SELECT host_id, claim, again, outcome FROM invocations WHERE id = ?', claim.id)
  if (held && held.outcome !== null) return { kind: 'done', outcome: held.outcome as string }
  if (held?.claim === token) return { kind: 'claimed', again: held.again === 1 }
  const free = held === undefined || !isAlive(db, held.host_id as string)
  if (!free || !isAlive(db, claim.hostId)) return { kind: 'in-flight' }
  const again = held !== undefined
  db.run(
    `INSERT INTO invocations (id, run_id, node_id, ordinal, provider, host_id, at, claim, again)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET host_id = excluded.host_id, at = excluded.at, claim = excluded.claim, again = 1`,
    claim.id,
    claim.runId,
    claim.nodeId,
    claim.ordinal,
    claim.provider,
    claim.hostId,
    claim.at,
    token,
    again ? 1 : 0,
  )
  return { kind: 'claimed', again }
}

export function finishInvocation(db: Connection, done: { id: string; hostId: string; outcome: string }): void {
  db.run(
    'UPDATE invocations SET outcome = ? WHERE id = ? AND host_id = ? AND outcome IS NULL',
    done.outcome,
    done.id,
    done.hostId,
  )
}

export function releaseInvocation(db: Connection, { id, hostId }: { id: string; hostId: string }): void {
  db.run('DELETE FROM invocations WHERE id = ? AND host_id = ? AND outcome IS NULL', id, hostId)
}

export const purgeInvocations = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(
    'DELETE FROM invocations WHERE id IN (SELECT id FROM invocations WHERE at < ? AND outcome IS NOT NULL LIMIT ?)',
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
