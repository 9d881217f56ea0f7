import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import {
  agentFlow,
  answered,
  atWork,
  breaks,
  briefs,
  eventsOf,
  returns,
  says,
  tool,
  wants,
} from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import { costOf, mostCostOf, outputWithin, usdOf } from './budget.js'

const READ = tool('mcp:files.read')

describe('a provider that bills more than was set aside', () => {
  it('R-BUDGET-4: has crossed the ceiling: what it said is not built on, and the run ends', () => {
    const run = atWork(given(agentFlow()), {}, { budget: { maxTokens: 1_200 } })
    says(run, { said: answered(), usage: { inputTokens: 100, outputTokens: 9_000 } })
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'tokens', consumed: 9_100, limit: 1_200 }])
    expect(payloads(run, 'cap.breached')[0]).toMatchObject({ kind: 'budget-tokens', limit: 1_200, observed: 9_100 })
    expect(payloads(run, 'run.failed')[0]).toMatchObject({ error: { code: 'budget_exhausted' } })
    expect(eventsOf(run, 'agent.decided')).toEqual([])
    expect(payloads(run, 'agent.invocation.completed')).toMatchObject([{ outcome: 'failed' }])
  })

  it('R-BUDGET-4: no tool is called for it either', () => {
    const run = atWork(given(agentFlow()), { tools: [READ] }, { budget: { maxTokens: 1_200 } })
    says(run, { said: wants(READ.toolId), usage: { inputTokens: 100, outputTokens: 9_000 } })
    expect(eventsOf(run, 'agent.toolCalled')).toEqual([])
    expect(statusOf(run.state)).toBe('failed')
  })

  it('R-BUDGET-4: one that bills exactly what was set aside has not', () => {
    const run = atWork(given(agentFlow()), {}, { budget: { maxTokens: 1_100 } })
    says(run, { said: answered(), usage: { inputTokens: 100, outputTokens: 1_000 } })
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('requests that the transport repeats', () => {
  it('R-BUDGET-3: are known only when they have been made, and count as no retries of the run', () => {
    const run = atWork(given(agentFlow()), {}, { budget: { maxRetries: 1 } })
    says(run, { said: answered(), retries: 4 })
    expect(payloads(run, 'budget.consumed')).toEqual([])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-3: also in a second attempt of the node, whose own retry is the only one', () => {
    const flow = agentFlow({ settings: { maxRetries: 2, retryDelayMs: 1 } })
    const run = atWork(given(flow), { tools: [READ] }, { budget: { maxRetries: 1, maxToolCalls: 2 } })
    breaks(returns(says(run, { said: wants(READ.toolId), retries: 2 })))
    briefs(run.after(1), { tools: [READ] })
    returns(says(run, { said: wants(READ.toolId), retries: 2 }))
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
    expect(run.state.phase === 'ended' && run.state.spend).toMatchObject({ retries: 1, toolCalls: 1 })
  })
})

describe('money that is rounded', () => {
  it('R-BUDGET-3 R-BUDGET-4: in parts and as a whole, comes to no more than the ceiling that it exactly fits', () => {
    const price = { input: 0.28, output: 0.28 }
    const most = mostCostOf(19_003, 2_525, price)
    const brief = { price, inputTokens: 19_003, maxOutputTokens: 2_525 }
    const run = atWork(given(agentFlow()), brief, { budget: { maxCostUsd: usdOf(most) } })
    says(run, {
      said: answered(),
      usage: { inputTokens: 19_003, outputTokens: 2_525, cacheReadTokens: 9_083 },
    })
    expect(payloads(run, 'budget.consumed')).toEqual([
      { dimension: 'cost', consumed: usdOf(most), limit: usdOf(most), remaining: 0 },
    ])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-4: at list prices no call costs more than was set aside, and what fits exactly is found to fit', () => {
    const prices = [0.07, 0.075, 0.1, 0.15, 0.28, 0.3, 0.55, 0.6, 1.1, 2.19, 2.5, 3, 15]
    const wrong: object[] = []
    for (const input of prices)
      for (const output of prices)
        for (let i = 0; i < 100; i += 1) {
          const price = { input, output }
          const inputTokens = ((i * 7_919) % 20_011) + 1
          const outputTokens = ((i * 104_729) % 4_096) + 64
          const usage = { inputTokens, outputTokens, cacheReadTokens: (i * 31) % inputTokens }
          const most = mostCostOf(inputTokens, outputTokens, price)
          const left = most + (i % 7)
          const fits = outputWithin({ maxCostUsd: usdOf(left) }, inputTokens, price)
          const isWrong =
            costOf(usage, price)! > most || fits < outputTokens || mostCostOf(inputTokens, fits, price) > left
          if (isWrong) wrong.push({ price, usage, left, fits })
        }
    expect(wrong).toEqual([])
  })
})
