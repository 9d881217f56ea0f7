import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entryOf } from '../../src/calibration/testing/entry.js'
import { createVerdicts } from '../../src/calibration/verdicts.js'
import type { VerdictQuery } from '../../src/engine/ports/run-index.js'
import { compileCheck } from '../../src/http/check.js'
import { boundGate } from '../../src/testing/gates.js'
import { gateDocument, intentDocument } from '../../src/testing/standards.js'
import { recordsDouble } from '../../src/testing/verification.js'
import { CalibrationAnswer, ListVerdictsAnswer } from '../../src/wire/calibration.js'
import { type KeyName, node, startHttp, type TestHost, workflow } from './harness.js'

/** The gate is real; what it has said is written by hand, and kept for acme alone. */

const GOOD = [
  { agentId: 'a', scores: { correctness: 9 }, confidence: 0.9 },
  { agentId: 'b', scores: { correctness: 8 } },
]
const BAD = [
  { agentId: 'a', scores: { correctness: 2 }, blocking: ['correctness'] },
  { agentId: 'b', scores: { correctness: 1 } },
]
const shared = entryOf({ runId: 'run-2', votes: GOOD })
/** In the order of time. The second was overruled by a person. */
const SAID = [
  entryOf({ runId: 'run-1', votes: BAD }),
  entryOf({ runId: 'run-1', votes: BAD, by: 'ada', verdict: 'pass' }),
  { ...shared, record: { ...shared.record, sharedModel: true as const } },
  entryOf({ runId: 'run-3', votes: GOOD, result: 'other' }),
].map((entry, i) => ({ ...entry, verified: { ...entry.verified!, at: Date.parse(`2026-01-0${i + 1}T00:00:00Z`) } }))

const asked: VerdictQuery[] = []
const verdicts = createVerdicts({
  store: {
    async listVerdicts(query) {
      asked.push(query)
      const { tenant, gateId = '', since = 0, limit } = query
      return SAID.map(({ runId, verified: { verdict, at } }, sequence) => ({ runId, sequence, gateId, verdict, at }))
        .filter(({ at }) => tenant === 'acme' && gateId === 'facts' && at >= since)
        .reverse()
        .slice(0, limit)
    },
  },
  standards: { gate: async (_tenant, gateId) => boundGate({ gate_id: gateId }) },
  records: recordsDouble({ badStopped: { n: 40, lower: 0.91 }, goodPassed: { n: 36, lower: 0.95 }, judges: {} }),
  readRecord: async (_runId, sequence) => SAID[sequence],
})

let host: TestHost
beforeAll(async () => {
  host = await startHttp({ deps: { verdicts } })
  const nodes = [node('write', 'core.agent', { config: { agentId: 'acme.writer' } })]
  await host.engine.putWorkflow(null, workflow('newsroom', nodes))
  const put = (collection: string, payload: object) =>
    host.call('alice', { method: 'POST', url: `/v1/host/assay/${collection}`, payload })
  expect((await put('intents', intentDocument())).status).toBe(201)
  const licensed = { auto_commit: 'licensed', licence: { min_n: 35, lower_bound: 0.9 } }
  expect((await put('gates', gateDocument({ gate_id: 'facts', gate_behaviour: licensed }))).status).toBe(201)
  expect((await put('gates', gateDocument({ gate_id: 'new' }))).status).toBe(201)
})
afterAll(() => host.close())

const get = (key: KeyName, gateId: string, what: string, query = '') =>
  host.call(key, { url: `/v1/host/assay/gates/${gateId}/${what}${query}` })

