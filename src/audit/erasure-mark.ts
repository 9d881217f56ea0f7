import { verify } from 'node:crypto'
import { sha256 } from '../digest.js'
import type { Erasure, ErasureMark, ErasureMarks } from '../engine/ports/tenants.js'
import type { SigningKey, TrustedKeys } from './signing-key.js'

/**
 * What vouches for an erasure: the host that was asked for it signs the tenant's name and the moment before anything of it
 * is written. Whoever may only write to the database cannot make one, and one that was made is of a tenant that is gone:
 * its name is never used again, so nothing can be covered up with it later.
 */
export function signErasure(tenant: string, askedAt: number, key: SigningKey): ErasureMark {
  return { tenant, askedAt, keyId: key.keyId, signature: key.sign(digestOf(tenant, askedAt)) }
}

/** Why the row does not prove that somebody asked for the erasure; undefined when it does. */
export function judgeErasure(
  { tenant, askedAt, keyId, signature }: Erasure,
  keys: TrustedKeys,
): 'unsigned' | 'key-unknown' | 'signature-invalid' | undefined {
  if (keyId === null || signature === null) return 'unsigned'
  const key = keys.get(keyId)
  if (key === undefined) return 'key-unknown'
  const isGood = verify(null, Buffer.from(digestOf(tenant, askedAt)), key, Buffer.from(signature, 'base64url'))
  return isGood ? undefined : 'signature-invalid'
}

export const erasureMarks = (key: SigningKey, keys: () => Promise<TrustedKeys>): ErasureMarks => ({
  sign: (tenant, askedAt) => signErasure(tenant, askedAt, key),
  judge: async erasure => judgeErasure(erasure, await keys()),
})

/** A checkpoint is signed by the hash of a list that begins otherwise: neither can be taken for the other. */
const digestOf = (tenant: string, askedAt: number): string =>
  sha256(JSON.stringify(['tenant erased', tenant, askedAt]), 'base64url')
