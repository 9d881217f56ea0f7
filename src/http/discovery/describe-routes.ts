import { SCOPES } from '../../wire/key.js'
import { scopesOf } from '../auth/authenticator.js'
import type { Route } from '../route.js'
import { COMMON_REFUSALS, refusalsOf } from './openapi.js'

/** `docs/reference/http.md`; a test compares the two. */
export function describeRoutes(table: readonly Route[]): string {
  const overview = table.map(route => `| \`${route.method} ${route.path}\` | ${accessText(route)} | ${route.summary} |`)
  return `# HTTP interface

This page is generated from the route table in \`src/http/\`; a test fails when the two differ. The schemas of all bodies
are in \`GET /v1/openapi.json\`, which is made from the same table.

Send a key as \`Authorization: Bearer <key>\`. A key belongs to one tenant and has scopes, none of which implies another:
${SCOPES.map(scope => `\`${scope}\``).join(', ')}. What a key may not see is \`404 not_found\`, exactly like what does not exist.
Runs, workflows and remembered responses of a test key (\`ask_test_…\`) are kept apart from the live data of its tenant.
A key with \`tenants:manage\` may look into another tenant: on GET, with \`X-Assay-Tenant: NAME\` and the reading scopes it has.

A request passes, in this order: \`Host\` header (421 where it names another server), key, rate limit, scope, capacity,
shape, \`Idempotency-Key\`, and only then it is executed.
Send \`Idempotency-Key\` (1 to 255 visible characters) with requests that change something: a repetition is answered with
the first answer and the header \`openwop-Idempotent-Replay: true\`.

| Route | Scope | |
|---|---|---|
${overview.join('\n')}

${table.map(section).join('\n')}`
}

const WITHOUT_SCOPE: { readonly [Access in Route['access']]?: string } = {
  public: 'none',
  token: 'none; the link is the credential',
  authenticated: 'any key',
}

const accessText = (route: Route): string =>
  WITHOUT_SCOPE[route.access] ??
  scopesOf(route)
    .map(scope => `\`${scope}\``)
    .join(' and ')

function section(route: Route): string {
  const lines = [`## ${route.method} ${route.path}`, '', `${route.summary}. Scope: ${accessText(route)}.`, '']
  for (const [status, { description }] of Object.entries(route.responses)) lines.push(`* \`${status}\` ${description}`)
  const own = refusalsOf(route).filter(code => !COMMON_REFUSALS.includes(code) || route.refusals.includes(code))
  if (own.length > 0) lines.push(`* Refusals: ${own.map(code => `\`${code}\``).join(', ')}`)
  for (const [name, schema] of Object.entries(route.query?.properties ?? {})) lines.push(parameter(name, schema))
  for (const { name, description } of route.headers ?? []) lines.push(`* Header \`${name}\`: ${description}`)
  if (route.idempotency !== undefined) lines.push('* Honours `Idempotency-Key`')
  return `${lines.join('\n')}\n`
}

function parameter(name: string, schema: object): string {
  const { description, minimum, maximum } = schema as { description?: string; minimum?: number; maximum?: number }
  const range = minimum === undefined || (maximum ?? 0) > 1e9 ? undefined : `${minimum} to ${maximum}`
  const notes = [description, range].filter(note => note !== undefined)
  return `* Query \`${name}\`${notes.length === 0 ? '' : `: ${notes.join('; ')}`}`
}
