import http from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noQuotas } from '../../src/core/quotas.js'
import { renderEvent } from '../../src/wire/render.js'
import { type KeyName, node, secretOf, startHttp, type TestHost, workflow } from './harness.js'
import { listen } from './sockets.js'

const STREAMS = 6
const STALL_MS = 3_000

/** About eleven megabytes of log: more than sockets keep for a reader that takes nothing. */
const wordy = workflow(
  'wordy',
  [
    node('loop', 'core.loop', { config: { maxIterations: 60 } }),
    node('body', 'core.setVariable', {
      config: { name: 'x' },
      inputs: { value: { type: 'expression', expression: 'inputs.text' } },
    }),
  ],
  {
    edges: [
      { id: 'e1', sourceNodeId: 'loop', targetNodeId: 'body', sourceOutput: 'body' },
      { id: 'e2', sourceNodeId: 'body', targetNodeId: 'loop' },
    ],
  },
)

let host: TestHost
let port: number
beforeAll(async () => {
  const quotas = (tenant: string) => ({ ...noQuotas(tenant), streams: STREAMS })
  const limits = { maxStreamBufferBytes: 256 * 1024 }
  host = await startHttp({ config: { quotas, limits, timeouts: { streamStallMs: STALL_MS } } })
  for (const key of ['alice', 'bob'] as const)
    expect((await host.call(key, { method: 'POST', url: '/v1/workflows', payload: wordy })).status).toBe(201)
  port = await listen(host.app)
})
afterAll(() => host.close())

async function run(key: KeyName): Promise<string> {
  const payload = { workflowId: 'wordy', inputs: { text: `${key} `.repeat(15_000) } }
  const { json } = await host.call(key, { method: 'POST', url: '/v1/runs', payload })
  await expect
    .poll(async () => (await host.call(key, { url: `/v1/runs/${json.runId}` })).json.status, { timeout: 60_000 })
    .toBe('completed')
  return json.runId
}

/** The stream of a run as its log says it must be: built from the rows, by nothing that streams. */
async function framesOfLog(runId: string): Promise<string[]> {
  const events = await host.store.readEvents(runId, 0)
  return events.map(
    event =>
      `id: ${event.sequence}\nevent: ${event.type}\ndata: ${renderEvent(runId, event, { engineVersion: '1' })}\n\n`,
  )
}

type Reader = {
  readonly status: number
  /** Takes what there is, as it comes or a little at a time, until the host ends it or cuts it off. */
  read(pace?: 'slow'): Promise<string>
}

/** A stream that nothing is taken from until it is read. */
function connect(key: KeyName, runId: string, after?: number): Promise<Reader> {
  const headers = {
    authorization: `Bearer ${secretOf(key)}`,
    ...(after === undefined ? {} : { 'last-event-id': String(after) }),
  }
  const path = `/v1/runs/${runId}/events?streamMode=debug`
  return new Promise((resolve, reject) => {
    const request = http.get({ port, path, headers, host: '127.0.0.1', agent: false }, response => {
      const read = (pace?: 'slow') =>
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
      resolve({ status: response.statusCode ?? 0, read })
    })
    request.on('error', reject)
  })
}

const whole = (text: string): string => text.slice(0, text.lastIndexOf('\n\n') + 2)
const idsIn = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
const streamsOf = async (key: KeyName): Promise<number> =>
  (await host.call(key, { url: '/v1/quotas' })).json.used.streams

/** Not by `toBe`, which would print megabytes. */
function expectLog(text: string, frames: readonly string[]): void {
  expect(idsIn(text)).toEqual(frames.map((_, i) => i))
  expect(text === frames.join('')).toBe(true)
}

test('Q2: after one tenant has had all its streams and bytes, every stream has told its log: in order, no gap, nothing twice', async () => {
  const [hers, his] = [await run('alice'), await run('bob')]
  const [herLog, hisLog] = [await framesOfLog(hers), await framesOfLog(his)]
  expect(herLog.join('').length).toBeGreaterThan(8_000_000)

  const attackers: Reader[] = []
  for (let i = 0; i < STREAMS; i += 1) attackers.push(await connect('alice', hers))
  expect(attackers.map(({ status }) => status)).toEqual(Array(STREAMS).fill(200))
  // Exhausted: not one more.
  expect((await connect('alice', hers)).status).toBe(429)
  const [slow, stalled] = [attackers.slice(0, 3), attackers.slice(3)]

  // Meanwhile the other tenant reads all of its log, from the beginning and from the middle.
  const middle = Math.floor(hisLog.length / 2)
  const others = [await connect('bob', his), await connect('bob', his), await connect('bob', his, middle)]
  const slowTexts = Promise.all(slow.map(reader => reader.read('slow')))
  const [first, second, third] = await Promise.all(others.map(reader => reader.read()))
  expectLog(first!, hisLog)
  expectLog(second!, hisLog)
  expect(third === hisLog.slice(middle + 1).join('')).toBe(true)

  // Who reads slowly gets everything; who takes nothing is cut off, and its place is free again.
  for (const text of await slowTexts) expectLog(text, herLog)
  await expect.poll(() => streamsOf('alice'), { timeout: 60_000 }).toBe(0)
  let cut = 0
  for (const reader of stalled) {
    const before = whole(await reader.read())
    const has = idsIn(before)
    if (has.length < herLog.length) cut += 1
    const rest = await connect('alice', hers, has.at(-1) ?? -1).then(again => again.read())
    expectLog(before + rest, herLog)
  }
  expect(cut).toBe(stalled.length)
  expect([await streamsOf('alice'), await streamsOf('bob')]).toEqual([0, 0])
})
