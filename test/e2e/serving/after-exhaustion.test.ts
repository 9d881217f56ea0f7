import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Performer } from '../../../src/engine/ports/performer.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { createHost, type Host } from '../../../src/host.js'
import type { HostLoad } from '../../../src/host-load.js'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { renderEvent } from '../../../src/wire/render.js'
import { freePort } from '../../support/free-port.js'
import { until } from '../../support/host-process.js'

const OPERATOR = 'the-key-of-whoever-operates-this-host'
const QUOTAS = { streams: 8, requestsInFlight: 12, activeRuns: 30, effectsAtOnce: 2 }
/** As many runs as a host keeps at hand. */
const KEPT = 500
/** Requests at once, so many times: a few more than a tenant may have in progress beside its streams. */
const ASKED = 16
const WAVES = 2
/** Runs of almost a megabyte. */
const LARGE = 24

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Answer = { readonly status: number; readonly text: string }
/** A connection that nothing is taken from until it is read. */
type Open = { readonly status: number; read(pace?: 'slow'): Promise<string>; close(): void }

class Tenant {
  constructor(
    private readonly port: number,
    private readonly key: string,
  ) {}

  async ask(method: string, at: string, body?: object): Promise<Answer> {
    const { status, read } = await this.open(at, { method }, body)
    return { status, text: await read() }
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  async json(method: string, at: string, body?: object): Promise<any> {
    const { status, text } = await this.ask(method, at, body)
    if (status >= 300) throw new Error(`${method} ${at}: ${status} ${text.slice(0, 500)}`)
    return JSON.parse(text)
  }

  open(at: string, options: http.RequestOptions = {}, body?: object): Promise<Open> {
    const headers = { authorization: `Bearer ${this.key}`, ...options.headers }
    const sent = body === undefined ? {} : { 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      const about = { host: '127.0.0.1', port: this.port, path: at, agent: false, ...options }
      const request = http.request({ ...about, headers: { ...headers, ...sent } }, response => {
        const read = (pace?: 'slow') => textOf(response, pace)
        resolve({ status: response.statusCode ?? 0, read, close: () => request.destroy() })
      })
      request.on('error', reject)
      request.end(body && JSON.stringify(body))
    })
  }

  workflow = (like: Sketch) => this.json('POST', '/v1/workflows', sketch(like))
  start = async (workflowId: string, inputs: JsonObject = {}): Promise<string> =>
    (await this.json('POST', '/v1/runs', { workflowId, inputs })).runId
  statusOf = async (runId: string): Promise<string> => (await this.json('GET', `/v1/runs/${runId}`)).status
  stream = (runId: string, after?: number) =>
    this.open(`/v1/runs/${runId}/events?streamMode=debug`, {
      headers: after === undefined ? {} : { 'last-event-id': String(after) },
    })
  cancel = (runId: string) => this.ask('POST', `/v1/runs/${runId}/cancel`, {})
}

const textOf = (response: http.IncomingMessage, pace?: 'slow') =>
  new Promise<string>(done => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', chunk => {
      text += chunk
      if (pace === undefined) return
      response.pause()
      setImmediate(() => response.resume())
    })
    response.on('close', () => done(text.replaceAll(':keepalive\n\n', '')))
    // Cut off within a chunk: what has come is all there is.
    response.on('error', () => undefined)
  })

/** Stands still until it is stopped. */
const held: Performer = {
  perform: ({ signal }) =>
    new Promise(resolve => {
      const stopped = () => resolve({ ok: false, code: 'stopped', message: 'stopped', retryable: false })
      signal.addEventListener('abort', stopped, { once: true })
    }),
}

async function startedHost() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-exhaustion-'))
  closing.push(() => fs.rmSync(folder, { recursive: true }))
  const port = await freePort()
  const quotas = Object.fromEntries(Object.entries(QUOTAS).map(([name, limit]) => [`quotas.${name}`, String(limit)]))
  const settings = { port: String(port), data: folder, 'log.level': 'silent', conformance: 'true', ...quotas }
  const config = loadConfig(settings, { ASSAY_API_KEY: OPERATOR }, folder)
  let store: Store | undefined
  const wrapStore = (opened: Store) => {
    store = opened
    return opened
  }
  const host = await createHost(config, { wrapStore, performers: new Map([['conformance.side-effect', held]]) })
  closing.push(() => host.stop())
  await host.start()
  const operator = new Tenant(port, OPERATOR)
  const scopes = ['runs:create', 'runs:read', 'runs:cancel', 'workflows:write', 'manifest:read']
  const tenant = async (name: string) =>
    new Tenant(port, (await operator.json('POST', '/v1/keys', { tenant: name, scopes })).key)
  return { host, store: store!, mallory: await tenant('mallory'), bob: await tenant('bob') }
}

