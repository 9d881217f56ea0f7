import { Type } from 'typebox'
import type { Edge } from '../../deps.js'
import { discoveryDocument, type Present, type StaticDocument, staticDocument } from '../../discovery/discovery.js'
import { openApiDocument } from '../../discovery/openapi.js'
import { etagMatches } from '../../etag.js'
import { unavailableAnswer } from '../../framework-error.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { type Call, type Route, route } from '../../route.js'

/** What anybody may read: who this host is, how to talk to it, and whether it is well. */
export const metaRoutes = (edge: Edge, table: () => readonly Route[]): Route[] => [
  discovery(edge),
  openApi(edge, table),
  health(edge),
  ready(edge),
  live(),
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

/** Why the host takes no work now; undefined when it does. */
function troubleOf(edge: Edge): HttpAnswer | undefined {
  const { ok, reasons } = edge.engine.health()
  const closed = edge.serving?.reason
  if (ok && closed === undefined) return undefined
  const refusal = unavailableAnswer(edge.config, 'The host is not taking work now.')
  const all = [...new Set([...(closed === undefined ? [] : [closed]), ...reasons])]
  return problem({ ...refusal, details: { ...refusal.details, reasons: all } }, NO_STORE)
}

const NO_STORE = { 'cache-control': 'no-store' }

const probe = (
  path: string,
  operation: string,
  summary: string,
  handle: () => HttpAnswer,
  refusals: Route['refusals'] = ['service_unavailable'],
): Route =>
  route({
    method: 'GET',
    path,
    operation,
    summary,
    access: 'public',
    unlimited: true,
    responses: { 200: { description: 'It does', schema: Any } },
    refusals,
    handle,
  })

const health = (edge: Edge): Route => {
  const well = json(200, { status: 'ok', version: edge.config.version }, NO_STORE)
  return probe('/healthz', 'health', 'Whether the host takes work', () => troubleOf(edge) ?? well)
}

const ready = (edge: Edge): Route => {
  const is = json(200, { status: 'ready' }, NO_STORE)
  const summary = 'Whether the host takes work: everything is loaded, and it is not stopping'
  return probe('/ready', 'ready', summary, () => troubleOf(edge) ?? is)
}

/** Green from the first moment to the last: a host that starts, drains or has lost its database is not to be killed for it. */
const live = (): Route => {
  const is = json(200, { status: 'live' }, NO_STORE)
  return probe('/live', 'live', 'Whether the process answers at all', () => is, [])
}

function serve({ body, etag }: StaticDocument, { request }: Call<undefined, undefined>): HttpAnswer {
  const headers = { etag, 'cache-control': 'public, max-age=300' }
  return etagMatches(request.headers['if-none-match'], etag)
    ? { status: 304, body: '', headers }
    : { status: 200, body, headers }
}
