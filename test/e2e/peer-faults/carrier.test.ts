import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findingsOf } from '../../support/stored-runs.js'
import { hasProtocolSchemas, schemaErrors } from '../../http/protocol-schemas.js'
import { HOST_ID, KEY_OF_B, TwoHosts, URL_OF_A } from './two-hosts.js'
import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'

/** What B makes of the claim that a run on another host is the cause of one here. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-carrier-'))
const CAUSE = {
  hostId: HOST_ID.a,
  runId: '01890000-0000-7000-8000-00000000000a',
  eventId: '01890000-0000-7000-8000-00000000000a:3',
  cause: 'core.dispatch',
  depth: 0,
}
const LIMIT = 4

let two: TwoHosts
/** Of another tenant, of B's own users, and one that may do what a peer needs and no more. */
const keys: { [name: string]: string } = { peer: KEY_OF_B }

const ON_B = [
  loopOf({ rules: [{ when: 'iteration == 1', decide: next('leaf') }, { decide: terminate }] }, { id: 'work' }),
  { id: 'leaf', nodes: { a: 'core.noop' } },
]

beforeAll(async () => {
  two = await TwoHosts.start({ folder: scratch, a: [], b: ON_B, settingsOfB: { limits: { maxDepth: LIMIT } } })
  const scopes = ['runs:create', 'runs:read', 'runs:cancel'] as const
  for (const [name, more] of [
    ['stranger', { tenant: 'strangers' }],
    ['own', {}],
  ] as const) {
    const made = await two.client('b').createKey({ principal: name, scopes: [...scopes], ...more })
    keys[name] = made.key!
  }
})
afterAll(async () => {
  expect(findingsOf(await two.stored('b'))).toEqual([])
  await two.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const encoded = (carrier: unknown): string => Buffer.from(JSON.stringify(carrier)).toString('base64url')

async function ask(
  key: string | null,
  method: string,
  route: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: object } = {},
) {
  const response = await fetch(`${two.b.host.url}${route}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${keys[key] ?? key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  return { status: response.status, text, json: JSON.parse(text === '' ? '{}' : text) as any }
}

/** Starts a run with that header, and says what B believes of its origin. */
async function believed(key: string, header: string | undefined, workflowId = 'work') {
  const headers: Record<string, string> = header === undefined ? {} : { 'x-host-assay-causation': header }
  const started = await ask(key, 'POST', '/v1/runs', { body: { workflowId }, headers })
  expect(started.status, started.text).toBe(201)
  const { runId } = started.json as { readonly runId: string }
  await two.ended(runId, 'b')
  const ancestry = await ask(key, 'GET', `/v1/runs/${runId}/ancestry`)
  if (hasProtocolSchemas) expect(schemaErrors('run-ancestry-response', ancestry.json)).toEqual([])
  const { events } = (await ask(key, 'GET', `/v1/runs/${runId}/events/poll`)).json
  const foreign = events.filter((event: { payload: object }) => 'causationHostId' in event.payload)
  return { runId, parent: ancestry.json.parent, events, foreign }
}

describe('R-XHOST-2, R-XHOST-11, P12–P14: a peer that says where it comes from', () => {
  it('is believed: the first event that can have it has the foreign cause, no other has, and the ancestry leads back', async () => {
    const { parent, events, foreign } = await believed('peer', encoded(CAUSE))
    expect(parent).toEqual({
      runId: CAUSE.runId,
      hostId: HOST_ID.a,
      cause: 'core.dispatch',
      wellKnownUrl: `${URL_OF_A}/.well-known/openwop`,
    })
    expect(foreign).toHaveLength(1)
    expect(foreign[0]).toMatchObject({
      type: 'runOrchestrator.decided',
      causationId: CAUSE.eventId,
      payload: { causationHostId: HOST_ID.a },
    })
    // R-XHOST-3: where the cause is here, no host is named.
    const others = events.filter((event: object) => event !== foreign[0])
    for (const { causationId } of others) expect(causationId ?? events[0].eventId).not.toBe(CAUSE.eventId)
  })

  it('P14: a run without any event of the list names it in run.started alone', async () => {
    const { parent, events, foreign } = await believed('peer', encoded(CAUSE), 'leaf')
    expect(foreign).toEqual([])
    expect(parent).toMatchObject({ runId: CAUSE.runId, hostId: HOST_ID.a })
    expect(events[0]).toMatchObject({
      type: 'run.started',
      payload: { foreignParent: { hostId: HOST_ID.a, eventId: CAUSE.eventId } },
    })
    expect(events[0].causationId).toBeUndefined()
  })

  it('its wellKnownUrl is that of our configuration, whatever it sends', async () => {
    const { parent } = await believed(
      'peer',
      encoded({ ...CAUSE, wellKnownUrl: 'https://evil.example/.well-known/openwop' }),
    )
    if (parent !== null) expect(parent.wellKnownUrl).toBe(`${URL_OF_A}/.well-known/openwop`)
  })

  it('P16: a run that would be nested too deeply is refused, wherever it was begun', async () => {
    const header = { 'x-host-assay-causation': encoded({ ...CAUSE, depth: LIMIT + 1 }) }
    const { status, json } = await ask('peer', 'POST', '/v1/runs', { body: { workflowId: 'work' }, headers: header })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(json).toMatchObject({ error: expect.any(String), message: expect.stringContaining(String(LIMIT)) })
  })

  it('of the same request again, the first counts', async () => {
    const send = (carrier: object) =>
      ask('peer', 'POST', '/v1/runs', {
        body: { workflowId: 'leaf' },
        headers: { 'idempotency-key': 'again', 'x-host-assay-causation': encoded(carrier) },
      })
    const first = await send(CAUSE)
    const second = await send({ ...CAUSE, runId: 'another' })
    expect(second.json.runId).toBe(first.json.runId)
    expect((await ask('peer', 'GET', `/v1/runs/${first.json.runId}/ancestry`)).json.parent.runId).toBe(CAUSE.runId)
  })
})

describe('P13: nobody else is believed', () => {
  it.each([
    ['a key of B’s own users', 'own', CAUSE],
    ['a key of another tenant', 'stranger', CAUSE],
    ['the peer, for a host that it is not', 'peer', { ...CAUSE, hostId: 'c.example' }],
    ['the peer, for B itself', 'peer', { ...CAUSE, hostId: HOST_ID.b }],
  ])('%s: the run is nobody’s child, and its log says nothing of it', async (_who, key, carrier) => {
    const { parent, foreign, events } = await believed(key, encoded(carrier))
    expect([parent, foreign]).toEqual([null, []])
    expect(JSON.stringify(events)).not.toMatch(/foreignParent|c\.example|00000000000a/)
  })

  const long = 'x'.repeat(2_000)
  it.each([
    ['no base64', '%%%'],
    ['base64 with padding', `${encoded(CAUSE)}==`],
    ['no JSON', Buffer.from('{').toString('base64url')],
    ['a list', encoded([CAUSE])],
    ['null', encoded(null)],
    ['a number', encoded(7)],
    ['nothing in it', encoded({})],
    ['an empty header', ''],
    ['more than 1024 characters', encoded({ ...CAUSE, runId: long })],
    ['a run id that is a path', encoded({ ...CAUSE, runId: '../../etc' })],
    ['a run id with a NUL', encoded({ ...CAUSE, runId: 'a\u0000b' })],
    ['a run id with a line break', encoded({ ...CAUSE, runId: 'a\nb' })],
    ['a run id that is an object', encoded({ ...CAUSE, runId: { a: 1 } })],
    ['an event id that is a number', encoded({ ...CAUSE, eventId: 3 })],
    ['an event id of 129 characters', encoded({ ...CAUSE, eventId: 'x'.repeat(129) })],
    ['an empty event id', encoded({ ...CAUSE, eventId: '' })],
    ['a cause that there is not', encoded({ ...CAUSE, cause: 'core.magic' })],
    ['a cause of the prototype', encoded({ ...CAUSE, cause: 'constructor' })],
    ['a depth below nothing', encoded({ ...CAUSE, depth: -1 })],
    ['half a depth', encoded({ ...CAUSE, depth: 0.5 })],
    [
      'a depth beyond numbers',
      Buffer.from(JSON.stringify(CAUSE).replace('"depth":0', '"depth":1e999')).toString('base64url'),
    ],
    ['a depth in letters', encoded({ ...CAUSE, depth: '0' })],
    ['a prototype', Buffer.from(`{"__proto__":${JSON.stringify(CAUSE)}}`).toString('base64url')],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x7b]).toString('base64url')],
  ])('nor the peer, with %s: ignored, and never an error', async (_what, header) => {
    const { parent, foreign } = await believed('peer', header, 'leaf')
    expect([parent, foreign]).toEqual([null, []])
  })

  it('it authorizes nothing: without a key, or with too small a one, it is as if it were not there', async () => {
    const headers = { 'x-host-assay-causation': encoded(CAUSE) }
    const body = { workflowId: 'work' }
    expect((await ask(null, 'POST', '/v1/runs', { headers, body })).status).toBe(401)
    expect((await ask('no-such-key-at-all', 'POST', '/v1/runs', { headers, body })).status).toBe(401)
    const { runId } = await believed('peer', encoded(CAUSE), 'leaf')
    expect((await ask(null, 'GET', `/v1/runs/${runId}/ancestry`, { headers })).status).toBe(401)
    const [theirs, none] = await Promise.all(
      [runId, '01890000-0000-7000-8000-000000000000'].map(id =>
        ask('stranger', 'GET', `/v1/runs/${id}/ancestry`, { headers }),
      ),
    )
    expect([theirs!.status, theirs!.text]).toEqual([404, none!.text])
    expect((await ask('stranger', 'POST', `/v1/runs/${runId}/cancel`, { headers, body: {} })).status).toBe(404)
    expect((await ask('own', 'GET', '/v1/keys', { headers })).status).toBe(403)
  })
})