const expression = (source: string) => ({ type: 'expression', expression: source }) as const
const loop = (id: string, rounds: number, more: Sketch['nodes'] = {}): Sketch => ({
  id,
  nodes: {
    loop: { type: 'core.loop', config: { maxIterations: rounds } },
    body: { type: 'core.setVariable', config: { name: 'x' }, inputs: { value: expression('inputs.text') } },
    ...more,
  },
  edges: [
    'loop.body > body',
    'pause' in more ? 'body > pause' : 'body > loop',
    ...('pause' in more ? ['pause > loop'] : []),
  ],
})
const noop: Sketch = { id: 'noop', nodes: { a: 'core.noop' } }
const wordy = loop('wordy', 30)
const ticking = loop('ticking', 100_000, { pause: { type: 'core.delay', config: { delayMs: 4 } } })
const holding: Sketch = { id: 'holding', nodes: { a: 'core.conformance.side-effect' } }
/** Each pattern is one of its own: what has held up a worker once is not begun again. */
const evil = (i: number): Sketch => ({
  ...noop,
  id: `evil-${i}`,
  configurableSchema: {
    type: 'object',
    properties: { t: { type: 'string', pattern: `^(a+)+${'b'.repeat(i + 1)}$` } },
  },
})

/** A gate that searches what a run brings for a pattern that takes long. */
const searching = {
  gate_id: 'searching',
  name: 'Searching',
  position: { workflow_id: 'searched', phase_id: 'a', placement: 'workflow_exit' },
  intent_refs: ['true'],
  evaluation_criteria: [
    {
      dimension: 'form',
      scale: { min: 0, max: 1, type: 'integer' },
      pass_threshold: 1,
      probes: [500, 501, 502].map(n => ({ type: 'regex', path: '/variables/x', pattern: `[ab]*a[ab]{${n}}[yz]$` })),
    },
  ],
  verifier_requirements: {},
  gate_behaviour: { on_fail: 'reject', max_attempts: 1 },
  exit_values: ['variables.x'],
}
const intent = { intent_id: 'true', type: 'operational', title: 'True', statement: 'It is what it should be.' }
const searched: Sketch = {
  id: 'searched',
  nodes: { a: { type: 'core.setVariable', config: { name: 'x' }, inputs: { value: expression('inputs.text') } } },
  variables: [{ name: 'x', type: 'string' }],
}

/** `work` for each of so many, a few at a time. */
async function each(times: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const one = async () => {
    while (next < times) await work(next++)
  }
  await Promise.all([one(), one(), one(), one()])
}

/** What the host has at hand are as many small runs, all alike. */
const fillWithNoops = (tenant: Tenant) => each(KEPT, () => tenant.start('noop'))

