import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock, settled } from '../../src/testing/manual-clock.js'
import { type KeyName, node, startHttp, type TestHost, workflow } from './harness.js'

const PATH = '/v1/host/assay/commitments'
const CANARY = 'canary-7c1d'

let host: TestHost
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock()
  host = await startHttp({ clock })
  const put = { method: 'PUT', url: '/v1/workflows/remind', payload: workflow('remind', [node('only', 'core.noop')]) }
  expect((await host.call('alice', put as never)).status).toBe(201)
})
afterEach(() => host.close())

const inAnHour = () => new Date(clock.now() + 3_600_000).toISOString()
const body = (more: object = {}, commitment: object = {}) => ({
  scope: 'team',
  memoryRef: 'promises',
  memoryId: 'call',
  content: CANARY,
  commitment: { at: inAnHour(), run: { workflowId: 'remind' }, ...commitment },
  ...more,
})
const make = async (payload: object, headers: Record<string, string> = {}, key: KeyName = 'alice') => {
  const reply = await host.call(key, { method: 'POST', url: PATH, payload, headers } as never)
  await settled()
  return reply
}

describe('commitments over HTTP', () => {
  test('R-ARM-4: are written with an entry of memory, fire once for their tenant, and are shown without a word of it', async () => {
    const made = await make(body())
    expect([made.status, made.json]).toMatchObject([201, { state: 'waiting', condition: 'time', memoryId: 'call' }])
    const { commitmentId } = made.json
    const entry = await host.call('alice', { url: '/v1/host/assay/memory/entries/call?ref=promises&scope=team' })
    expect(entry.json.content).toBe(CANARY)
    await clock.advance(3_600_000)
    await settled()
    const shown = await host.call('alice', { url: `${PATH}/${commitmentId}` })
    expect(shown.json).toMatchObject({ state: 'fired', held: null })
    expect(JSON.stringify(shown.json)).not.toContain(CANARY)
    const run = await host.call('alice', { url: `/v1/runs/${shown.json.enqueuedRunId}` })
    expect([run.status, run.json.status]).toEqual([200, 'completed'])
    const log = JSON.stringify((await host.store.readEvents(commitmentId, 0)).map(({ payload }) => payload))
    expect(log).not.toContain(CANARY)
    expect((await host.call('bob', { url: `${PATH}/${commitmentId}` })).status).toBe(404)
    expect((await host.call('alice', { url: `${PATH}?open=true` })).json.commitments).toEqual([])
  })

  test('are made once under one Idempotency-Key, and may be called off', async () => {
    const payload = body()
    const one = await make(payload, { 'idempotency-key': 'k1' })
    const two = await make(payload, { 'idempotency-key': 'k1' })
    expect([two.status, two.json.commitmentId]).toEqual([201, one.json.commitmentId])
    const cancel = { method: 'POST', url: `${PATH}/${one.json.commitmentId}:cancel` }
    expect((await host.call('alice', cancel as never)).json).toMatchObject({ state: 'dropped', dropped: 'cancelled' })
    const again = await host.call('alice', cancel as never)
    expect([again.status, again.json.error]).toEqual([409, 'commitment_over'])
    const { json } = await host.call('alice', { url: `${PATH}?limit=1` })
    expect([json.commitments.length, json.nextCursor]).toEqual([1, null])
  })

  test('of which something is wrong are refused, and nothing is written', async () => {
    const when = { intervalSeconds: 60, probes: [{ type: 'http', url: 'https://example.com' }] }
    const far = new Date(clock.now() + 400 * 86_400_000).toISOString()
    for (const [payload, error] of [
      [body({}, { at: undefined }), 'validation_error'],
      [body({}, { when }), 'validation_error'],
      [body({}, { at: undefined, when: { ...when, intervalSeconds: 1 } }), 'validation_error'],
      [body({}, { at: 'tomorrow' }), 'validation_error'],
      [body({}, { at: far }), 'schedule_horizon_exceeded'],
      [body({}, { run: { workflowId: 'nobody' } }), 'unknown_workflow'],
      [body({}, { run: {} }), 'validation_error'],
      [body({ scope: 'run:1' }), 'validation_error'],
      [body({ satisfied: true }), 'validation_error'],
    ] as const) {
      const refused = await make(payload)
      expect([refused.status < 500, refused.json.error]).toEqual([true, error])
    }
    expect((await host.call('alice', { url: PATH })).json.commitments).toEqual([])
    expect((await host.store.heads('acme', 'team')).memory).toBe(0)
    expect((await make(body({}, { at: undefined, when }))).status).toBe(201)
  })

  test('R-CAP-1: are advertised where there is memory', async () => {
    const { json } = await host.call('alice', { url: '/.well-known/openwop' })
    expect(json.agents.commitments).toEqual({ supported: true, fireConditions: ['time', 'predicate'] })
  })
})
