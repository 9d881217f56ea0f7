import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileCheck } from '../../src/http/check.js'
import { finding, judged, record, rows, said } from '../../src/testing/verifications.js'
import { ListVerificationsAnswer, VerificationAnswer } from '../../src/wire/verification.js'
import { overriding } from './fake-engine.js'
import { node, startHttp, type TestHost, workflow } from './harness.js'

/** Real runs, to whose logs a gate's attempts are added as they are read. */

const second = record({ attempt: 2, workerId: 'critic', verdict: 'pass', findings: [] })
const third = record({ attempt: 1, gateId: 'tone', gateName: 'Tone', nodeId: 'write' })
const doubted = record({ attempt: 1, gateId: 'licensed', verdict: 'pass', findings: [] })
const WORK = {
  execution: { tokens: 5000, costNano: 10_000_000, toolCalls: 3, retries: 0 },
  verification: { tokens: 100, costNano: 200_000, toolCalls: 0, retries: 0 },
}
const ATTEMPTS = [
  ...judged(record({ work: WORK }), 'art-0', 'revise'),
  ...judged(second, 'art-3', 'pass'),
  ...judged(third, 'art-6', 'fail'),
  said(
    third,
    { agentId: 'host:human-override', verdict: 'pass', criteria: ['human-override'] },
    { by: 'ada', why: { note: 'known gap' } },
  ),
  ...judged(record({ attempt: 1, gateId: 'style', forced: true }), 'art-10', 'pass'),
  ...judged(record({ attempt: 1, gateId: 'hint' }), 'art-13'),
  ...judged(doubted, 'art-15'),
  said(doubted, { agentId: 'assay.verifier', verdict: 'pass', criteria: ['human-confirmed'] }, { by: 'bob' }),
]

const LEADER = workflow(
  'leader',
  [
    node('lead', 'core.orchestrator.supervisor', {
      config: {
        rules: [
          {
            decide: {
              kind: 'terminate',
              successCriteria: [
                { key: 'complete', met: true },
                { key: 'grounded', met: false },
              ],
            },
          },
        ],
      },
    }),
    node('hand', 'core.dispatch'),
  ],
  { edges: [{ id: 'e', sourceNodeId: 'lead', targetNodeId: 'hand' }] },
)

let host: TestHost
let judgedRun: string
let plainRun: string
const start = async (workflowId: string): Promise<string> =>
  (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId } })).json.runId

beforeAll(async () => {
  const wrap = overriding(engine => ({
    async readEvents(tenant, runId, from, limit) {
      const stored = await engine.readEvents(tenant, runId, 0)
      if (stored === undefined || runId !== judgedRun) return stored?.slice(from)
      const log = [...stored, ...rows(ATTEMPTS, stored.length)]
      return log.slice(from, limit === undefined ? undefined : from + limit)
    },
  }))
  host = await startHttp({ wrap })
  judgedRun = await start('noop')
  plainRun = await start('noop')
})
afterAll(() => host.close())

const list = async (runId: string) => (await host.call('alice', { url: `/v1/runs/${runId}/verifications` })).json
const ask = (number: number | string, key: 'alice' | 'bob' | 'reader' = 'alice') =>
  host.call(key, { url: `/v1/runs/${judgedRun}/verifications/${number}` })

