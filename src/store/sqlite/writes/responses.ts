import type { RememberedResponse, ResponseKey } from '../../../engine/ports/remembered-responses.js'
import { mayReplace } from '../../response-rules.js'
import type { Connection } from '../connection.js'
import { toResponse } from '../rows.js'
import { SQL } from '../statements.js'
import { isErased } from './erasures.js'

/** `claim` names one call of the store, so that repeating it after a writer's death finds its own row. */
type ResponseClaim = { response: RememberedResponse; now: number; claim: string }

/** Null when claimed, else what is there. */
export function claimResponse(db: Connection, { response, now, claim }: ResponseClaim): RememberedResponse | null {
  const existing = findResponse(db, response)
  if (existing && !mayReplace(existing, response.digest, now)) {
    const mine = db.get(SQL.responses.isClaimedBy, response.tenant, response.endpoint, response.key, claim)
    return mine ? null : existing
  }
  putResponse(db, response, claim)
  return null
}

export function finishResponse(db: Connection, response: RememberedResponse): void {
  const existing = findResponse(db, response)
  if (isErased(db, response.tenant)) return
  if (existing?.state === 'pending' && existing.leaseOwner === response.leaseOwner) putResponse(db, response)
}

export function deleteResponse(db: Connection, { tenant, endpoint, key }: ResponseKey): void {
  db.run(SQL.responses.delete, tenant, endpoint, key)
}

/** At most `limit`, so that a large purge does not hold up appends. */
export const purgeResponses = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(SQL.responses.purge, olderThan, limit)

export const findResponse = (
  db: Connection,
  { tenant, endpoint, key }: ResponseKey,
): RememberedResponse | undefined => {
  const row = db.get(SQL.responses.get, tenant, endpoint, key)
  return row && toResponse(row)
}

/** Inserts, or replaces what `mayReplace` has allowed to be replaced in the same transaction. */
export function putResponse(db: Connection, response: RememberedResponse, claim: string | null = null): void {
  db.run(
    SQL.responses.put,
    response.tenant,
    response.endpoint,
    response.key,
    response.digest,
    response.state,
    response.leaseOwner,
    response.leaseUntil,
    response.status,
    JSON.stringify(response.headers),
    response.body,
    response.at,
    claim,
  )
}