/** The most of everything that was in use, until it is stopped. */
function watch(host: Host) {
  let isOver = false
  const peak: { [name: string]: number } = {}
  const note = (load: object, before = '') => {
    for (const [name, value] of Object.entries(load))
      if (typeof value === 'number') peak[before + name] = Math.max(peak[before + name] ?? 0, value)
      else note(value, `${before}${name}.`)
  }
  const watching = (async () => {
    while (!isOver) {
      note(await host.load())
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  })()
  return async () => {
    isOver = true
    await watching
    return peak
  }
}

/** The stream of a run as its log says it must be: built from the rows, by nothing that streams. */
async function framesOfLog(store: Store, runId: string): Promise<string> {
  const events = await store.readEvents(runId, 0)
  const frame = (event: (typeof events)[number]) =>
    `id: ${event.sequence}\nevent: ${event.type}\ndata: ${renderEvent(runId, event, { engineVersion: '6' })}\n\n`
  return events.map(frame).join('')
}

const idsIn = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

/** Not by `toBe`, which would print megabytes. */
function expectLog(text: string, log: string): void {
  expect(idsIn(text)).toEqual(idsIn(log))
  expect(text === log).toBe(true)
}

const usedBy = async (tenant: Tenant) => (await tenant.json('GET', '/v1/quotas')).used

const quotaOf = ({ status, text }: Answer): string | undefined =>
  status === 429 ? JSON.parse(text).details?.quota : undefined

/** Everything one tenant can exhaust, at once. Says what it was refused, and how to let go of it all. */
async function exhaust(mallory: Tenant) {
  const refused: { [quota: string]: number } = {}
  const count = (answer: Answer) => {
    const quota = quotaOf(answer)
    if (quota !== undefined) refused[quota] = (refused[quota] ?? 0) + 1
    return quota
  }
  // Runs that say much, at once: turns of the event loop, and what is kept at hand.
  const long = await Promise.all([1, 2, 3, 4].map(() => mallory.start('wordy', { text: 'm'.repeat(60_000) })))
  await each(LARGE, () => mallory.start('noop', { text: 'm'.repeat(900_000) }))
  const searches = [1, 2].map(() => mallory.start('searched', { text: 'ab'.repeat(10_000) }))
  for (const runId of [...long, ...(await Promise.all(searches))])
    await until('long runs to end', async () => !['pending', 'running'].includes(await mallory.statusOf(runId)))

  // Streams of a run that goes on: half are read slowly, half not at all.
  const endless = await mallory.start('ticking', { text: 'm'.repeat(4_000) })
  const streams: Open[] = []
  for (let i = 0; i < QUOTAS.streams; i += 1) streams.push(await mallory.stream(endless))
  const slowly = streams.slice(QUOTAS.streams / 2).map(stream => stream.read('slow'))
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
  const denied = await mallory.stream(endless)
  count({ status: denied.status, text: await denied.read() })
  // Unfinished runs, and their effects.
  for (let isFull = false; !isFull; ) {
    const answer = await mallory.ask('POST', '/v1/runs', { workflowId: 'holding' })
    isFull = count(answer) === 'activeRuns'
    if (!isFull) expect(answer.status).toBe(201)
  }
  // Workers, and requests that wait for them.
  for (let wave = 0; wave < WAVES; wave += 1) {
    const configurable = { t: 'a'.repeat(40) }
    const asked = Array.from({ length: ASKED }, (_, i) =>
      mallory.ask('POST', '/v1/runs', { workflowId: `evil-${wave * ASKED + i}`, configurable }),
    )
    for (const answer of await Promise.all(asked)) count(answer)
  }
  const letGo = async () => {
    for (const stream of streams) stream.close()
    await Promise.all(slowly)
    const { runs } = await mallory.json('GET', '/v1/runs?limit=100&status=running')
    for (const { runId } of runs) await mallory.cancel(runId)
  }
  return { refused, letGo }
}

test('Q1, Q2, Q3, Q7: what one tenant has exhausted is all given back, to the last count, and no stream of another has a gap', async () => {
  const { host, store, mallory, bob } = await startedHost()
  for (const like of [noop, wordy, ticking]) await bob.workflow(like)
  for (const like of [noop, wordy, ticking, holding, searched]) await mallory.workflow(like)
  await each(WAVES * ASKED, i => mallory.workflow(evil(i)))
  await mallory.json('POST', '/v1/host/assay/intents', intent)
  await mallory.json('POST', '/v1/host/assay/gates', searching)
  await fillWithNoops(bob)
  await until('all connections to be closed', async () => (await host.load()).sockets === 0)
  const idle: HostLoad = await host.load()
  expect(idle).toMatchObject({ requests: 0, streams: 0, followers: 0, turns: 0, runs: { kept: KEPT } })

  const peakOf = watch(host)
  const history = await bob.start('wordy', { text: 'b'.repeat(3_000) })
  await until('a history', async () => (await bob.statusOf(history)) === 'completed')
  const log = await framesOfLog(store, history)
  const middle = Math.floor(idsIn(log).length / 2)
  const live = await bob.start('ticking', { text: 'b'.repeat(200) })
  const following = (await bob.stream(live)).read()
  let isOver = false
  let read = 0
  const reading = async () => {
    while (!isOver) {
      expectLog(await bob.stream(history).then(stream => stream.read()), log)
      expectLog(
        await bob.stream(history, middle).then(stream => stream.read()),
        log.slice(log.indexOf(`id: ${middle + 1}\n`)),
      )
      read += 1
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  const attacking = exhaust(mallory).finally(() => {
    isOver = true
  })
  const [{ refused, letGo }] = await Promise.all([attacking, reading()])
  await letGo()
  await bob.cancel(live)
  expectLog(await following, await framesOfLog(store, live))
  const peak = await peakOf()

  // Floors: all of it was used up, and the other tenant has read all the while.
  expect(refused).toEqual({ streams: 1, activeRuns: 1, requestsInFlight: expect.any(Number) })
  expect(refused.requestsInFlight).toBeGreaterThanOrEqual(WAVES)
  expect(read).toBeGreaterThan(5)
  expect(idsIn(await framesOfLog(store, live)).length).toBeGreaterThan(500)
  const floors = {
    requests: QUOTAS.requestsInFlight,
    streams: QUOTAS.streams + 1,
    followers: QUOTAS.streams + 1,
    sockets: QUOTAS.requestsInFlight + 1,
    turns: 2,
    'effects.running': QUOTAS.effectsAtOnce,
    'effects.waiting': 20,
    'schemas.running': 2,
    'schemas.waiting': 2,
    'probes.running': 1,
    'probes.waiting': 1,
    'runs.characters': idle.runs.characters + LARGE * 800_000,
  }
  const short = Object.entries(floors).filter(([name, least]) => (peak[name] ?? 0) < least)
  expect(short, JSON.stringify(peak)).toEqual([])
  expect(await usedBy(mallory)).toMatchObject({ activeRuns: 0, streams: 0 })
  expect(await usedBy(bob)).toMatchObject({ activeRuns: 0, streams: 0 })

  await fillWithNoops(bob)
  await expect.poll(() => host.load(), { timeout: 30_000 }).toEqual(idle)
}, 180_000)