describe('GET /v1/runs/{runId}/verifications', () => {
  test('R-DWS-13: every attempt, with what came of it and what it is worth', async () => {
    const answer = await list(judgedRun)
    expect(compileCheck(ListVerificationsAnswer, 'answer')(answer)).toBeUndefined()
    const told = answer.verifications.map((one: { [name: string]: unknown }) => [
      one.n,
      one.gateId,
      one.verdict,
      one.outcome,
      one.verified,
      one.label,
      one.best,
    ])
    expect(told).toEqual([
      [1, 'quality', 'fail', 'revise', false, 'unverified', true],
      [2, 'quality', 'pass', 'pass', false, 'verified in part', undefined],
      [3, 'tone', 'fail', 'pass', false, 'accepted', undefined],
      [4, 'style', 'fail', 'pass', false, 'forced', undefined],
      [5, 'hint', 'fail', 'none', false, 'unverified', true],
      [6, 'licensed', 'pass', 'pass', false, 'verified in part', undefined],
    ])
    // An attempt of an earlier version tells only what its votes have cost.
    expect(answer.verifications[1].cost).toEqual({
      verification: { tokens: 1200, costUsd: 0.0025, toolCalls: 0, retries: 0 },
    })
    expect(answer.verifications[0]).toMatchObject({
      gateName: 'Draft quality',
      nodeId: 'hand',
      workerId: 'writer',
      target: 'child-1',
      scores: { grounded: 2 },
      findings: { blocking: 1, warning: 0, advisory: 0 },
      confidence: 0.9,
      cost: {
        execution: { tokens: 5000, costUsd: 0.01, toolCalls: 3, retries: 0 },
        verification: { tokens: 1300, costUsd: 0.0027, toolCalls: 0, retries: 0 },
      },
    })
  })

  test('a run that no gate has judged has none', async () => {
    expect(await list(plainRun)).toEqual({ verifications: [] })
  })

  test('R-VERIFY-19: says that a run gave up, as its snapshot does', async () => {
    const created = await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: LEADER })
    expect(created.status, created.text).toBe(201)
    const runId = await start('leader')
    const convergence = {
      successCriteria: [
        { key: 'complete', met: true },
        { key: 'grounded', met: false },
      ],
      goalSatisfied: false,
      verdicts: [],
    }
    expect(await list(runId)).toEqual({ verifications: [], convergence })
    const snapshot = (await host.call('alice', { url: `/v1/runs/${runId}` })).json
    expect(snapshot).toMatchObject({ status: 'completed', convergence })
  })
})

describe('GET /v1/runs/{runId}/verifications/{number}', () => {
  test('R-DWS-13 R-DWS-14: everything about one attempt', async () => {
    const { status, json, headers } = await ask(1)
    expect(status).toBe(200)
    expect(compileCheck(VerificationAnswer, 'answer')(json)).toBeUndefined()
    expect(json).toMatchObject({
      n: 1,
      artifactId: 'art-0',
      resultHash: 'hash-1',
      output: { text: 'It rains every day.' },
      findings: [finding()],
      votes: [{ agentId: 'assay.verifier', childRunId: 'judge-1' }],
      faults: [{ code: 'verifier_off_schema' }],
      verdictBy: { agentId: 'assay.verifier', criteria: [] },
    })
    expect(json).not.toHaveProperty('standing')
    expect(headers['cache-control']).toBe('private, no-store')
  })

  test('R-VERIFY-8: the person whose word it is, in place of the verifiers’ or after it', async () => {
    expect((await ask(6)).json).toMatchObject({ verdictBy: { agentId: 'assay.verifier' }, person: { by: 'bob' } })
    expect((await ask(3)).json).toMatchObject({
      verdictBy: { agentId: 'host:human-override', criteria: ['human-override'] },
      person: { by: 'ada', why: { note: 'known gap' } },
    })
  })

  test.each([0, 7, 999_999_999])('%i is 404, with how many there are', async number => {
    const { status, json } = await ask(number)
    expect([status, json.error, json.details]).toEqual([404, 'not_found', { field: 'number', limit: 6 }])
    expect(json.message).toContain(`no verification ${number}: it has 1 to 6`)
  })

  test.each(['x', '-1', '01', '1.0', '1e3', '9999999999', '%00'])('%s is 404', async number => {
    expect((await ask(number)).status).toBe(404)
  })

  test('R-SEC-2: nobody else reads it: no other tenant, and no key that may not read artifacts', async () => {
    const never = '00000000-0000-7000-8000-000000000000'
    const absent = await host.call('bob', { url: `/v1/runs/${never}/verifications/1` })
    const foreign = await ask(1, 'bob')
    expect([foreign.status, foreign.text]).toEqual([404, absent.text])
    expect((await ask(1, 'reader')).json.details).toEqual({ scopeRequired: 'artifacts:read' })
  })
})
