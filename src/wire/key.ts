import { type Static, Type } from 'typebox'
import { patternOf } from '../core/names.js'
import { OneOf } from '../core/schema/kinds.js'
import { Timestamp } from './ids.js'

/** The protocol's minimum vocabulary, then ours. No scope implies another (contract core §3.1). */
export const SCOPES = [
  'manifest:read',
  'runs:create',
  'runs:read',
  'runs:cancel',
  'artifacts:read',
  'webhooks:manage',
  'approvals:respond',
  'packs:publish',
  'packs:yank',
  'packs:yank-revert',
  'audit:read',
  'workspace:read',
  'workspace:write',
  /** Entries of memory: what agents have written down for later. */
  'memory:read',
  /** To have one forgotten, or merged with others. */
  'memory:forget',
  /** What agents were told and have said, with the arguments and results of their tools. */
  'transcripts:read',
  'workflows:write',
  'goals:read',
  'goals:write',
  'keys:manage',
  /** With approvals:respond: votes in the name of others, and links for others, such as a front end takes them in. */
  'approvals:delegate',
  /** With keys:manage: keys of every tenant, which is how a second tenant begins. */
  'tenants:manage',
] as const

export type Scope = (typeof SCOPES)[number]

const short = { minLength: 1, maxLength: 64 }

export const CreateKeyBody = Type.Object(
  {
    tenant: Type.Optional(Type.String({ ...short, pattern: patternOf('tenant') })),
    principal: Type.Optional(Type.String({ ...short, pattern: patternOf('principal') })),
    scopes: Type.Array(OneOf(SCOPES), { minItems: 1, uniqueItems: true }),
    test: Type.Optional(Type.Boolean()),
    expiresAt: Type.Optional(Type.String({ format: 'date-time', maxLength: 64 })),
  },
  { additionalProperties: false },
)

export const KeyAnswer = Type.Object({
  keyId: Type.String(),
  tenant: Type.String(),
  principal: Type.String(),
  scopes: Type.Array(Type.String()),
  test: Type.Boolean(),
  createdAt: Timestamp,
  expiresAt: Type.Union([Timestamp, Type.Null()]),
  revokedAt: Type.Union([Timestamp, Type.Null()]),
})
export type KeyAnswer = Static<typeof KeyAnswer>

/** `tenant` is where its data lives: for a test key apart from its account's, under a name that ends in `~test`. */
export const OwnKeyAnswer = Type.Object({
  keyId: Type.String(),
  tenant: Type.String(),
  principal: Type.String(),
  scopes: Type.Array(Type.String()),
  test: Type.Boolean(),
  expiresAt: Type.Union([Timestamp, Type.Null()]),
})
export type OwnKeyAnswer = Static<typeof OwnKeyAnswer>

export const CreateKeyAnswer = Type.Object({
  ...KeyAnswer.properties,
  key: Type.Optional(
    Type.String({ description: 'Shown in this answer only; a replay under the same Idempotency-Key leaves it out' }),
  ),
})
export const ListKeysAnswer = Type.Object({ keys: Type.Array(KeyAnswer) })
