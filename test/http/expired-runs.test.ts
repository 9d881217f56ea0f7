import { createTrail } from '../../src/audit/trail.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Sealer } from '../../src/audit/sealer.js'
import { Purger } from '../../src/retention/purger.js'
import { ManualClock } from '../../src/testing/manual-clock.js'
import { signer } from '../e2e/audit/signer.js'
import { startHttp, type TestHost } from './harness.js'

const DAY = 86_400_000
const clock = new ManualClock()
let host: TestHost
let runId: string
beforeAll(async () => {
  host = await startHttp({ clock })
  runId = (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } })).json.runId
  await clock.advance(1_000)
  expect((await host.call('alice', { url: `/v1/runs/${runId}` })).json.status).toBe('completed')
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const { store } = host
  const sealer = new Sealer({ store, clock, log, key: signer.key })
  await sealer.seal()
  clock.skip(8 * DAY)
  const [row] = await store.listRuns({ tenant: null, limit: 1 })
  const rules = { days: 7, tenants: {}, workflows: {} }
  const purger = new Purger({
    store,
    trail: createTrail({ store, clock }),
    clock,
    log,
    rules,
    seal: () => sealer.seal(),
    hostId: () => row!.owner,
  })
  expect(await purger.purge()).toBe(1)
  await clock.advance(5_000)
})
afterAll(() => host.close())

const READS = ['', '/events', '/events/poll', '/debug-bundle', '/verifications', '/withheld', ':diff?against=RUN']

test('S17: that it was purged is in the audit trail of its tenant', async () => {
  const { records } = (await host.call('alice', { url: '/v1/host/assay/audit' })).json
  expect(records).toMatchObject([
    { principal: 'assay', credential: 'host', action: 'run.purge', object: `run:${runId}`, outcome: 'allowed' },
  ])
})

test.each(READS)(
  'R-REST-27: a purged run is 410 run_expired at GET /v1/runs/{id}%s, for its tenant alone',
  async path => {
    const url = `/v1/runs/${runId}${path.replace('RUN', runId)}`
    const reply = await host.call('alice', { url })
    expect([reply.status, reply.json.error]).toEqual([410, 'run_expired'])
    expect(reply.json.details).toMatchObject({ runId, endedAt: expect.any(String), purgedAt: expect.any(String) })
    const [foreign, unknown] = [
      await host.call('bob', { url }),
      await host.call('bob', { url: url.replaceAll(runId, `${runId.slice(0, -1)}0`) }),
    ]
    expect([foreign.status, foreign.text]).toEqual([unknown.status, unknown.text])
    expect(foreign.status).toBe(404)
  },
)

test.each(['replay', 'branch'])('R-FORK-8: a %s of a purged run is refused with the reason', async mode => {
  const payload = { mode, fromSeq: 0 }
  const reply = await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}:fork`, payload })
  expect([reply.status, reply.json.error]).toEqual([410, 'run_expired'])
  expect(reply.json.details).toMatchObject({ sourceRunId: runId, fromSeq: 0 })
  expect(reply.json.message).toContain('retention was over')
})

test('a purged run can be asked for nothing, and is in no list', async () => {
  const cancel = await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel` })
  expect([cancel.status, cancel.json.error]).toEqual([410, 'run_expired'])
  expect((await host.call('alice', { url: '/v1/runs' })).json.runs).toEqual([])
})
