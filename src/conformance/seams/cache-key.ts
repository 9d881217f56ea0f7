import { Type } from 'typebox'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { json } from '../../http/http-answer.js'
import { type Route, route } from '../../http/route.js'

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

/** `cacheKey`: as the host itself makes it of every request to a model. */
export const llmCacheKey = (cacheKey: (request: CacheKeyRequest) => string): Route =>
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
