import { existsSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asking, registerAsking } from './asking.js'
import { startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
  await registerAsking(host)
})
afterAll(() => host.close())

const { start, answer, log, cancel } = asking(() => host)
const diff = (a: string, b: string) => host.call('alice', { url: `/v1/runs/${a}:diff?against=${b}` })

const SCHEMA = '/work/shared/openwop/schemas/run-diff-response.schema.json'
const isProtocolShape = (value: unknown): boolean =>
  !existsSync(SCHEMA) || new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(SCHEMA, 'utf8')))(value)

describe('two runs compared', () => {
  test('with itself a run has no differences', async () => {
    const runId = await start('noop')
    const { json } = await diff(runId, runId)
    expect(json).toEqual({ a: runId, b: runId, divergedAtSeq: null, eventDiffs: [], stateDiff: {} })
    expect(isProtocolShape(json)).toBe(true)
  })

  test('each difference has the events as readers see them, the first is where they part', async () => {
    const [a, b] = [await start('approve'), await start('approve')]
    await answer(a, { action: 'accept' })
    await answer(b, { action: 'reject' })
    const { json } = await diff(a, b)
    expect(isProtocolShape(json)).toBe(true)
    expect(json.divergedAtSeq).toBe(json.eventDiffs[0].seq)
    expect(json.eventDiffs[0]).toMatchObject({
      op: 'changed',
      aEvent: { type: 'interrupt.resolved', runId: a },
      bEvent: { type: 'interrupt.resolved', runId: b },
    })
    expect(json.eventDiffs[0].aEvent).toEqual((await log(a))[json.divergedAtSeq])
    expect(json.stateDiff).toEqual({ status: { a: 'completed', b: 'failed' } })
    expect(json).not.toHaveProperty('truncated')
  })

  test('variables are compared by name; what is masked stays masked', async () => {
    const [a, b] = [
      await start('secretive', { inputs: { token: 'CNRY-1' } }),
      await start('secretive', { inputs: { token: 'CNRY-2' } }),
    ]
    const reply = await diff(a, b)
    expect(reply.json.divergedAtSeq).toBe(null)
    expect(reply.text).not.toContain('CNRY')
    const [c, d] = [await start('noop', { inputs: { greeting: 'hi' } }), await start('noop')]
    expect((await diff(c, d)).json.stateDiff).toEqual({ variables: { greeting: { a: 'hi', b: 'hello' } } })
  })

  test('R-REST-13: a run in flight is compared as far as it has come, and the answer says so', async () => {
    const [a, b] = [await start('approve'), await start('approve')]
    await answer(b, { action: 'accept' })
    const { json } = await diff(a, b)
    expect([json.divergedAtSeq, json.truncated]).toEqual([null, true])
    await cancel(a)
  })

  test('without `against` it is 400; with an unknown, foreign or impossible one 404', async () => {
    const runId = await start('noop')
    const foreign = await host.call('bob', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } })
    expect((await host.call('alice', { url: `/v1/runs/${runId}:diff` })).status).toBe(400)
    for (const other of ['never', foreign.json.runId, '..%2f', '__proto__', '%00'])
      expect([other, (await diff(runId, other)).status]).toEqual([other, 404])
    expect((await diff(foreign.json.runId, runId)).status).toBe(404)
  })
})
