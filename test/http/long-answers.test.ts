import { get, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TurnTaking } from '../../src/timing/turns.js'
import { until } from '../support/host-process.js'
import { node, type Reply, secretOf, startHttp, type TestHost, workflow } from './harness.js'
import { framesOf, listen } from './sockets.js'

const VARIABLES = 30
const TEXT = 'é"x'.repeat(200_000)
const STALL_MS = 3_000

/** Every variable is set to the same long text, so that log and state are of many megabytes. */
const wide = workflow(
  'wide',
  Array.from({ length: VARIABLES }, (_, i) =>
    node(`n${i}`, 'core.setVariable', {
      config: { name: `v${i}` },
      inputs: { value: { type: 'expression', expression: 'inputs.text' } },
    }),
  ),
  { variables: Array.from({ length: VARIABLES }, (_, i) => ({ name: `v${i}`, type: 'string' })) },
)

let host: TestHost
let runId: string
let port: number
/** What was done since the test began: turns that were waited for, and characters that were read of logs. */
let turns = 0
let read = 0
const counted: TurnTaking = {
  next: () => {
    turns += 1
    return new Promise(resolve => setImmediate(resolve))
  },
  room: () => undefined,
  spent: () => undefined,
}

beforeAll(async () => {
  host = await startHttp({ deps: { turns: counted }, config: { timeouts: { streamStallMs: STALL_MS } } })
  port = await listen(host.app)
  const { store } = host
  const readEvents = store.readEvents.bind(store)
  store.readEvents = async (...asked) => {
    const page = await readEvents(...asked)
    for (const { payload } of page) read += payload.length
    return page
  }
  const made = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: wide })
  expect(made.status).toBe(201)
  const payload = { workflowId: 'wide', inputs: { text: TEXT } }
  runId = (await host.call('alice', { method: 'POST', url: '/v1/runs', payload })).json.runId
  await until('a long run', async () => (await ask('')).json.status === 'completed')
}, 120_000)
afterAll(() => host.close())
beforeEach(() => {
  turns = 0
  read = 0
})

const ask = (at: string, headers = {}): Promise<Reply> => host.call('alice', { url: `/v1/runs/${runId}${at}`, headers })

const JSON_ONLY = { accept: 'application/json' }

/** A connection that nothing is taken from until somebody listens. */
function connect(at: string, more = {}): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${secretOf('alice')}`, ...more }
  return new Promise((resolve, reject) => {
    const request = get({ port, path: `/v1/runs/${runId}${at}`, headers, host: '127.0.0.1', agent: false }, response =>
      resolve(response.on('error', () => undefined)),
    )
    request.on('error', reject)
  })
}

/** Not by `toBe`, which would print megabytes. */
const expectSame = (one: string, other: string) => expect(one === other).toBe(true)

const LONG = VARIABLES * TEXT.length

test('a run with much in it is shown in turns, byte for byte as it would be in one go', async () => {
  const { status, text, json } = await ask('')
  expect(status).toBe(200)
  expect(text.length).toBeGreaterThan(LONG)
  expectSame(JSON.stringify(json), text)
  for (let i = 0; i < VARIABLES; i += 1) expect(json.variables[`v${i}`] === TEXT).toBe(true)
  // A text is rendered in one go, however long it may be; nothing else is.
  expect(turns).toBeGreaterThanOrEqual(VARIABLES)
  turns = 0
  const noop = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } })
  await host.call('alice', { url: `/v1/runs/${noop.json.runId}` })
  expect(turns).toBe(0)
})

test('so is its log, and a poll of it', async () => {
  const log = await ask('/events', JSON_ONLY)
  expect(log.text.length).toBeGreaterThan(LONG)
  expect(turns).toBeGreaterThanOrEqual(VARIABLES)
  const sequences = log.json.events.map(({ sequence }: { sequence: number }) => sequence)
  expect(sequences).toEqual(sequences.map((_: number, i: number) => i))
  expectSame(JSON.stringify(log.json), log.text)
  turns = 0
  const poll = await ask('/events/poll')
  expect(turns).toBeGreaterThanOrEqual(VARIABLES)
  expectSame(JSON.stringify(poll.json), poll.text)
  expectSame(JSON.stringify(poll.json.events), JSON.stringify(log.json.events))
  expect(poll.json).toMatchObject({ lastEventSeq: sequences.length - 1, isComplete: true, runStatus: 'completed' })
})

test('and the state in a stream of values, alone and in batches', async () => {
  const { lastEventSeq } = (await ask('/events/poll?lastSequence=100000')).json
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  type Data = any
  for (const [query, of] of [
    ['', (data: Data) => data],
    ['&bufferMs=10', (data: Data) => data[0]],
  ] as const) {
    turns = 0
    const text = await textOf(await connect(`/events?streamMode=values${query}`, { 'last-event-id': lastEventSeq - 1 }))
    const last = of(framesOf(text).at(-1)!.data)
    expect(last.status).toBe('completed')
    expect(last.variables.v0 === TEXT && last.variables[`v${VARIABLES - 1}`] === TEXT).toBe(true)
    expect(turns).toBeGreaterThanOrEqual(VARIABLES)
  }
})

test('nothing is read for who takes nothing: a place is held until the reader is cut off, and memory is not', async () => {
  const readers = await Promise.all(['/events', '/events/poll'].map(at => connect(at, JSON_ONLY)))
  expect(host.app.load().requests).toBe(2)
  await expect.poll(() => host.app.load().requests, { timeout: 30_000 }).toBe(0)
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThan(0.8 * 2 * LONG)
  for (const reader of readers) reader.destroy()
})
