import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Json, JsonObject } from '../core/json.js'
import { refuse } from '../core/problem.js'
import { ID_PATTERNS, type IdName } from '../wire/ids.js'
import type { Admission } from './admission.js'
import { NOBODY } from './auth/authenticator.js'
import { recorded } from './auth/recording.js'
import type { Caller } from './auth/key-cache.js'
import { RawBody, UnreadBody } from './bodies/raw-body.js'
import { dropBody, receiveBody } from './bodies/receive-body.js'
import { compileCheck } from './check.js'
import type { Edge } from './deps.js'
import { type HttpAnswer, problem } from './http-answer.js'
import { isIdempotencyKey, type KeyedRequest, requestDigest } from './idempotency.js'
import { readQuery } from './query.js'
import { type Call, paramsOf, type Route, TAKEN } from './route.js'
import { sendPieces } from './streaming/long-answer.js'

const NOT_FOUND = problem(refuse('not_found', 'No such resource, or it is not visible to this key.'))
const BAD_KEY = problem(
  refuse('validation_error', 'Idempotency-Key must have 1 to 255 visible ASCII characters and no spaces.', {
    field: 'Idempotency-Key',
    limit: 255,
  }),
)

const FREE = () => undefined

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** What happens to a request that was let in: capacity → body → shape → idempotency → execute. Compiled once per route. */
export function pipeline(edge: Edge, route: Route, admission: Admission): Handler {
  const prepare = preparation(route)

  return async (request, reply) => {
    // What everybody may ask costs next to nothing, and says how the host is doing.
    const leave = route.access === 'public' ? FREE : admission.enter(request.caller ?? NOBODY)
    if (typeof leave !== 'function') return send(request, reply, problem(leave))
    try {
      const refusal = request.body instanceof UnreadBody ? await receiveBody(edge, request, request.body) : undefined
      const call = refusal ? problem(refusal) : prepare(request, reply)
      if ('status' in call) return send(request, reply, call)
      const answer = await answered(edge, route, call)
      if (answer === TAKEN) return reply
      if (answer.pieces === undefined) return send(request, reply, answer)
      // It holds its place until its reader has all of it.
      await sendPieces(headed(reply, answer), answer.pieces, edge.config.timeouts.streamStallMs)
      return reply
    } finally {
      await dropBody(edge, request)
      leave()
    }
  }
}

/** A request that is repeated is not done again, and not recorded again. */
async function answered(edge: Edge, route: Route, call: Call): Promise<HttpAnswer | typeof TAKEN> {
  const handle = async () => route.handle(call as Call<never, never>)
  if (route.recorded === undefined && route.idempotency !== 'lease') return handle()
  const { keyed, caller, params } = call
  const once = () => recorded(edge, route, caller, params, async () => answerOf(await handle()))
  return keyed !== undefined && route.idempotency === 'lease' ? edge.idempotency.lease(keyed, once) : once()
}

function answerOf(answer: HttpAnswer | typeof TAKEN): HttpAnswer {
  if (answer === TAKEN) throw new Error('a route that writes to the socket itself cannot be remembered')
  return answer
}

/** Checks params, query, body and Idempotency-Key, in that order. */
function preparation(route: Route): (request: FastifyRequest, reply: FastifyReply) => Call | HttpAnswer {
  const named = paramsOf(route.path).filter(name => name !== 'path' || route.latePath !== true)
  const names = named.map(name => ({ name, pattern: new RegExp(ID_PATTERNS[name]) }))
  const query = route.lateQuery === true ? undefined : route.query
  const checkQuery = query === undefined ? undefined : compileCheck(query, 'query')
  const bodySchema = route.lateBody === true ? undefined : route.body
  const checkBody = bodySchema === undefined ? undefined : compileCheck(bodySchema, 'body')
  const endpoint = route.endpoint ?? `${route.method} ${route.path}`

  return (request, reply) => {
    const params = paramsIn(request)
    for (const { name, pattern } of names) if (!pattern.test(params[name])) return NOT_FOUND
    const asked = query === undefined ? undefined : readQuery(query, request.query as { [name: string]: unknown })
    const body = request.body ?? (route.bodyOptional === true && request.body === undefined ? {} : request.body)
    const refusal = checkQuery?.(asked) ?? (body instanceof RawBody ? undefined : checkBody?.(body))
    if (refusal !== undefined) return problem(refusal)
    const caller = request.caller ?? NOBODY
    const keyed = route.idempotency === undefined ? undefined : keyedRequest(request, caller, endpoint, params, body)
    if (keyed !== undefined && 'status' in keyed) return keyed
    return { caller, params, query: asked, body, keyed, uploads: request.uploads ?? [], request, reply }
  }
}

/** The path of a file is what the router calls `*`. */
function paramsIn({ params }: FastifyRequest): { readonly [Name in IdName]: string } {
  const { '*': path, ...others } = params as { readonly [name: string]: string }
  return (path === undefined ? others : { ...others, path }) as { readonly [Name in IdName]: string }
}

function keyedRequest(
  request: FastifyRequest,
  caller: Caller,
  endpoint: string,
  params: JsonObject,
  body: unknown,
): KeyedRequest | HttpAnswer | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !isIdempotencyKey(key)) return BAD_KEY
  const files = (request.uploads ?? []).map(({ name, fileName, file }) => [name, fileName, file.sha256])
  const sent = body instanceof RawBody ? { type: body.contentType, sha256: body.file.sha256 } : (body as Json)
  const digest = requestDigest(files.length === 0 ? sent : [sent, files], params)
  return { tenant: caller.tenant, endpoint, key, digest }
}

/** Bodies are rendered text; the framework serialises nothing. */
export function send(request: FastifyRequest, reply: FastifyReply, answer: HttpAnswer): FastifyReply {
  if (answer.code !== undefined) request.problemCode = answer.code
  if (answer.body !== '') return headed(reply, answer).send(answer.body)
  reply.code(answer.status)
  if (answer.headers !== undefined) reply.headers(answer.headers)
  return reply.send()
}

function headed(reply: FastifyReply, { status, headers = {} }: HttpAnswer): FastifyReply {
  return reply.code(status).headers(headers).header('content-type', 'application/json; charset=utf-8')
}
