import { describe, expect, it } from 'vitest'
import { given, rulesFor, Scenario } from '../../testing/given-when-then.js'
import {
  agentFlow,
  agentNode,
  answered,
  atWork,
  breaks,
  briefs,
  eventsOf,
  loses,
  owedTo,
  returns,
  says,
  story,
  tool,
  wants,
} from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import type { Brief } from '../invocation/brief.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import type { BudgetPolicy } from './budget.js'

const READ = tool('mcp:files.read')
const PRICE = { input: 2.5, output: 10 }
const UNUSABLE = { kind: 'unusable', reason: 'parse-error', problem: 'p' } as const
const RETRIED = { maxRetries: 3, retryDelayMs: 10 }

const under = (budget: BudgetPolicy, brief: Partial<Brief> = {}, settings = {}) =>
  atWork(given(agentFlow({ settings })), { tools: [READ], ...brief }, { budget: budget as JsonObject })

/** `dimension consumed/limit left` of each account that is given. */
const accounts = (run: Scenario) =>
  eventsOf(run, 'budget.consumed').map(
    ({ payload: { dimension, consumed, limit, remaining } }) => `${dimension} ${consumed}/${limit} ${remaining}`,
  )

const spendOf = ({ state }: Scenario) => (state.phase === 'absent' ? undefined : state.spend)
const heldOf = ({ state }: Scenario) => (state.phase === 'absent' ? undefined : state.held)

describe('a budget', () => {
  it('R-BUDGET-2 R-BUDGET-3: is said once, right after the start: the least of each that was asked for and allowed', () => {
    const rules = rulesFor(agentFlow(), [], { budget: { maxTokens: 5_000, maxCostUsd: 1 } })
    const run = new Scenario(rules).start({}, { budget: { maxTokens: 9_000, maxRetries: 2 } })
    expect(story(run).slice(0, 3)).toEqual([
      'run.started',
      'budget.reserved < run.started',
      'node.started < run.started',
    ])
    expect(payloads(run, 'budget.reserved')).toEqual([
      { effectiveBudget: { maxTokens: 5_000, maxCostUsd: 1, maxRetries: 2 }, scope: 'run' },
    ])
  })

  it('R-BUDGET-3: is not said where nothing is bounded', () => {
    expect(payloads(given(agentFlow()).start(), 'budget.reserved')).toEqual([])
    expect(payloads(given(agentFlow()).start({}, { budget: { modelAllow: ['*'] } }), 'budget.reserved')).toEqual([])
  })

  it('R-BUDGET-2 R-BUDGET-4: holds for the retries of a run that has no agent, too', () => {
    const fails = { a: { type: 'core.fail', settings: { maxRetries: 3, retryDelayMs: 10 } } }
    const run = given({ nodes: fails })
      .start({}, { budget: { maxRetries: 1 } })
      .after(1_000)
    expect(payloads(run, 'budget.reserved')).toEqual([{ effectiveBudget: { maxRetries: 1 }, scope: 'run' }])
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'retries', consumed: 1, limit: 1 }])
  })

  it('R-BUDGET-2: one that is none is refused with the run', () => {
    const run = given(agentFlow()).start({}, { budget: { maxTokens: 0 } })
    expect(run.refusal?.code).toBe('validation_error')
    expect(run.log).toEqual([])
  })

  it('R-BUDGET-3: every step that spends is followed by an account of each dimension that it spends in', () => {
    const run = under({ maxTokens: 10_000, maxCostUsd: 1, maxToolCalls: 5, maxRetries: 5 }, { price: PRICE })
    says(run, { said: wants(READ.toolId), usage: { inputTokens: 40, outputTokens: 20 }, retries: 1 })
    expect(story(run).slice(-5)).toEqual([
      'provider.usage < assay.model.requested',
      'budget.consumed < provider.usage',
      'budget.consumed < provider.usage',
      'agent.toolCalled < provider.usage',
      'budget.consumed < agent.toolCalled',
    ])
    says(returns(run), UNUSABLE)
    loses(run)
    says(run, answered())
    expect(accounts(run)).toEqual([
      'tokens 60/10000 9940',
      'cost 0.0003/1 0.9997',
      'toolCalls 1/5 4',
      'tokens 75/10000 9925',
      'cost 0.000375/1 0.999625',
      'retries 1/5 4',
      // The call that was lost is held: no cost, and not to be spent again.
      'tokens 90/10000 8721',
      'cost 0.00045/1 0.9890775',
    ])
    expect(spendOf(run)).toEqual({ tokens: 90, costNano: 450_000, toolCalls: 1, retries: 1 })
    expect(heldOf(run)).toEqual({ tokens: 1_189, costNano: 10_472_500, toolCalls: 0, retries: 0 })
  })

  it('R-BUDGET-1 R-BUDGET-3: what came from before is told with what it cost then, and not counted', () => {
    const run = under({ maxTokens: 10_000, maxCostUsd: 1 }, { price: PRICE })
    says(run, { said: answered(), usage: { inputTokens: 40, outputTokens: 20, cacheHit: true } })
    expect(payloads(run, 'provider.usage')).toEqual([
      {
        provider: 'openai',
        model: 'gpt-test',
        inputTokens: 40,
        outputTokens: 20,
        totalTokens: 60,
        costEstimateUsd: 0.0003,
        currency: 'USD',
        cacheHit: true,
        nodeId: 'a',
      },
    ])
    expect(accounts(run)).toEqual([])
  })

  it('R-BUDGET-1: the cached part of the input is told, and priced by itself', () => {
    const price = { input: 3, output: 15, cacheRead: 0.25, cacheWrite: 3.75 }
    const run = under({ maxCostUsd: 1 }, { price })
    const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 40, cacheWriteTokens: 20 }
    says(run, { said: answered(), usage })
    expect(payloads(run, 'provider.usage')[0]).toMatchObject({ ...usage, costEstimateUsd: 0.000355 })
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('3.75')
  })

  it('R-BUDGET-3: a threshold is told once in each dimension, when it is reached', () => {
    const run = under({ maxTokens: 4_000, maxToolCalls: 2, thresholdPercent: 50 })
    says(run, { said: wants(READ.toolId), usage: { inputTokens: 900, outputTokens: 99 } })
    expect(payloads(run, 'budget.threshold.crossed')).toEqual([
      { dimension: 'toolCalls', consumed: 1, limit: 2, percent: 50 },
    ])
    says(returns(run), { said: wants(READ.toolId), usage: { inputTokens: 1_000, outputTokens: 1 } })
    says(returns(run), answered())
    expect(payloads(run, 'budget.threshold.crossed')).toEqual([
      { dimension: 'toolCalls', consumed: 1, limit: 2, percent: 50 },
      { dimension: 'tokens', consumed: 2_000, limit: 4_000, percent: 50 },
    ])
    const [first] = eventsOf(run, 'budget.threshold.crossed')
    expect(run.log[first!.cause!]!.type).toBe('agent.toolCalled')
  })

  it('R-BUDGET-2: of several thresholds the lowest warns', () => {
    const rules = rulesFor(agentFlow(), [], { budget: { thresholdPercent: 10 } })
    const run = atWork(new Scenario(rules), {}, { budget: { maxTokens: 10_000, thresholdPercent: 90 } })
    says(run, { said: answered(), usage: { inputTokens: 1_000, outputTokens: 0 } })
    expect(payloads(run, 'budget.threshold.crossed')).toMatchObject([{ percent: 10 }])
  })
})

