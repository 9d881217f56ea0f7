import { Type } from 'typebox'
import type { Edge } from '../deps.js'
import { discoveryDocument, type Present, type StaticDocument, staticDocument } from '../discovery/discovery.js'
import { openApiDocument } from '../discovery/openapi.js'
import { etagMatches } from '../etag.js'
import { unavailableAnswer } from '../framework-error.js'
import { type HttpAnswer, json, problem } from '../http-answer.js'
import { type Call, type Route, route } from '../route.js'

/** What anybody may read: who this host is, how to talk to it, and whether it is well. */
export const metaRoutes = (edge: Edge, table: () => readonly Route[]): Route[] => [
  discovery(edge),
  openApi(edge, table),
  health(edge),
]

const Any = Type.Record(Type.String(), Type.Unknown())

const NONE: readonly string[] = []

const discovery = (edge: Edge): Route => {
  let told: Present | undefined
  let document: StaticDocument
  const current = (): StaticDocument => {
    const fixtures = edge.fixtures?.() ?? NONE
    const hasAgents = edge.agents.list().length > 0
    if (told?.fixtures === fixtures && told.hasAgents === hasAgents) return document
    told = { fixtures, hasAgents }
    document = staticDocument(discoveryDocument(edge.config, told))
    return document
  }
  return route({
    method: 'GET',
    path: '/.well-known/openwop',
    operation: 'discover',
    summary: 'What this host is and can do',
    access: 'public',
    responses: {
      200: { description: 'The capabilities document', schema: Any },
      304: { description: 'Unchanged' },
    },
    refusals: [],
    handle: call => serve(current(), call),
  })
}

const openApi = (edge: Edge, table: () => readonly Route[]): Route => {
  let document: StaticDocument | undefined
  return route({
    method: 'GET',
    path: '/v1/openapi.json',
    operation: 'describe',
    summary: 'This interface as OpenAPI 3.1',
    access: 'public',
    responses: { 200: { description: 'The OpenAPI document', schema: Any }, 304: { description: 'Unchanged' } },
    refusals: [],
    handle(call) {
      document ??= staticDocument(openApiDocument(table(), edge.config.version))
      return serve(document, call)
    },
  })
}

const health = (edge: Edge): Route => {
  const well = json(200, { status: 'ok', version: edge.config.version }, { 'cache-control': 'no-store' })
  return route({
    method: 'GET',
    path: '/healthz',
    operation: 'health',
    summary: 'Whether the host takes work',
    access: 'public',
    unlimited: true,
    responses: { 200: { description: 'It does', schema: Any } },
    refusals: ['service_unavailable'],
    handle() {
      const { ok, reasons } = edge.engine.health()
      if (ok) return well
      const refusal = unavailableAnswer(edge.config, 'The host is not taking work now.')
      return problem({ ...refusal, details: { ...refusal.details, reasons } }, { 'cache-control': 'no-store' })
    },
  })
}

function serve({ body, etag }: StaticDocument, { request }: Call<undefined, undefined>): HttpAnswer {
  const headers = { etag, 'cache-control': 'public, max-age=300' }
  return etagMatches(request.headers['if-none-match'], etag)
    ? { status: 304, body: '', headers }
    : { status: 200, body, headers }
}
