import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import {
  agentFlow,
  answered,
  atWork,
  breaks,
  briefs,
  loses,
  owedTo,
  returns,
  says,
  tool,
  wants,
} from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'

const READ = tool('mcp:files.read')
const BUDGET = { budget: { maxTokens: 100_000, maxToolCalls: 50, maxRetries: 50 } }

const retried = (): Scenario =>
  atWork(given(agentFlow({ settings: { maxRetries: 5, retryDelayMs: 1 } })), { tools: [READ] }, BUDGET)

/** The next attempt of the node has its brief. */
const again = (run: Scenario) => briefs(run.after(1_000), { tools: [READ] })

const spentBy = ({ state }: Scenario) => (state.phase === 'absent' ? undefined : state.spend)

const usages = (run: Scenario) =>
  payloads(run, 'provider.usage').map(({ totalTokens, cacheHit = false }) => [totalTokens, cacheHit])

describe('what an earlier attempt of a node has paid for', () => {
  it('R-BUDGET-1 R-BUDGET-3: is not counted again: neither the call nor the tool', () => {
    const run = breaks(returns(says(retried(), wants(READ.toolId))))
    const before = spentBy(run)
    expect(before).toEqual({ tokens: 15, costNano: 0, toolCalls: 1, retries: 1 })
    returns(says(again(run), wants(READ.toolId)))
    expect(spentBy(run)).toEqual(before)
    says(run, answered())
    expect(usages(run)).toEqual([
      [15, false],
      [0, false],
      [15, true],
      [15, false],
    ])
    expect(spentBy(run)).toEqual({ tokens: 30, costNano: 0, toolCalls: 1, retries: 1 })
  })

  it('R-BUDGET-1 R-BUDGET-3: also not by the third attempt, which finds it again', () => {
    const run = breaks(returns(says(retried(), wants(READ.toolId))))
    breaks(returns(says(again(run), wants(READ.toolId))))
    returns(says(again(run), wants(READ.toolId)))
    says(run, answered())
    expect(usages(run)).toEqual([
      [15, false],
      [0, false],
      [15, true],
      [0, false],
      [15, true],
      [15, false],
    ])
    expect(spentBy(run)).toEqual({ tokens: 30, costNano: 0, toolCalls: 1, retries: 2 })
  })

  it('R-BUDGET-3: what goes beyond it counts: a second call of the tool, where the first attempt made one', () => {
    const run = breaks(returns(says(retried(), wants(READ.toolId))))
    returns(says(again(run), wants(READ.toolId)))
    returns(says(run, wants(READ.toolId)))
    says(run, answered())
    expect(spentBy(run)).toEqual({ tokens: 45, costNano: 0, toolCalls: 2, retries: 1 })
  })

  it('R-BUDGET-1: a call whose answer was lost is a further try of the same, and what it may have cost is held', () => {
    const run = loses(retried())
    breaks(run)
    expect(spentBy(run)!.tokens).toBe(0)
    expect(run.state.phase !== 'absent' && run.state.held?.tokens).toBe(1_100)
    again(run)
    expect(owedTo(run, 'call-model')).toMatchObject({ call: 1, attempt: 2 })
    says(run, answered())
    expect(usages(run)).toEqual([
      [0, false],
      [15, false],
    ])
    expect(spentBy(run)!.tokens).toBe(15)
  })
})
