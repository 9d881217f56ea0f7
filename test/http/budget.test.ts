import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentsDouble } from '../../src/testing/agents.js'
import { tool, wants } from '../../src/testing/invocations.js'
import { directoryOf } from './agent-directory.js'
import { startHttp, type TestHost } from './harness.js'
import { hasProtocolSchemas, schemaErrors } from './protocol-schemas.js'

/** What a run may spend, as a client sees it. */

const WRITER = 'local.notes.writer'
const READ = tool('mcp:files.read')
const MOST = { maxTokens: 2_000, maxCostUsd: 1 }
/** Each time it is asked anew, the model first wants a tool, and then answers. */
const agents = agentsDouble({
  agents: { [WRITER]: { tools: [READ], price: { input: 2, output: 10 } } },
  think: ({ rounds }) =>
    rounds.length === 0
      ? { said: wants(READ.toolId), usage: { inputTokens: 100, outputTokens: 140 }, replyTokens: 0 }
      : { said: { kind: 'answered', result: 'done' }, usage: { inputTokens: 100, outputTokens: 20 } },
  use: () => ({ status: 'ok', durationMs: 1, resultTokens: 0 }),
})

let host: TestHost
beforeAll(async () => {
  const known = directoryOf([WRITER], [READ.toolId])
  const config = { agents: { providers: ['openai'], priced: true, maxRetries: 2, budget: MOST } }
  host = await startHttp({ agents, budget: MOST, config, deps: { agents: known } })
})
afterAll(() => host.close())

const get = (url: string) => host.call('alice', { url })
const post = (url: string, payload: object) => host.call('alice', { method: 'POST', url, payload })
const started = async (budget: object) => (await post('/v1/runs', { agentId: WRITER, configurable: { budget } })).json
const until = (url: string, status: string) => expect.poll(async () => (await get(url)).json.status).toBe(status)
type Event = { readonly type: string; readonly payload: { readonly [field: string]: unknown } }
const told = async (runId: string, type: string): Promise<Event['payload'][]> => {
  const events: Event[] = (await get(`/v1/runs/${runId}/events/poll`)).json.events
  return events.flatMap(event => (event.type === type ? [event.payload] : []))
}

describe('R-BUDGET-2: configurable.budget', () => {
  test.each([
    [{ maxTokens: 500 }, { maxTokens: 500, maxCostUsd: 1 }],
    [
      { maxTokens: 90_000, maxCostUsd: 0.5 },
      { maxTokens: 2_000, maxCostUsd: 0.5 },
    ],
    [
      { maxToolCalls: 3, maxRetries: 0 },
      { maxTokens: 2_000, maxCostUsd: 1, maxToolCalls: 3, maxRetries: 0 },
    ],
  ])('R-BUDGET-2: of %j and what the host allows the least holds, which discovery tells', async (budget, effective) => {
    const { limits } = (await get('/.well-known/openwop')).json
    expect(limits).toMatchObject({ maxBudgetTokens: 2_000, maxBudgetCostUsd: 1 })
    const { runId } = await started(budget)
    expect(await told(runId, 'budget.reserved')).toEqual([{ effectiveBudget: effective, scope: 'run' }])
    const { assay } = (await get(`/v1/runs/${runId}`)).json
    expect(assay.budget).toEqual(effective)
  })

  test.each([
    [{ maxWallTimeMs: 5 }, 'maxWallTimeMs'],
    [{ maxTokens: 0 }, 'maxTokens'],
    [{ maxCostUsd: '1' }, 'maxCostUsd'],
    [{ thresholdPercent: 101 }, 'thresholdPercent'],
    [{ modelDeny: 'gpt' }, 'modelDeny'],
    [{ onExhaustion: 'ask' }, 'onExhaustion'],
  ])('R-BUDGET-2 R-BUDGET-6 R-REST-5: is closed: %j is refused by the name of its field', async (budget, field) => {
    const reply = await post('/v1/runs', { agentId: WRITER, configurable: { budget } })
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.json.message).toContain(`configurable.budget.${field}`)
  })
})

