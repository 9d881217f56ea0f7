import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { sha256 } from '../digest.js'
import type { AuditPlace } from '../engine/api.js'

const Count = Type.Integer({ minimum: 0 })
const Hash = Type.String({ maxLength: 200 })
const Place = Type.Object(
  {
    seq: Count,
    run: Count,
    to: Count,
    walk: Type.Optional(
      Type.Object(
        { next: Count, older: Count, head: Hash, ifAllLost: Hash, ifLastLost: Hash, erased: Count, unproven: Count },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

/**
 * How far a verification has come. Not a secret, and whoever makes one up deceives nobody but himself; but bound to its
 * tenant, so that one taken from elsewhere is refused instead of silently going on at a stranger's place.
 */
export const writeAuditCursor = (tenant: string, place: AuditPlace): string => {
  const text = JSON.stringify(place)
  return Buffer.from(`${seal(tenant, text)}${text}`).toString('base64url')
}

/** Undefined when it is not one of this tenant's. */
export function readAuditCursor(tenant: string, cursor: string): AuditPlace | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  const place = text.slice(SEAL)
  if (text.slice(0, SEAL) !== seal(tenant, place)) return undefined
  try {
    const value: unknown = JSON.parse(place)
    return Value.Check(Place, value) ? (value as Static<typeof Place> as AuditPlace) : undefined
  } catch {
    return undefined
  }
}

const SEAL = 16
const seal = (tenant: string, text: string): string => sha256(`audit\n${tenant}\n${text}`).slice(0, SEAL)
