import { type Static, Type } from 'typebox'
import type { OpenInterrupt } from '../core/interrupt/decide.js'
import { INTERRUPT_KINDS } from '../core/interrupt/interrupt.js'
import type { Json, JsonObject } from '../core/json.js'
import { patternOf } from '../core/names.js'
import { OneOf } from '../core/schema/kinds.js'
import { ID_PATTERNS, RunId, Timestamp } from './ids.js'

const closed = { additionalProperties: false }
const JsonMap = Type.Unsafe<JsonObject>({ type: 'object' })

const asked = {
  kind: OneOf(INTERRUPT_KINDS),
  nodeId: Type.String(),
  interruptId: Type.String(),
  key: Type.String(),
  data: Type.Unsafe<JsonObject>({
    type: 'object',
    description:
      'What is asked. Fields that `withheld` names are shown to keys with artifacts:read or approvals:respond, and to links',
  }),
  resumeSchema: Type.Optional(JsonMap),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 0 })),
  requestedAt: Timestamp,
  expiresAt: Type.Optional(Type.String({ format: 'date-time', description: 'When it is too late to answer' })),
  shownHash: Type.String({ description: 'Names what is shown; an answer may repeat it as resumeValue.shownHash' }),
}

/** What a run asks, as everybody who may read the run sees it. */
export const InterruptDoc = Type.Object({
  ...asked,
  requiredApprovals: Type.Optional(Type.Integer({ minimum: 1 })),
  votes: Type.Optional(Type.Array(Type.Object({ voter: Type.String(), action: Type.String() }))),
  interruptToken: Type.Optional(Type.String({ description: 'Only for keys with approvals:respond' })),
  callbackUrl: Type.Optional(Type.String()),
})
export type InterruptDoc = Static<typeof InterruptDoc>

export const ResolveBody = Type.Object(
  { resumeValue: Type.Unsafe<Json>({ description: 'The answer; what it may be depends on the kind of interrupt' }) },
  closed,
)
export type ResolveBody = Static<typeof ResolveBody>
export const ResolveAnswer = Type.Object({ runId: RunId, nodeId: Type.String(), status: Type.String() })

/** Whom a vote or a link is for; approvers are listed by their authors, so any name will do that can be shown. */
export const Person = Type.String({ pattern: patternOf('person') })

export const ListInterruptsQuery = Type.Object({
  runId: Type.Optional(Type.String({ pattern: ID_PATTERNS.runId, description: 'Only what this run asks' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 50,
      description: 'Runs to look at; each may ask several things',
    }),
  ),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: '`nextCursor` of the page before' })),
})

export const ListInterruptsAnswer = Type.Object({
  interrupts: Type.Array(
    Type.Object({
      runId: Type.String({ pattern: ID_PATTERNS.runId }),
      workflowId: Type.String(),
      ...InterruptDoc.properties,
    }),
  ),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
})

/** What a link shows. */
export const LinkedInterrupt = Type.Object({
  runId: RunId,
  ...asked,
  expiresAt: Type.String({ format: 'date-time', description: 'When the link ends' }),
  intent: OneOf(['resolve', 'inspect']),
})

export const LinkAnswer = Type.Object({
  token: Type.String(),
  url: Type.String(),
  expiresAt: Timestamp,
  intent: OneOf(['resolve', 'inspect']),
})

const iso = (at: number): string => new Date(at).toISOString()

/** `isOpened`: for whoever is asked, or may read artifacts; of some questions others see only what they are about. */
export function renderInterrupt(
  { nodeId, asked, dueAt }: OpenInterrupt,
  shownHash: string,
  isOpened: boolean,
): InterruptDoc {
  const { kind, interruptId, key, shown, rest, resumeSchema, timeoutMs, requestedAt, votes } = asked
  const required = kind === 'approval' ? shown.requiredApprovals : undefined
  return {
    kind,
    nodeId,
    interruptId,
    key,
    data: isOpened && rest ? { ...shown, ...rest } : shown,
    ...(resumeSchema === undefined ? {} : { resumeSchema }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    requestedAt: iso(requestedAt),
    ...(dueAt === null ? {} : { expiresAt: iso(dueAt) }),
    shownHash,
    ...(typeof required === 'number' && required > 1 ? { requiredApprovals: required, votes: [...votes] } : {}),
  }
}
