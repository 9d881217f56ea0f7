import type { TSchema } from 'typebox'
import { PROBLEMS, type ProblemCode } from '../../core/problem.js'
import { ID_PATTERNS } from '../../wire/ids.js'
import { SCOPES } from '../../wire/key.js'
import { ErrorEnvelope } from '../../wire/problem.js'
import { scopesOf } from '../auth/authenticator.js'
import { paramsOf, type Route } from '../route.js'

/** Refusals any authenticated route may give. */
export const COMMON_REFUSALS: readonly ProblemCode[] = [
  'unauthenticated',
  'key_expired',
  'key_revoked',
  'forbidden',
  'misdirected_request',
  'rate_limited',
  'quota_exceeded',
  'internal_error',
  'service_unavailable',
]

/** Where no key is asked for. */
const COMMON_BY_ACCESS: { readonly [Access in Route['access']]?: readonly ProblemCode[] } = {
  public: ['misdirected_request', 'rate_limited', 'internal_error'],
  token: ['misdirected_request', 'rate_limited', 'quota_exceeded', 'internal_error', 'service_unavailable'],
}

const BODY_REFUSALS: readonly ProblemCode[] = [
  'validation_error',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]
const KEY_REFUSALS: readonly ProblemCode[] = ['idempotency_key_mismatch', 'idempotency_in_flight']

/** Every code a route may answer with, in the order of the table of problems. */
export function refusalsOf(route: Route): ProblemCode[] {
  const codes = new Set<ProblemCode>(route.refusals)
  const common = COMMON_BY_ACCESS[route.access] ?? COMMON_REFUSALS
  for (const code of common) codes.add(code)
  if (route.body !== undefined) for (const code of BODY_REFUSALS) codes.add(code)
  if (route.query !== undefined) codes.add('validation_error')
  if (route.idempotency !== undefined)
    for (const code of ['validation_error', 'tenant_erased', ...KEY_REFUSALS] as const) codes.add(code)
  return (Object.keys(PROBLEMS) as ProblemCode[]).filter(code => codes.has(code))
}

/** OpenAPI 3.1 from the rows and schemas that requests are checked with; nothing is described by hand. */
export function openApiDocument(routes: readonly Route[], version: string): object {
  const paths: { [path: string]: { [method: string]: object } } = {}
  for (const route of routes) {
    const item = paths[route.path] ?? {}
    item[route.method.toLowerCase()] = operation(route)
    paths[route.path] = item
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Assay', version, description: 'A host for verified multi-agent work, speaking OpenWOP v1.' },
    paths,
    components: {
      schemas: { ErrorEnvelope },
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: `Scopes: ${SCOPES.join(', ')}` } },
    },
  }
}

function operation(route: Route): object {
  return {
    operationId: route.operation,
    summary: route.summary,
    security: route.access === 'public' || route.access === 'token' ? [] : [{ key: scopesOf(route) }],
    parameters: parameters(route),
    ...(route.body === undefined
      ? undefined
      : { requestBody: { required: route.bodyOptional !== true, content: content(route.body) } }),
    responses: { ...successes(route), ...failures(route) },
  }
}

function parameters(route: Route): object[] {
  const path = paramsOf(route.path).map(name => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: ID_PATTERNS[name] },
  }))
  const query = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => ({ name, in: 'query', schema }))
  const named = (route.headers ?? []).map(header => ({ ...header, in: 'header', schema: { type: 'string' } }))
  const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string', minLength: 1, maxLength: 255 } }
  return [...path, ...query, ...named, ...(route.idempotency === undefined ? [] : [key])]
}

const content = (schema: TSchema | object) => ({ 'application/json': { schema } })

function successes(route: Route): { [status: string]: object } {
  const entries = Object.entries(route.responses).map(([status, { description, schema, contentType }]) => {
    const stream = contentType === undefined ? undefined : { [contentType]: { schema: { type: 'string' } } }
    return [
      status,
      schema === undefined ? { description } : { description, content: { ...content(schema), ...stream } },
    ]
  })
  return Object.fromEntries(entries)
}

function failures(route: Route): { [status: string]: object } {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of refusalsOf(route)) {
    const { status } = PROBLEMS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const schema = { $ref: '#/components/schemas/ErrorEnvelope' }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, { description: codes.join(', '), content: content(schema) }]),
  )
}
