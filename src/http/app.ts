import { type IncomingMessage, STATUS_CODES } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { fileTooLarge } from '../core/journal/refusals.js'
import { type Refusal, refuse } from '../core/problem.js'
import type { Clock } from '../engine/ports/clock.js'
import { sleep } from '../timing/sleep.js'
import { Turns } from '../timing/turns.js'
import { recordAccess } from './access-log.js'
import { Admission } from './admission.js'
import { Authenticator, NOBODY } from './auth/authenticator.js'
import { recordRefusal } from './auth/recording.js'
import { KeyCache } from './auth/key-cache.js'
import { BodyRoom } from './bodies/body-room.js'
import { addBodyParsers } from './bodies/parsers.js'
import type { AppDeps, Edge } from './deps.js'
import { connectionRefusal, frameworkRefusal, unavailableAnswer } from './framework-error.js'
import { hostHeaderCheck } from './host-header.js'
import { type HttpAnswer, problem } from './http-answer.js'
import { Idempotency } from './idempotency.js'
import { MAX_TOKEN_CHARS } from './interrupt-link.js'
import { pipeline, send } from './pipeline.js'
import { type Route, routerPath } from './route.js'
import { routeTable } from './route-table.js'
import { strayAnswer } from './stray-path.js'
import { StreamRegistry } from './streaming/stream-registry.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** What `addRoutes` registered; nothing else is served. */
    routeTable: readonly Route[]
    /** Who is being served now. */
    load(): Admission['load'] & { readonly streams: number; readonly bodyBytes: number }
  }
}

/** The HTTP edge: parse, ask the engine, render. Call `listen` or `inject` on what it returns. */
export function createApp(deps: AppDeps): FastifyInstance {
  const { config, clock, log, ids } = deps
  const keyCache = new KeyCache(deps.keys, clock)
  const edge: Edge = {
    ...deps,
    keyCache,
    idempotency: new Idempotency(deps.responses, clock, ids.unique(), config.timeouts.responseLeaseMs),
    turns: deps.turns ?? new Turns(),
    streams: new StreamRegistry(keyCache, clock, log, {
      maxPerKey: config.limits.maxStreamsPerKey,
      quotas: config.quotas,
      pingMs: config.timeouts.keepAliveCommentMs,
      recheckMs: config.timeouts.keyRecheckMs,
    }),
    engineVersion: String(config.engineVersion),
  }
  const app = newServer(edge)
  const boot = ids.unique()
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const refusal = fileRefusal(error, request) ?? frameworkRefusal(error, config)
    if (refusal !== undefined) return send(request, reply, problem(refusal))
    const correlationId = `${boot}-${request.id}`
    log.error({ err: error, correlationId, route: request.routeOptions?.url }, 'a request failed')
    const message = 'Something went wrong in the host; its log has more under this correlation id.'
    return send(request, reply, problem(refuse('internal_error', message, { correlationId })))
  }

  app.decorateRequest('caller', null)
  app.decorateRequest('problemCode', '')
  app.setErrorHandler(fail)
  const misdirected = hostHeaderCheck(config.allowedHosts)
  app.addHook('onRequest', (request, reply, done) => {
    const refusal = misdirected(request)
    if (refusal === undefined) done()
    else send(request, reply, problem(refusal, CLOSE))
  })
  addBodyParsers(app, edge)
  addRoutes(app, edge)
  app.addHook('preClose', async () => {
    edge.streams.closeAll()
    if (edge.serving !== undefined) await lastAnswers(app, clock)
  })
  if (config.accessLog) recordAccess(app, log, clock, boot)
  return app
}

/** The port is given up first; requests that are there already are still answered, if that takes no longer than this. */
const LAST_ANSWERS_MS = 1_000

function lastAnswers(app: FastifyInstance, clock: Clock): Promise<void> {
  const over = new AbortController()
  app.server.close(() => over.abort())
  return sleep(clock, LAST_ANSWERS_MS, over.signal)
}

const CLOSE = { connection: 'close' }

/** An answer as bytes, for requests that Node does not hand on. */
function rawAnswer({ status, body }: HttpAnswer, headers = ''): string {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}Connection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
  return head + body
}

function newServer(edge: Edge): FastifyInstance {
  const app = openServer(edge)
  app.server.on('checkExpectation', ({ socket }: IncomingMessage) => {
    socket.end(rawAnswer(problem(UNEXPECTED)))
  })
  app.server.on('connect', (_request, socket) => {
    // Node no longer listens to it: who goes away before the answer must not take the host along.
    socket.on('error', () => socket.destroy())
    socket.end(rawAnswer(problem(NO_PROXY), 'Allow: \r\n'))
  })
  return app
}

const UNEXPECTED = refuse(
  'expectation_failed',
  'The Expect header asks for something other than 100-continue, which is all there is; leave it out.',
  { field: 'Expect' },
)

const NO_PROXY = refuse('method_not_allowed', 'CONNECT is for proxies, and this host is none; send the request itself.')