describe('R-BUDGET-4: a run that asks when its budget is used up', () => {
  const waiting = async () => {
    const run = await started({ maxTokens: 300, onExhaustion: 'interrupt' })
    await until(run.statusUrl, 'waiting-approval')
    return run
  }
  const answer = (runId: string, resumeValue: object) => post(`/v1/runs/${runId}/interrupts/main`, { resumeValue })

  test('R-BUDGET-4: shows what it asks, refuses what does not help, and goes on with what is added', async () => {
    const { runId, statusUrl } = await waiting()
    const snapshot = (await get(statusUrl)).json
    const { nodeId, data } = snapshot.interrupt
    expect(data).toMatchObject({ artifactType: 'budget', limit: 300, consumed: 240, leastDelta: 104, mostDelta: 1_700 })
    if (hasProtocolSchemas) expect(schemaErrors('run-snapshot', snapshot)).toEqual([])
    const say = (resumeValue: object) => post(`/v1/runs/${runId}/interrupts/${nodeId}`, { resumeValue })
    for (const [value, why] of [
      [{ action: 'accept' }, 'budgetDelta.maxTokens'],
      [{ action: 'accept', budgetDelta: { maxTokens: 103 } }, 'needs 404'],
      [{ action: 'accept', budgetDelta: { maxTokens: 1_701 } }, '2000 at most'],
    ] as const) {
      const refused = await say(value)
      expect([refused.status, refused.json.error]).toEqual([400, 'validation_error'])
      expect(refused.json.message).toContain(why)
    }
    expect((await get(statusUrl)).json.status).toBe('waiting-approval')
    expect((await say({ action: 'accept', budgetDelta: { maxTokens: 104 } })).status).toBe(200)
    await until(statusUrl, 'completed')
    expect((await told(runId, 'budget.reserved')).map(({ effectiveBudget }) => effectiveBudget)).toEqual([
      { maxTokens: 300, maxCostUsd: 1 },
      { maxTokens: 404, maxCostUsd: 1 },
    ])
    const { assay } = (await get(statusUrl)).json
    expect([assay.budget.maxTokens, assay.spend.tokens]).toEqual([404, 360])
    expect(assay).not.toHaveProperty('held')
  })

  test('R-BUDGET-4: fails as it would have without asking when nothing is added', async () => {
    const { runId, statusUrl } = await waiting()
    const { nodeId } = (await get(statusUrl)).json.interrupt
    await post(`/v1/runs/${runId}/interrupts/${nodeId}`, { resumeValue: { action: 'reject', feedback: 'enough' } })
    await until(statusUrl, 'failed')
    expect((await get(statusUrl)).json.error.code).toBe('budget_exhausted')
    expect(await told(runId, 'cap.breached')).toMatchObject([{ kind: 'budget-tokens', limit: 300, observed: 404 }])
    expect((await answer(runId, { action: 'accept' })).status).toBeGreaterThanOrEqual(400)
  })

  test('R-BUDGET-4: a cancelled call is no cost: what it may have cost is held', async () => {
    const gone: (() => void)[] = []
    const slow = agentsDouble({
      agents: { [WRITER]: {} },
      think: () => new Promise(resolve => gone.push(() => resolve({ said: { kind: 'refused' } }))),
    })
    const other = await startHttp({ agents: slow, deps: { agents: directoryOf([WRITER], []) } })
    const created = await other.call('alice', {
      method: 'POST',
      url: '/v1/runs',
      payload: { agentId: WRITER, configurable: { budget: { maxTokens: 5_000 } } },
    })
    const { statusUrl, runId } = created.json
    await expect.poll(() => gone.length).toBe(1)
    await other.call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel`, payload: {} })
    const { assay, metrics } = (await other.call('alice', { url: statusUrl })).json
    expect(assay).toEqual({
      spend: { tokens: 0, costUsd: 0, toolCalls: 0, retries: 0 },
      held: { tokens: 1_100, costUsd: 0, toolCalls: 0, retries: 0 },
      budget: { maxTokens: 5_000 },
    })
    expect(metrics).toEqual({ openwopCost: { usd: 0 } })
    for (const end of gone) end()
    await other.close()
  })
})
