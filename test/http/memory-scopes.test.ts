import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/testing/manual-clock.js'
import { sketch } from '../../src/testing/workflow.js'
import { startHttp, type TestHost } from './harness.js'

/** Where runs remember: what a request may say, and what nobody gets at by saying it. */

let host: TestHost
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock()
  host = await startHttp({ clock })
  const put = { type: 'core.memoryPut', config: { memoryRef: 'notes', memoryId: 'k', content: 'mine' } }
  const get = { type: 'core.memoryGet', config: { memoryRef: 'notes', memoryId: 'k' } }
  for (const [id, node] of Object.entries({ put, get }))
    await host.call('alice', { method: 'PUT', url: `/v1/workflows/${id}`, payload: sketch({ id, nodes: { n: node } }) })
})
afterEach(() => host.close())

async function run(workflowId: string, more: object = {}) {
  const { status, json } = await host.call('alice', {
    method: 'POST',
    url: '/v1/runs',
    payload: { workflowId, inputs: {}, ...more },
  })
  expect(status, JSON.stringify(json)).toBe(201)
  await clock.advance(3_000)
  const { events } = (await host.call('alice', { url: `/v1/runs/${json.runId}/events/poll` })).json
  const done = events.find(({ type }: { type: string }) => type === 'node.completed')
  return { runId: json.runId as string, scope: events[0].payload.memoryScope, found: done?.payload.outputs.found }
}

describe('the memory scope of a run', () => {
  test('R-MEM-3: is what the request says, else its scope, else its own; its first event tells it', async () => {
    expect((await run('put', { scopeId: 's', assay: { memoryScope: 'team' } })).scope).toBe('team')
    expect((await run('put', { scopeId: 's' })).scope).toBe('s')
    const alone = await run('put')
    expect(alone.scope).toBe(`run:${alone.runId}`)
    expect((await run('get', { assay: { memoryScope: 'team' } })).found).toBe(true)
    expect((await run('get', { scopeId: 's' })).found).toBe(true)
    expect((await run('get')).found).toBe(false)
  })

  test.each(['run:', 'fork:'])('R-MEM-2: nobody gets into one that begins with %s by its name', async prefix => {
    const { runId } = await run('put')
    const scope = `${prefix}${runId}`
    const refused = await host.call('alice', {
      method: 'POST',
      url: '/v1/runs',
      payload: { workflowId: 'get', inputs: {}, assay: { memoryScope: scope } },
    })
    expect(refused.status).toBe(400)
    expect(refused.json.message).toMatch(/memoryScope must have 1 to 256 characters, .* not begin with run: or fork:/)
    expect(await run('get', { scopeId: scope })).toMatchObject({ scope: `scope:${scope}`, found: false })
  })
})

describe('forks over HTTP', () => {
  const fork = (runId: string, payload: object) =>
    host.call('alice', { method: 'POST', url: `/v1/runs/${runId}:fork`, payload })

  test('a branch may remember another moment; a replay may not, and neither beyond its log', async () => {
    const { runId } = await run('get', { scopeId: 's' })
    expect((await fork(runId, { mode: 'branch', fromSeq: 1, assay: { memoryAsOf: 1 } })).status).toBe(201)
    const replay = await fork(runId, { mode: 'replay', assay: { memoryAsOf: 1 } })
    expect([replay.status, replay.json.details.field]).toEqual([400, 'body.assay.memoryAsOf'])
    const beyond = await fork(runId, { mode: 'branch', fromSeq: 1, assay: { memoryAsOf: 99 } })
    expect([beyond.status, beyond.json.error]).toEqual([422, 'invalid_from_seq'])
    expect((await fork(runId, { mode: 'branch', fromSeq: 1, assay: { memoryAsOf: 0 } })).status).toBe(400)
  })

  test.each(['branch', 'replay'])(
    'R-MEM-11: a %s for which memory is not kept any more is 422, with all three fields',
    async mode => {
      const { runId } = await run('get', { scopeId: 's' })
      await run('put', { scopeId: 's' })
      await run('put', { scopeId: 's' })
      expect(await host.store.collectJournal(clock.now() + 1, 10)).toBe(1)
      const refused = await fork(runId, { mode, fromSeq: 1 })
      expect(refused.status, refused.text).toBe(422)
      expect(refused.json).toMatchObject({
        error: 'replay_memory_snapshot_unavailable',
        details: { fromSeq: 1, sourceRunId: runId, reason: 'retention_expired' },
      })
    },
  )
})
