import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { compileCheck } from '../../src/http/check.js'
import { agentsDouble } from '../../src/testing/agents.js'
import { sketch } from '../../src/testing/workflow.js'
import { RetryAnswer } from '../../src/wire/trail/retry.js'
import { until } from '../support/host-process.js'
import { secretOf, startHttp, type TestHost } from './harness.js'
import { listen } from './sockets.js'

/** What has failed is tried again, over the real engine. */

const AGENT = 'local.test.agent'
const agent = { type: 'core.agent', config: { agentId: AGENT } }
const work = (settings: object) =>
  sketch({
    id: `work-${Object.keys(settings).length}`,
    nodes: { first: 'core.noop', a: { ...agent, settings } },
    edges: ['first > a'],
  } as never)

let isBroken = true
let host: TestHost
let url: string
beforeAll(async () => {
  const agents = agentsDouble({
    agents: { [AGENT]: {} },
    think: () =>
      isBroken
        ? { ok: false, code: 'model_unavailable', message: 'the model is away', retryable: true }
        : { said: { kind: 'answered', result: 'done' } },
  })
  host = await startHttp({ agents })
  for (const payload of [work({}), work({ maxRetries: 3, retryDelayMs: 3_600_000 })])
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
  url = `http://127.0.0.1:${await listen(host.app)}`
})
afterAll(() => host.close())

const get = async (at: string) => (await host.call('alice', { url: at })).json
const retry = (runId: string, payload: object = {}, headers: object = {}) =>
  host.call('alice', { method: 'POST', url: `/v1/runs/${runId}:retry`, payload, headers: { ...headers } })

async function begun(workflowId: string, rests: (run: { status: string; nodes?: unknown }) => boolean) {
  isBroken = true
  const { json } = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId, inputs: {} } })
  await until('the run to come to rest', async () => rests(await get(`/v1/runs/${json.runId}`)))
  return json.runId as string
}
const failed = () => begun('work-0', ({ status }) => status === 'failed')
const eventsOf = async (runId: string): Promise<{ type: string; nodeId?: string; sequence: number }[]> =>
  (await get(`/v1/runs/${runId}/events/poll`)).events
const completes = (runId: string) =>
  until('the run to complete', async () => (await get(`/v1/runs/${runId}`)).status === 'completed')
const isAnswer = compileCheck(RetryAnswer, 'body')

describe('POST /v1/runs/{runId}:retry', () => {
  test('R-FORK-5: a failed run is gone on with from before its failed node; what was done stays done', async () => {
    const source = await failed()
    const started = (await eventsOf(source)).find(({ type, nodeId }) => type === 'node.started' && nodeId === 'a')!
    isBroken = false
    const { status, json } = await retry(source)
    expect([status, isAnswer(json)]).toEqual([201, undefined])
    expect(json).toMatchObject({ sourceRunId: source, nodeId: 'a', fromSeq: started.sequence })
    await completes(json.runId)
    expect((await get(`/v1/runs/${json.runId}`)).forkedFrom).toMatchObject({ runId: source, mode: 'branch' })
    expect((await get(`/v1/runs/${source}`)).status).toBe('failed')
  })

  test('R-IDEM-1: a repeated request makes one run', async () => {
    const source = await failed()
    isBroken = false
    const headers = { 'idempotency-key': 'once' }
    const [one, two] = [await retry(source, {}, headers), await retry(source, {}, headers)]
    expect([one.status, two.text]).toEqual([201, one.text])
  })

  test('a node that backs off is tried now', async () => {
    const runId = await begun('work-2', () => true)
    await until('the node to back off', async () => (await eventsOf(runId)).some(({ type }) => type === 'node.retried'))
    isBroken = false
    const { status, json } = await retry(runId, { nodeId: 'a' })
    expect([status, json.runId, json.nodeId]).toEqual([200, runId, 'a'])
    await completes(runId)
    const again = await retry(runId)
    expect([again.status, again.json.error]).toEqual([409, 'nothing_to_retry'])
    expect(again.json.message).toMatch(/the run is completed, not failed/)
  })

  test('a node that has not failed is refused with those that have; another tenant’s run is not there', async () => {
    const source = await failed()
    const { status, json } = await retry(source, { nodeId: 'first' })
    expect([status, json.error]).toEqual([409, 'nothing_to_retry'])
    expect(json.message).toMatch(/node "first" of the run has not failed; those that have are a; branch off/)
    const foreign = await host.call('bob', { method: 'POST', url: `/v1/runs/${source}:retry`, payload: {} })
    expect(foreign.status).toBe(404)
    const reader = await host.call('reader', { method: 'POST', url: `/v1/runs/${source}:retry`, payload: {} })
    expect([reader.status, reader.json.details.scopeRequired]).toEqual([403, 'runs:create'])
  })

  test('assay runs retry says what goes on from where', async () => {
    const source = await failed()
    isBroken = false
    const said: string[] = []
    const notes: string[] = []
    const terminal = {
      out: (line: string) => void said.push(line),
      note: (line: string) => void notes.push(line),
      draw: () => undefined,
      isLive: false,
      columns: 120,
      readStdin: async () => '',
    }
    const code = await main(['--url', url, '--key', secretOf('alice'), 'runs', 'retry', source, 'a'], terminal)
    expect(code).toBe(0)
    expect(notes.join('\n')).toContain(`goes on from before node a of ${source}`)
    await completes(said[0]!)
  })
})
