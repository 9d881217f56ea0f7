import { type Static, Type } from 'typebox'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { ProgramEntry } from '../engine/ports/today.js'
import { json } from '../http/http-answer.js'
import { type Route, route } from '../http/route.js'
import type { MockPrograms } from './mock-programs.js'

export type SeamDeps = {
  readonly programs: MockPrograms
  /** As the host itself makes it of every request to a model. */
  readonly cacheKey: (request: CacheKeyRequest) => string
}

/** R-SEAM-1, R-SEAM-2: mounted in conformance mode alone; what they set and answer is what the host itself goes by. */
export const seamRoutes = (deps: SeamDeps): Route[] => [programMock(deps), llmCacheKey(deps)]

const Words = Type.String({ maxLength: 1_000_000 })

/** In either of the two forms that suites use. */
const Entry = Type.Object({
  content: Type.Optional(Type.Unsafe<Json>({ description: 'What it says' })),
  stopReason: Type.Optional(
    Type.Union([Type.Literal('end_turn'), Type.Literal('max_tokens'), Type.Literal('safety')], {
      description: 'How the answer ends; safety is a refusal',
    }),
  ),
  refusalText: Type.Optional(Words),
  mode: Type.Optional(
    Type.Union([Type.Literal('envelope'), Type.Literal('refusal')], { description: 'The same, said otherwise' }),
  ),
  envelope: Type.Optional(Type.Unsafe<Json>({ description: 'What it says, with mode envelope' })),
})

const programMock = ({ programs }: SeamDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/host/sample/test/mock-ai/program',
    operation: 'programMockProvider',
    summary:
      'Conformance mode only: what the provider mock says to the calls of a node, in place of an earlier program',
    access: 'authenticated',
    body: Type.Object({
      nodeId: Type.String({ minLength: 1, maxLength: 256 }),
      program: Type.Array(Entry, { maxItems: 1_000 }),
    }),
    responses: {
      200: {
        description: 'The program stands',
        schema: Type.Object({ ok: Type.Boolean(), count: Type.Integer() }),
      },
    },
    refusals: ['validation_error'],
    handle({ caller, body: { nodeId, program } }) {
      programs.set(caller.tenant, nodeId, program.map(entryOf))
      return json(200, { ok: true, count: program.length })
    },
  })

function entryOf({ content, envelope, stopReason, mode }: Static<typeof Entry>): ProgramEntry {
  const said = content ?? envelope ?? ''
  return {
    content: typeof said === 'string' ? said : JSON.stringify(said),
    stopReason: stopReason ?? (mode === 'refusal' ? 'safety' : 'end_turn'),
  }
}

/** A request for an answer, without anything that only concerns its transport. */
export type CacheKeyRequest = JsonObject & {
  readonly provider: string
  readonly model: string
  readonly messages: readonly JsonObject[]
}

const Request = Type.Object({
  provider: Type.String({ minLength: 1, maxLength: 256 }),
  model: Type.String({ minLength: 1, maxLength: 256 }),
  messages: Type.Array(Type.Record(Type.String(), Type.Unsafe<Json>({})), { minItems: 1, maxItems: 10_000 }),
})

const llmCacheKey = ({ cacheKey }: SeamDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/host/sample/test/llm-cache-key',
    operation: 'llmCacheKey',
    summary: 'Conformance mode only: the key under which the host would keep the answer to a request',
    access: 'authenticated',
    body: Request,
    responses: {
      200: {
        description: 'The key',
        schema: Type.Object({ cacheKey: Type.String({ pattern: '^[0-9a-f]{64}$' }) }),
      },
    },
    refusals: ['validation_error'],
    handle: ({ body }) => json(200, { cacheKey: cacheKey(meantBy(body as unknown as CacheKeyRequest)) }),
  })

const MEANS = [
  'provider',
  'model',
  'messages',
  'tools',
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'seed',
  'stop',
  'responseFormat',
  'safetySettings',
]

/** Says how a request travels, never what is asked (contract core §8.6). */
const TRANSPORT =
  /^(stream|metadata|user|tenantid|runid|nodeid|attempt|x-.*|.*requestid|trace.*|.*timeout.*|.*retr(y|ies).*|.*credential.*|.*key|authorization|headers|signal)$/i

/** An option that nobody here knows counts as the provider's own: to drop it would give two requests one key. */
function meantBy(body: CacheKeyRequest): CacheKeyRequest {
  const known = Object.entries(body).filter(([name, value]) => MEANS.includes(name) && value !== null)
  const given = isObject(body.providerOptions ?? null) ? (body.providerOptions as JsonObject) : {}
  const others = Object.entries(body).filter(
    ([name]) => !MEANS.includes(name) && name !== 'providerOptions' && !TRANSPORT.test(name),
  )
  const vendor = others.map(([name, value]) => [`vendor.${body.provider.toLowerCase()}.${name}`, value] as const)
  const providerOptions = { ...given, ...Object.fromEntries(vendor) }
  return {
    ...(Object.fromEntries(known) as CacheKeyRequest),
    ...(Object.keys(providerOptions).length > 0 ? { providerOptions } : {}),
  }
}