function openServer({ config }: Edge): FastifyInstance {
  return fastify({
    logger: false,
    forceCloseConnections: true,
    // Until the last connection is cut, requests are answered in the one form there is.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    bodyLimit: config.limits.maxRequestBodyBytes,
    requestTimeout: config.timeouts.requestMs,
    routerOptions: { maxParamLength: MAX_TOKEN_CHARS },
    http: {
      maxHeaderSize: config.limits.maxHeaderBytes,
      headersTimeout: config.timeouts.headersMs,
      connectionsCheckingInterval: Math.min(1000, config.timeouts.requestMs),
    },
    frameworkErrors: (error, request, reply) => {
      const refusal = frameworkRefusal(error, config) ?? refuse('validation_error', 'The request is not valid.')
      send(request as FastifyRequest, reply as FastifyReply, problem(refusal))
    },
    clientErrorHandler(error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy()
        return
      }
      socket.end(rawAnswer(problem(connectionRefusal(error.code))))
    },
  })
}

/** What stands around the content of a file in a JSON body. */
const JSON_AROUND = 64 * 1024

/** A file that was sent as JSON, and is too large for that; or under a type that is none. */
function fileRefusal(error: unknown, { routeOptions, headers }: FastifyRequest): Refusal | undefined {
  const limit = routeOptions?.config?.rawBytes
  if (limit === undefined) return undefined
  switch ((error as { code?: unknown } | null)?.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return fileTooLarge(Number(headers['content-length'] ?? limit + 1), limit)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE': {
      const seen = JSON.stringify((headers['content-type'] ?? '').slice(0, 64))
      const message = `Content-Type must be the type of the file, such as text/markdown, or application/json for {content, contentType}; got ${seen}.`
      return refuse('unsupported_media_type', message, { field: 'Content-Type' })
    }
    default:
      return undefined
  }
}

function addRoutes(app: FastifyInstance, edge: Edge): void {
  const authenticator = new Authenticator(edge.keyCache, edge.clock, edge.config, edge.tokenSecrets)
  const { quotas, limits } = edge.config
  const full = unavailableAnswer(edge.config, 'The host is serving as many requests as it can; try again.')
  const admission = new Admission(limits.maxInflightRequests, quotas, full)
  const table = routeTable(edge)
  const room = new BodyRoom(Math.max(limits.maxRequestBodyBytes, ...table.map(bytesOfBody)))
  app.decorate('routeTable', table)
  app.decorate('load', () => ({ ...admission.load, streams: edge.streams.size, bodyBytes: room.load.bytes }))
  for (const route of table) {
    app.route({
      method: route.method,
      url: routerPath(route.path),
      exposeHeadRoute: route.access === 'public',
      // As JSON a file may take twice its bytes, where there is much in it to be escaped.
      ...(route.rawBytes !== undefined && { bodyLimit: bytesOfBody(route) }),
      config: {
        ...(route.rawBytes !== undefined && { rawBytes: route.rawBytes }),
        ...(route.formBytes !== undefined && { formBytes: route.formBytes }),
      },
      onRequest(request, reply, done) {
        const closed = route.unlimited === true ? undefined : edge.serving?.refusal(edge.config)
        if (closed !== undefined) return void send(request, reply, problem(closed, { connection: 'close' }))
        if (route.method !== 'GET') noteUnderWay(edge, reply)
        const judged = (answer: HttpAnswer | undefined) => {
          if (answer?.status === 403 && route.recorded !== undefined && request.caller !== null) {
            const params = request.params as { readonly [name: string]: string }
            recordRefusal(edge, route, request.caller, params).then(() => send(request, reply, answer), done)
            return
          }
          const refused = answer ?? noRoom(room, route, request, reply, limits.maxRequestBodyBytes)
          if (refused === undefined) done()
          else send(request, reply, refused)
        }
        const verdict = authenticator.admit(route, request)
        if (verdict instanceof Promise) verdict.then(judged, done)
        else judged(verdict)
      },
      handler: pipeline(edge, route, admission),
    })
  }
  const stray = strayAnswer(table)
  app.setNotFoundHandler((request, reply) => send(request, reply, stray(request.method, request.url)))
}

/** The most that a body of the route can have, however it is sent; 0 where that is what any may have. */
const bytesOfBody = ({ rawBytes, formBytes = 0 }: Route): number =>
  Math.max(rawBytes === undefined ? 0 : 2 * rawBytes + JSON_AROUND, formBytes)

/** Why the body of a request is not taken; undefined when there is room for it, until it is answered. */
function noRoom(
  room: BodyRoom,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  usual: number,
): HttpAnswer | undefined {
  if (route.method === 'GET') return undefined
  const most = Math.max(usual, bytesOfBody(route))
  const { 'content-length': announced, 'transfer-encoding': chunked } = request.headers
  // What announces too much is refused unread; what announces nothing can be as long as it may.
  const bytes = chunked === undefined ? Number(announced ?? 0) : most
  const leave = bytes > most ? undefined : room.enter((request.caller ?? NOBODY).tenant, bytes)
  if (leave === undefined) return undefined
  if (typeof leave !== 'function') return problem(leave, CLOSE)
  reply.raw.once('close', leave)
  return undefined
}

/** Until it is answered, or its connection is gone. Reads are not waited for: some last as long as there is nothing new. */
function noteUnderWay({ serving }: Edge, reply: FastifyReply): void {
  if (serving === undefined) return
  serving.began()
  reply.raw.once('close', () => serving.ended())
}