describe('a ceiling', () => {
  it('R-BUDGET-4: exactly at it, a call is made; one token more, it is not', () => {
    const at = under({ maxTokens: 164 }, { inputTokens: 100, maxOutputTokens: 1_000 })
    expect(payloads(at, 'assay.model.requested')).toMatchObject([{ maxOutputTokens: 64, reservedTokens: 164 }])
    const over = under({ maxTokens: 163 }, { inputTokens: 100, maxOutputTokens: 1_000 })
    expect(payloads(over, 'assay.model.requested')).toEqual([])
    expect(statusOf(over.state)).toBe('failed')
  })

  it('R-BUDGET-4: an answer gets as much room as is left', () => {
    const run = under({ maxTokens: 700 }, { inputTokens: 100, maxOutputTokens: 1_000 })
    expect(owedTo(run, 'call-model')!.maxOutputTokens).toBe(600)
    const dear = under({ maxCostUsd: 0.001_25 }, { inputTokens: 100, maxOutputTokens: 1_000, price: PRICE })
    expect(owedTo(dear, 'call-model')!.maxOutputTokens).toBe(100)
    expect(payloads(dear, 'assay.model.requested')[0]).toMatchObject({ reservedCostUsd: 0.001_25 })
  })

  it('R-BUDGET-4: an agent that needs less than the least is not denied it', () => {
    const run = under({ maxTokens: 110 }, { inputTokens: 100, maxOutputTokens: 10 })
    expect(payloads(run, 'assay.model.requested')).toMatchObject([{ maxOutputTokens: 10 }])
  })

  it('R-BUDGET-4: tokens: the call that could cross it is not made, and the run ends', () => {
    const run = under({ maxTokens: 1_150 }, { inputTokens: 100, maxOutputTokens: 1_000 })
    says(run, { said: UNUSABLE, usage: { inputTokens: 90, outputTokens: 910 } })
    expect(story(run).slice(-7)).toEqual([
      'budget.consumed < provider.usage',
      'envelope.retry.attempted < assay.model.requested',
      'budget.exhausted < envelope.retry.attempted',
      'agent.invocation.completed < agent.invocation.started',
      'node.cancelled',
      'cap.breached',
      'run.failed < cap.breached',
    ])
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'tokens', consumed: 1_000, limit: 1_150 }])
    expect(payloads(run, 'cap.breached')[0]).toMatchObject({ kind: 'budget-tokens', limit: 1_150, nodeId: 'a' })
    expect(Number(payloads(run, 'cap.breached')[0]!.observed)).toBeGreaterThan(1_150)
    expect(payloads(run, 'run.failed')[0]).toMatchObject({ error: { code: 'budget_exhausted', retryable: false } })
    expect(run.owed).toEqual([])
  })

  it('R-BUDGET-4: cost', () => {
    const run = under({ maxCostUsd: 0.0015 }, { price: PRICE, inputTokens: 100, maxOutputTokens: 1_000 })
    says(run, { said: wants(READ.toolId), usage: { inputTokens: 100, outputTokens: 100 } })
    returns(run)
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'cost', consumed: 0.00125, limit: 0.0015 }])
    expect(payloads(run, 'cap.breached')[0]).toMatchObject({ kind: 'budget-cost', limit: 0.0015 })
  })

  it('R-BUDGET-4: tool calls, also those that were not made; foreign ones are none', () => {
    const run = under({ maxToolCalls: 2 }, { tools: [READ, tool('x:y', { scopes: ['s'] })] })
    says(run, wants('x:y', 'z:foreign', READ.toolId, READ.toolId))
    returns(run)
    expect(payloads(run, 'agent.toolCalled')).toHaveLength(2)
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'toolCalls', consumed: 2, limit: 2 }])
    expect(payloads(run, 'cap.breached')[0]).toMatchObject({ kind: 'budget-tool-calls', limit: 2, observed: 3 })
  })

  it('R-BUDGET-4: retries, of answers', () => {
    const run = under({ maxRetries: 1 })
    says(says(run, UNUSABLE), UNUSABLE)
    expect(payloads(run, 'envelope.retry.attempted')).toHaveLength(1)
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'retries', consumed: 1, limit: 1 }])
    expect(payloads(run, 'cap.breached')[0]).toMatchObject({ kind: 'budget-retries', limit: 1, observed: 2 })
  })

  it('R-BUDGET-4: retries, of the node: counted with those of answers', () => {
    const run = under({ maxRetries: 1 }, {}, RETRIED)
    breaks(run)
    expect(run.told().at(-1)).toBe('node.retried a')
    briefs(run.after(10), { tools: [READ] })
    breaks(run)
    expect(run.told().slice(-5)).toEqual([
      'agent.invocation.completed a',
      'budget.exhausted',
      'node.cancelled a',
      'cap.breached a',
      'run.failed',
    ])
  })

  it('R-BUDGET-4: none at all may mean no retry at all', () => {
    const run = says(under({ maxRetries: 0 }), UNUSABLE)
    expect(payloads(run, 'cap.breached')[0]).toMatchObject({ kind: 'budget-retries', limit: 0, observed: 1 })
  })

  it('R-BUDGET-4: a call that was lost is held in full, and its second try needs room of its own', () => {
    const run = loses(under({ maxTokens: 1_200 }, { inputTokens: 100, maxOutputTokens: 1_000 }))
    expect(accounts(run)).toEqual([])
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'tokens', consumed: 0, limit: 1_200 }])
    expect(payloads(run, 'cap.breached')).toMatchObject([{ kind: 'budget-tokens', limit: 1_200, observed: 1_264 }])
    const { error } = payloads(run, 'run.failed')[0] as { error: { message: string; details: unknown } }
    expect(error.message).toContain('holds 1100 for what nobody knows the cost of')
    expect(error.details).toMatchObject({ consumed: 0, held: 1_100, observed: 1_264 })
  })
})