describe('R-DWS-26: how good the judges of a gate have been', () => {
  test('per gate, verifier and dimension, with intervals, and against the licence it demands', async () => {
    const { status, json, headers } = await get('alice', 'facts', 'calibration')
    expect([status, headers['cache-control']]).toEqual([200, 'private, no-store'])
    expect(compileCheck(CalibrationAnswer, 'answer')(json)).toBeUndefined()
    expect(json).toMatchObject({
      gateId: 'facts',
      attempts: 3,
      labels: { good: 1, bad: 0, by: { 'human-override': 1 } },
      standing: { badStopped: { n: 40, lower: 0.91 }, goodPassed: { n: 36, lower: 0.95 } },
      licence: { required: true, bad_stopped: { min_n: 35 }, good_passed: { lower_bound: 0.9 }, held: true },
      unseen: ['pass'],
      failed: { right: { value: 0, n: 1 }, of: 'all' },
      sharedModel: 1,
      gate: { judge: 'host:gate:facts' },
      verifiers: [{ judge: 'a', dimensions: [{ dimension: 'correctness' }] }, { judge: 'b' }],
    })
    // No words of anybody's, and nothing that was judged.
    expect(JSON.stringify(json)).not.toContain('words')
  })

  test('since a time, and by no more than so many verdicts', async () => {
    const late = await get('alice', 'facts', 'calibration', '?since=2026-01-03T00:00:00Z')
    expect(late.json.attempts).toBe(2)
    const latest = await get('alice', 'facts', 'calibration', '?limit=1')
    expect([latest.json.attempts, asked.at(-1)?.limit]).toEqual([1, 1])
    await get('alice', 'facts', 'calibration')
    expect(asked.at(-1)?.limit).toBe(1000)
  })

  test('of a gate that has judged nothing, nothing is claimed', async () => {
    const { status, json } = await get('alice', 'new', 'calibration')
    expect([status, json.attempts, json.verifiers, json.licence.required]).toEqual([200, 0, [], false])
  })
})

describe('R-DWS-26: what a gate has said', () => {
  test('R-VERIFY-21: of each result the verdict that holds, newest first, with what was judged', async () => {
    const { status, json } = await get('alice', 'facts', 'verdicts')
    expect(status).toBe(200)
    expect(compileCheck(ListVerdictsAnswer, 'answer')(json)).toBeUndefined()
    expect(json.verdicts.map((one: { runId: string }) => one.runId)).toEqual(['run-3', 'run-2', 'run-1'])
    expect(json.verdicts[2]).toEqual({
      runId: 'run-1',
      sequence: 1,
      at: '2026-01-02T00:00:00.000Z',
      nodeId: 'write',
      target: 'child-1',
      attempt: 1,
      verdict: 'pass',
      dwsVerdict: 'fail',
      label: 'accepted',
      failed: ['correctness'],
      gateHash: 'gate',
      resultHash: 'r',
      output: { text: 'words' },
    })
    expect((await get('alice', 'facts', 'verdicts', '?limit=1')).json.verdicts).toHaveLength(1)
  })

  test('since a time, and fifty unless more or fewer are asked for', async () => {
    const { json } = await get('alice', 'facts', 'verdicts', '?since=2026-01-03T00:00:00Z')
    expect(json.verdicts.map((one: { runId: string }) => one.runId)).toEqual(['run-3', 'run-2'])
    expect(asked.at(-1)?.limit).toBe(50)
  })

  test('R-SEC-2: results are content: who may only read manifests or runs is refused', async () => {
    const reply = await get('reader', 'facts', 'verdicts')
    expect([reply.status, reply.json.details]).toEqual([403, { scopeRequired: 'artifacts:read' }])
  })
})

test.each(['calibration', 'verdicts'])('%s: another tenant’s gate and what never was are the same 404', async what => {
  const [theirs, nobodys] = [await get('bob', 'facts', what), await get('bob', 'never-was', what)]
  expect([theirs.status, theirs.json.error, theirs.text]).toEqual([404, 'not_found', nobodys.text])
  expect((await get('tester', 'facts', what)).text).toBe(nobodys.text)
  expect((await get('alice', '..%2F', what)).status).toBe(404)
})

test.each([
  ['?since=yesterday', 'query.since'],
  ['?since=7d', 'query.since'],
  // A leap second has the right form, and is no time that a clock here shows.
  ['?since=2016-12-31T23:59:60Z', 'query.since'],
  ['?since=', 'query.since'],
  ['?limit=0', 'query.limit'],
  ['?limit=1001', 'query.limit'],
  ['?limit=many', 'query.limit'],
])('%s is a 400 that names the field', async (query, field) => {
  for (const what of ['calibration', 'verdicts']) {
    const { status, json } = await get('alice', 'facts', what, query)
    expect([status, json.error, json.details.field]).toEqual([400, 'validation_error', field])
  }
})
