import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { NO_TURNS, type TurnTaking } from '../../src/timing/turns.js'
import { asking } from './asking.js'
import { node, startHttp, type TestHost, workflow } from './harness.js'

const TURN_BYTES = 64 * 1024
const TEXT_BYTES = 20_000

type Read = { readonly runId: string; readonly events: number; readonly bytes: number }

let host: TestHost
/** What was read of logs since the test began. */
const reads: Read[] = []

const edge = (id: string, from: string, to: string, sourceOutput?: string) => ({
  id,
  sourceNodeId: from,
  targetNodeId: to,
  ...(sourceOutput ? { sourceOutput } : {}),
})

const wordy = workflow(
  'wordy',
  [
    node('loop', 'core.loop', { config: { maxIterations: 60 } }),
    node('body', 'core.setVariable', {
      config: { name: 'x' },
      inputs: { value: { type: 'expression', expression: 'inputs.text' } },
    }),
  ],
  { edges: [edge('e1', 'loop', 'body', 'body'), edge('e2', 'body', 'loop')] },
)

beforeAll(async () => {
  host = await startHttp()
  const { store } = host
  const readEvents = store.readEvents.bind(store)
  store.readEvents = async (...asked) => {
    const page = await readEvents(...asked)
    const bytes = page.reduce((sum, { payload, secret }) => sum + payload.length + (secret?.length ?? 0), 0)
    reads.push({ runId: asked[0], events: page.length, bytes })
    return page
  }
  const made = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: wordy })
  expect(made.status).toBe(201)
})
afterAll(() => host.close())
beforeEach(() => {
  reads.length = 0
})

const { log } = asking(() => host)

async function run(letter: string): Promise<string> {
  const payload = { workflowId: 'wordy', inputs: { text: letter.repeat(TEXT_BYTES) } }
  const { json } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload })
  await expect
    .poll(async () => (await host.call('alice', { url: `/v1/runs/${json.runId}` })).json.status, { timeout: 60_000 })
    .toBe('completed')
  reads.length = 0
  return json.runId
}

/** No read of a log is of more than a turn, however long the log is. */
function expectPages(least: number): void {
  expect(reads.length).toBeGreaterThan(least)
  for (const { events, bytes } of reads) if (events > 1) expect(bytes).toBeLessThanOrEqual(TURN_BYTES)
}

test('a debug bundle reads a long log in turns, and has all of it', async () => {
  const runId = await run('a')
  const { json } = await host.call('alice', { url: `/v1/runs/${runId}/debug-bundle` })
  expectPages(30)
  const events = await log(runId)
  expect(json.events.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
    events.map(({ sequence }: { sequence: number }) => sequence),
  )
})

test('a debug bundle reads no further than what it shows', async () => {
  const runId = await run('a')
  await host.call('alice', { url: `/v1/runs/${runId}/debug-bundle?maxEvents=3` })
  expect(reads.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(3 * TURN_BYTES)
})

test('two long logs are compared in turns, side by side', async () => {
  const [a, b] = [await run('a'), await run('a')]
  const same = await host.call('alice', { url: `/v1/runs/${a}:diff?against=${b}` })
  expect(same.json).toMatchObject({ divergedAtSeq: null, eventDiffs: [] })
  expectPages(60)
  // Neither is ahead of the other by more than a page.
  const whose = reads.map(({ runId }) => (runId === a ? 1 : -1))
  let ahead = 0
  for (const step of whose) {
    ahead += step
    expect(Math.abs(ahead)).toBeLessThanOrEqual(2)
  }
})

test('of logs that differ much as many differences are listed as fit, and the answer says so', async () => {
  const long = workflow(
    'long',
    [node('loop', 'core.loop', { config: { maxIterations: 12 } }), ...(wordy as { nodes: object[] }).nodes.slice(1)],
    { edges: [edge('e1', 'loop', 'body', 'body'), edge('e2', 'body', 'loop')] },
  )
  await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: long })
  const start = async (letter: string) => {
    const payload = { workflowId: 'long', inputs: { text: letter.repeat(900_000) } }
    const { json } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload })
    await expect
      .poll(async () => (await host.call('alice', { url: `/v1/runs/${json.runId}` })).json.status, { timeout: 60_000 })
      .toBe('completed')
    return json.runId
  }
  const [a, b] = [await start('a'), await start('b')]
  const { text, json } = await host.call('alice', { url: `/v1/runs/${a}:diff?against=${b}` })
  expect(json.truncated).toBe(true)
  expect(json.divergedAtSeq).toBe(0)
  expect(json.eventDiffs.length).toBeGreaterThan(1)
  expect(text.length).toBeLessThan(8 * 1024 * 1024 + 4 * 1_000_000)
})

test('a body of some length waits for its turn; a short one does not', async () => {
  const asked: string[] = []
  const turns: TurnTaking = { ...NO_TURNS, room: tenant => void asked.push(tenant) as undefined }
  const turned = await startHttp({ deps: { turns } })
  const send = (text: string) =>
    turned.call('alice', { method: 'POST', url: '/v1/workflows:validate', payload: { text } })
  await send('x'.repeat(1_000))
  expect(asked).toEqual([])
  await send('x'.repeat(100_000))
  expect(asked).toEqual(['acme'])
  await turned.close()
})