describe('models that a budget lets be called', () => {
  it.each([
    [{ modelDeny: ['gpt-*'] }, {}],
    [{ modelAllow: ['claude-*'] }, {}],
    [{ modelAllow: ['gpt-test'], modelDeny: ['openai:*'] }, {}],
    [{}, { modelDeny: ['*'] }],
    [{ modelAllow: ['*'] }, { modelAllow: ['other'] }],
    [{ maxCostUsd: 1 }, {}],
    [{}, { maxCostUsd: 1 }],
  ] as const)('R-BUDGET-5: run %j, project %j: denied before any call', (own, project) => {
    const rules = rulesFor(agentFlow(), [], { budget: project })
    const run = atWork(new Scenario(rules), {}, { budget: own as JsonObject })
    expect(run.told().slice(-3)).toEqual(['agent.invocation.completed a', 'node.failed a', 'run.failed'])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({
      error: { code: 'budget_model_denied', retryable: false, details: { provider: 'openai', model: 'gpt-test' } },
    })
    expect(payloads(run, 'assay.model.requested')).toEqual([])
  })

  it.each([
    [{ modelAllow: ['openai:gpt-*'] }, {}],
    [{ modelDeny: ['gpt'] }, {}],
    [{ maxCostUsd: 1 }, { price: PRICE }],
    [{ maxTokens: 5_000 }, {}],
  ] as const)('R-BUDGET-5: %j lets it be called', (budget, brief) => {
    const run = under(budget, brief)
    expect(payloads(run, 'assay.model.requested')).toHaveLength(1)
  })
})

