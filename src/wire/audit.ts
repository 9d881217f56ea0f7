import { type Static, Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { RunId } from './ids.js'

const Seq = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

export const AuditQuery = Type.Object({
  fromSeq: Type.Optional(Type.Integer({ ...Seq, default: 0, description: 'First checkpoint' })),
  toSeq: Type.Optional(
    Type.Integer({
      ...Seq,
      description: 'Last checkpoint; omitted = the newest',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: '`nextCursor` of the answer before; it remembers the range, which is not given again',
    }),
  ),
})

export type AuditQuery = Static<typeof AuditQuery>

const CheckpointDoc = Type.Object({
  seq: Type.Integer({ minimum: 0 }),
  at: Type.Integer({ description: 'When it was made, in milliseconds since 1970' }),
  keyId: Type.String({ description: 'Fingerprint of the public key that verifies the signature' }),
  prev: Type.String({ description: 'Hash of the checkpoint before; empty for the first' }),
  hash: Type.String(),
  signature: Type.String({ description: 'Ed25519 over the text of `hash`, base64url' }),
})

const AnomalyDoc = Type.Object({
  kind: OneOf([
    'event-changed',
    'event-missing',
    'event-extra',
    'content-missing',
    'erasure-forged',
    'head-mismatch',
    'run-missing',
    'gate-row-missing',
    'gate-row-changed',
    'gate-row-extra',
    'merge-unverified',
    'definition-missing',
    'checkpoint-changed',
    'checkpoint-missing',
    'signature-invalid',
    'key-unknown',
  ]),
  checkpoint: Type.Optional(Type.Integer({ minimum: 0 })),
  runId: Type.Optional(RunId),
  sequence: Type.Optional(Type.Integer({ minimum: 0, description: 'The first event that is not as it was written' })),
  message: Type.String(),
})

export const AuditAnswer = Type.Object({
  fromSeq: Type.Integer({ minimum: 0 }),
  toSeq: Type.Integer({ minimum: 0 }),
  chainValid: Type.Boolean({ description: 'Every log is as it was sealed, and the checkpoints follow each other' }),
  checkpointsValid: Type.Boolean({ description: 'Every checkpoint bears the signature of a key known here' }),
  checkpoints: Type.Array(CheckpointDoc),
  anomalies: Type.Array(AnomalyDoc),
  nextCursor: Type.Optional(
    Type.String({ description: 'There is more to verify; what is said above is so of the part that was looked at' }),
  ),
})
export type AuditAnswer = Static<typeof AuditAnswer>

/** A receipt as it is kept: the envelope of DSSE. What its payload says is in docs/design/receipt.md. */
export const ReceiptAnswer = Type.Object({
  payload: Type.String({ description: 'An in-toto statement as canonical JSON, in base64: what is signed' }),
  payloadType: Type.Literal('application/vnd.in-toto+json'),
  signatures: Type.Array(
    Type.Object({
      keyid: Type.String({ description: 'Fingerprint of the public key that verifies the signature' }),
      sig: Type.String({ description: 'Ed25519 over the pre-authentication encoding of DSSE, in base64' }),
    }),
    { minItems: 1, maxItems: 1 },
  ),
})

const PublicKeyDoc = Type.Object({
  kty: Type.Literal('OKP'),
  crv: Type.Literal('Ed25519'),
  x: Type.String({ description: 'The key, base64url' }),
  kid: Type.String({ description: 'Its fingerprint, as `keyid` and `keyId` name it' }),
  use: Type.Literal('sig'),
  alg: Type.Literal('EdDSA'),
})

export const PublicKeysAnswer = Type.Object({
  keys: Type.Array(PublicKeyDoc, {
    description: 'A JWK set: this host’s key, earlier ones, and those of other hosts that it was given',
  }),
})
export type PublicKeysAnswer = Static<typeof PublicKeysAnswer>
