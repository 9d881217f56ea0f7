import { verify } from 'node:crypto'
import { sha256 } from '../digest.js'
import type { AnomalyKind } from '../engine/api.js'
import type { Checkpoint, SealedRun } from '../engine/ports/audit.js'
import type { SigningKey, TrustedKeys } from './signing-key.js'

/** A signed checkpoint that follows `previous`, over runs that have ended and runs that are purged. */
export function signCheckpoint(
  previous: Checkpoint | undefined,
  at: number,
  { runs, purged }: Pick<Checkpoint, 'runs' | 'purged'>,
  key: SigningKey,
): Checkpoint {
  const seq = previous === undefined ? 0 : previous.seq + 1
  const content = { seq, at, keyId: key.keyId, prev: previous?.hash ?? '', runs, purged }
  const digest = checkpointHash(content)
  return { ...content, hash: digest, signature: key.sign(digest) }
}

/** One that tells of no purge is hashed as it was before there were any. */
export function checkpointHash({ prev, seq, at, keyId, runs, purged }: Omit<Checkpoint, 'hash' | 'signature'>): string {
  const fixed = [prev, seq, at, keyId, runs.map(asTuple)]
  return sha256(JSON.stringify(purged.length === 0 ? fixed : [...fixed, purged.map(asTuple)]), 'base64url')
}

const asTuple = ({ runId, length, head }: SealedRun) => [runId, length, head]

export const isUnchanged = (checkpoint: Checkpoint): boolean => checkpointHash(checkpoint) === checkpoint.hash

/**
 * Whether `next` follows `before`. A `before` that was changed is known by the hash it has or by the one it should
 * have; either way it is named itself, and `next` is not blamed for it.
 */
export const follows = (before: Checkpoint | undefined, next: Checkpoint): boolean =>
  before === undefined ? next.prev === '' : next.prev === before.hash || next.prev === checkpointHash(before)

/** What is wrong with the signature, apart from what it was put to. */
export function judgeSignature(
  { hash: digest, keyId, signature }: Checkpoint,
  keys: TrustedKeys,
): Extract<AnomalyKind, 'key-unknown' | 'signature-invalid'> | undefined {
  const key = keys.get(keyId)
  if (key === undefined) return 'key-unknown'
  return verify(null, Buffer.from(digest), key, Buffer.from(signature, 'base64url')) ? undefined : 'signature-invalid'
}
