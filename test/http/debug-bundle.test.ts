import { existsSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../src/engine/ports/event-log.js'
import { asking, registerAsking } from './asking.js'
import { overriding } from './fake-engine.js'
import { node, startHttp, type TestHost, workflow } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
  await registerAsking(host)
  const loose = workflow(
    'loose',
    [node('a', 'core.identity', { inputs: { payload: { type: 'expression', expression: 'variables.text + 1' } } })],
    { variables: [{ name: 'text', type: 'string' }] },
  )
  await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: loose })
})
afterAll(() => host.close())

const { start, answer, log, cancel } = asking(() => host)
const bundle = (runId: string, query = '') => host.call('alice', { url: `/v1/runs/${runId}/debug-bundle${query}` })

const SCHEMA = '/work/shared/openwop/schemas/debug-bundle.schema.json'

describe('the debug bundle', () => {
  test('R-REST-14: has the snapshot and every event of the log, and is never cached', async () => {
    const runId = await start('noop', { tags: ['t'] })
    const reply = await bundle(runId)
    expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-store'])
    expect(reply.json).toMatchObject({
      bundleVersion: '1.0',
      host: { name: 'assay' },
      run: {
        runId,
        workflowId: 'noop',
        status: 'completed',
        tags: ['t'],
        nodeStates: { only: { status: 'completed' } },
      },
      metrics: { openwopCost: null, nodeCount: 1, eventCount: 4 },
      redactionApplied: true,
      redactionMode: 'mask',
    })
    const events = await log(runId)
    const shape = (list: { type: string; sequence: number; eventId: string }[]) =>
      list.map(({ type, sequence, eventId }) => [type, sequence, eventId])
    expect(shape(reply.json.events)).toEqual(shape(events))
    expect(reply.json).not.toHaveProperty('truncated')
  })

  test.skipIf(!existsSync(SCHEMA))('has the protocol’s shape', async () => {
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    const validate = ajv.compile(JSON.parse(readFileSync(SCHEMA, 'utf8')))
    for (const runId of [
      await start('noop', { inputs: { a: { b: 1 } } }),
      await start('approve'),
      await start('loose'),
    ])
      expect(validate((await bundle(runId)).json), JSON.stringify(validate.errors)).toBe(true)
  })

  test('R-REST-14: has nothing of what went in, came out, was asked or was answered', async () => {
    const secret = 'sk-CNRY0123456789abcdefghij'
    const plain = 'CNRY just a sentence somebody wrote'
    const inputs = { payload: secret, other: { deep: [plain] }, [secret]: 1 }
    const given = { inputs, tags: [secret, 'fine'], metadata: { note: plain }, configurable: { note: plain } }
    const done = await start('approve', given)
    await answer(done, { action: 'refine', refineFeedback: { scope: 'whole', text: plain } })
    const gone = await start('approve', given)
    await host.call('alice', {
      method: 'POST',
      url: `/v1/runs/${gone}/cancel`,
      payload: { reason: `leaked ${secret} and Bearer abcdefgh12345678 and ${plain}` },
    })
    const waiting = await start('approve', given)
    for (const runId of [done, gone, waiting]) {
      const { text, json } = await bundle(runId)
      expect(text).not.toContain('CNRY')
      expect(text).not.toContain('abcdefgh12345678')
      expect(text).not.toContain('draft')
      expect(json.events).toHaveLength((await log(runId)).length)
    }
    await cancel(waiting)
  })

  test('messages of failures are told without what they quote', async () => {
    const runId = await start('loose', { inputs: { text: 'CNRY-quoted-value' } })
    const { json, text } = await bundle(runId)
    expect(json.run.status).toBe('failed')
    expect(json.run.error.code).toMatch(/^expression_/)
    expect(text).not.toContain('CNRY')
  })

  test('maxEvents cuts, and says so', async () => {
    const runId = await start('noop')
    const { json } = await bundle(runId, '?maxEvents=2')
    expect(json.events.map((event: { sequence: number }) => event.sequence)).toEqual([0, 1])
    expect([json.metrics.eventCount, json.truncated, json.truncatedReason]).toEqual([
      2,
      true,
      'events_truncated_to_max_events',
    ])
    expect((await bundle(runId, '?maxEvents=4')).json).not.toHaveProperty('truncated')
    for (const bad of ['-1', 'x', '1.5']) expect((await bundle(runId, `?maxEvents=${bad}`)).status).toBe(400)
  })

  test('E70 R-REST-14: 100,000 events are at most 8 MB, and the answer says that it was cut', async () => {
    const events = Array.from({ length: 100_000 }, (_, sequence) => filler(sequence))
    const other = await startHttp({ wrap: overriding(() => ({ readEvents: async () => events })) })
    const created = await other.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } })
    const { text, json } = await other.call('alice', { url: `${created.json.statusUrl}/debug-bundle` })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8 * 1024 * 1024)
    expect(Buffer.byteLength(text)).toBeGreaterThan(7.9 * 1024 * 1024)
    expect([json.truncated, json.truncatedReason]).toEqual([true, 'events_truncated_to_size_cap'])
    expect(json.metrics.eventCount).toBe(json.events.length)
    expect(text).not.toContain('CNRY')
    await other.close()
  })
})

const filler = (sequence: number): StoredEvent => ({
  sequence,
  type: 'log.appended',
  nodeId: 'only',
  payload: JSON.stringify({ level: 'info', message: 'CNRY ü', nodeId: 'only' }),
  secret: null,
  cause: null,
  foreignCause: null,
  at: 0,
  input: null,
  salt: null,
  erased: null,
  hash: '',
})
