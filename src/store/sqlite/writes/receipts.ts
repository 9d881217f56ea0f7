import type { Receipt, ReceiptKey } from '../../../engine/ports/receipts.js'
import { mayReplace } from '../../receipt-rules.js'
import type { Connection } from '../connection.js'
import { toReceipt } from '../rows.js'
import { SQL } from '../statements.js'
import { isErased } from './erasures.js'

/** `claim` names one call of the store, so that repeating it after a writer's death finds its own row. */
type ReceiptClaim = { receipt: Receipt; now: number; claim: string }

/** Null when claimed, else what is there. */
export function claimReceipt(db: Connection, { receipt, now, claim }: ReceiptClaim): Receipt | null {
  const existing = findReceipt(db, receipt)
  if (existing && !mayReplace(existing, receipt.digest, now)) {
    const mine = db.get(SQL.receipts.isClaimedBy, receipt.tenant, receipt.endpoint, receipt.key, claim)
    return mine ? null : existing
  }
  putReceipt(db, receipt, claim)
  return null
}

export function finishReceipt(db: Connection, receipt: Receipt): void {
  const existing = findReceipt(db, receipt)
  if (isErased(db, receipt.tenant)) return
  if (existing?.state === 'pending' && existing.leaseOwner === receipt.leaseOwner) putReceipt(db, receipt)
}

export function deleteReceipt(db: Connection, { tenant, endpoint, key }: ReceiptKey): void {
  db.run(SQL.receipts.delete, tenant, endpoint, key)
}

/** At most `limit`, so that a large purge does not hold up appends. */
export const purgeReceipts = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(SQL.receipts.purge, olderThan, limit)

export const findReceipt = (db: Connection, { tenant, endpoint, key }: ReceiptKey): Receipt | undefined => {
  const row = db.get(SQL.receipts.get, tenant, endpoint, key)
  return row && toReceipt(row)
}

/** Inserts, or replaces what `mayReplace` has allowed to be replaced in the same transaction. */
export function putReceipt(db: Connection, receipt: Receipt, claim: string | null = null): void {
  db.run(
    SQL.receipts.put,
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
    claim,
  )
}