describe('two agents at once under one ceiling', () => {
  const TWO = { nodes: { f: 'core.parallel', a: agentNode(), b: agentNode() }, edges: ['f > a', 'f > b'] }
  const BRIEF = { inputTokens: 100, maxOutputTokens: 1_000 }
  const both = (budget: BudgetPolicy, brief: Partial<Brief> = BRIEF) => {
    const run = given(TWO).start({}, { budget: budget as JsonObject })
    return briefs(briefs(run, brief), brief, 'b')
  }

  it('R-BUDGET-4: the second waits for what the first has set aside, instead of failing', () => {
    const run = both({ maxTokens: 1_150 })
    expect(payloads(run, 'assay.model.requested')).toHaveLength(1)
    expect(run.owed.map(({ kind }) => kind)).toEqual(['call-model'])
    says(run, { said: answered(), usage: { inputTokens: 90, outputTokens: 10 } })
    expect(payloads(run, 'assay.model.requested')).toMatchObject([
      { nodeId: 'a', reservedTokens: 1_100 },
      { nodeId: 'b', reservedTokens: 1_050 },
    ])
    says(run, { said: answered(), usage: { inputTokens: 90, outputTokens: 10 } }, 'b')
    expect(statusOf(run.state)).toBe('completed')
    expect(spendOf(run)!.tokens).toBe(200)
  })

  it('R-BUDGET-4: with room for both, both are called, together within it', () => {
    const run = both({ maxTokens: 1_300 })
    expect(payloads(run, 'assay.model.requested').map(({ reservedTokens }) => reservedTokens)).toEqual([1_100, 200])
  })

  it('R-BUDGET-4: the second fails once the first has spent what it needs', () => {
    const run = both({ maxTokens: 1_150 })
    says(run, { said: answered(), usage: { inputTokens: 100, outputTokens: 1_000 } })
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'tokens', consumed: 1_100, limit: 1_150 }])
    expect(statusOf(run.state)).toBe('failed')
  })

  it('R-BUDGET-4: the same with money', () => {
    const run = both({ maxCostUsd: 0.011 }, { ...BRIEF, price: PRICE })
    expect(payloads(run, 'assay.model.requested')).toHaveLength(1)
    says(run, { said: answered(), usage: { inputTokens: 90, outputTokens: 10 } })
    expect(payloads(run, 'assay.model.requested')).toHaveLength(2)
  })

  it('R-BUDGET-4: when one exhausts the budget, the call of the other is held and its bracket closes too', () => {
    const run = both({ maxTokens: 5_000, maxRetries: 0 })
    says(run, UNUSABLE, 'b')
    expect(run.told().slice(-8)).toEqual([
      'budget.exhausted',
      'assay.model.lost a',
      'agent.invocation.completed a',
      'node.cancelled a',
      'agent.invocation.completed b',
      'node.cancelled b',
      'cap.breached b',
      'run.failed',
    ])
    expect(spendOf(run)!.tokens).toBe(15)
    expect(heldOf(run)!.tokens).toBe(1_100)
  })
})
