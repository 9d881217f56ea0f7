import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/core/json.js'
import { gateDocument, intentDocument, knowledgeDocument } from '../../src/testing/standards.js'
import { type KeyName, node, startHttp, type TestHost, workflow } from './harness.js'
import '../support/seed.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
  const nodes = [node('write', 'core.agent', { config: { agentId: 'acme.writer' } })]
  await host.engine.putWorkflow(null, workflow('newsroom', nodes))
})
afterAll(() => host.close())

const at = (collection: string, id?: string) => `/v1/host/assay/${collection}${id === undefined ? '' : `/${id}`}`
const get = (key: KeyName, collection: string, id?: string) => host.call(key, { url: at(collection, id) })
const put = (key: KeyName, collection: string, payload: object) =>
  host.call(key, { method: 'POST', url: at(collection), payload })
const remove = (key: KeyName, collection: string, id: string) =>
  host.call(key, { method: 'DELETE', url: at(collection, id) })

describe('R-DWS-1: what work is held to, over HTTP', () => {
  beforeEach(async () => {
    for (const collection of ['gates', 'intents', 'knowledge'])
      for (const { id } of (await get('alice', collection)).json[collection]) await remove('alice', collection, id)
  })

  test('is registered, shown complete, listed and deleted', async () => {
    const intent = await put('alice', 'intents', intentDocument())
    expect([intent.status, intent.headers.location]).toEqual([201, at('intents', 'true-reports')])
    await put('alice', 'knowledge', knowledgeDocument())
    const gate = await put('alice', 'gates', gateDocument({ knowledge_refs: ['house-style'] }))
    expect([gate.status, gate.json]).toEqual([
      201,
      {
        id: 'report-gate',
        title: 'The report is right',
        version: expect.any(Number),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        shared: false,
        updatedAt: expect.any(String),
      },
    ])
    const shown = await get('alice', 'gates', 'report-gate')
    expect(shown.json).toMatchObject({
      ...gate.json,
      document: { gate_behaviour: { max_attempts: 2, on_fail: 'reject' } },
    })
    expect((await get('alice', 'gates')).json).toEqual({ gates: [gate.json] })
    expect((await get('alice', 'knowledge')).json.knowledge).toMatchObject([
      { id: 'house-style', title: 'House style' },
    ])
    expect([(await remove('alice', 'gates', 'report-gate')).status, (await get('alice', 'gates')).json]).toEqual([
      204,
      { gates: [] },
    ])
  })

  test('is 201 for every new version and 200 for the same again', async () => {
    const { version } = (await put('alice', 'intents', intentDocument({ intent_id: 'counted' }))).json
    const again = await put('alice', 'intents', intentDocument({ intent_id: 'counted', success_criteria: [] }))
    expect([again.status, again.json.version]).toEqual([200, version])
    const next = await put('alice', 'intents', intentDocument({ intent_id: 'counted', title: 'Another' }))
    expect([next.status, next.json.version]).toEqual([201, version + 1])
  })

  test('is refused with the field, and every problem', async () => {
    const reply = await put('alice', 'gates', gateDocument({ gate_behaviour: { max_attempts: 0 } }))
    expect([reply.status, reply.json]).toEqual([
      400,
      {
        error: 'validation_error',
        message: 'gate "report-gate": gate_behaviour.max_attempts must be a whole number from 1 to 20; got 0.',
        details: { problems: ['gate_behaviour.max_attempts must be a whole number from 1 to 20; got 0'] },
      },
    ])
    const probes = [{ type: 'command', command: ['id'] }]
    const [criterion] = gateDocument().evaluation_criteria as unknown as JsonObject[]
    const program = await put('alice', 'gates', gateDocument({ evaluation_criteria: [{ ...criterion, probes }] }))
    expect([program.status, program.json.message]).toEqual([
      400,
      expect.stringContaining('taken from the project folder only'),
    ])
  })

  test('what a gate refers to is 409 to delete', async () => {
    await put('alice', 'intents', intentDocument())
    await put('alice', 'gates', gateDocument())
    const reply = await remove('alice', 'intents', 'true-reports')
    expect([reply.status, reply.json.error, reply.json.details.gates]).toEqual([
      409,
      'standard_in_use',
      ['report-gate'],
    ])
  })

  test('another tenant’s, a test key’s and what never was are the same 404', async () => {
    await put('alice', 'intents', intentDocument())
    for (const key of ['bob', 'tester'] as const) {
      expect((await get(key, 'intents')).json).toEqual({ intents: [] })
      const [theirs, nobodys] = [await get(key, 'intents', 'true-reports'), await get(key, 'intents', 'never-was')]
      expect([theirs.status, theirs.text]).toEqual([404, nobodys.text])
      expect((await remove(key, 'intents', 'true-reports')).text).toBe(nobodys.text)
      // Nor does it help a gate of theirs.
      expect((await put(key, 'gates', gateDocument())).json.message).toContain('there is no intent "true-reports"')
    }
    expect((await get('alice', 'intents', 'true-reports')).status).toBe(200)
    expect((await get('alice', 'intents', '..%2F..')).status).toBe(404)
  })

  test('a repetition under one Idempotency-Key is answered as the first was', async () => {
    const request = () =>
      host.call('alice', {
        method: 'POST',
        url: at('intents'),
        payload: intentDocument(),
        headers: { 'idempotency-key': 'once' },
      })
    const first = await request()
    await remove('alice', 'intents', 'true-reports')
    const second = await request()
    expect([second.status, second.text]).toEqual([first.status, first.text])
    expect((await get('alice', 'intents')).json.intents).toEqual([])
  })

  test('anything else that is sent is 4xx, never 5xx', async () => {
    const whole = gateDocument({ knowledge_refs: [], multi_verifier: {} })
    await put('alice', 'intents', intentDocument())
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(whole), 'extra'),
        fc.jsonValue({ maxDepth: 4 }),
        async (field, value) => {
          const reply = await put('alice', 'gates', { ...whole, [field]: value })
          expect([200, 201, 400], reply.text).toContain(reply.status)
        },
      ),
      { numRuns: 100 },
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('gates', 'intents', 'knowledge'), fc.jsonValue(), async (collection, value) => {
        const payload = JSON.stringify(value)
        const headers = { 'content-type': 'application/json' }
        const reply = await host.call('alice', { method: 'POST', url: at(collection), payload, headers })
        expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
      }),
      { numRuns: 50 },
    )
    expect(host.lines.filter(line => line.level === 'error')).toEqual([])
  })
})
