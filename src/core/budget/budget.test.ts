import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { schemaProblems } from '../schema/problems.js'
import {
  BudgetSchema,
  costOf,
  leastOf,
  matchesModel,
  modelProblem,
  mostCostOf,
  NOTHING_SPENT,
  outputWithin,
  overspent,
  plus,
  remaining,
  shareOf,
  usdOf,
} from './budget.js'

describe('money', () => {
  it.each([
    [{ input: 2, output: 10 }, { inputTokens: 100, outputTokens: 10 }, 300_000],
    [{ input: 2.5, output: 10 }, { inputTokens: 1, outputTokens: 0 }, 2_500],
    [{ input: 0.15, output: 0.6 }, { inputTokens: 1_000, outputTokens: 500 }, 450_000],
    [{ input: 0, output: 0 }, { inputTokens: 1_000, outputTokens: 500 }, 0],
    [
      { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
      { inputTokens: 100, outputTokens: 0, cacheReadTokens: 50, cacheWriteTokens: 20 },
      30 * 3_000 + 50 * 300 + 20 * 3_750,
    ],
    [{ input: 3, output: 15 }, { inputTokens: 100, outputTokens: 0, cacheReadTokens: 50 }, 300_000],
  ])('R-BUDGET-3: %j for %j is %d billionths of a dollar', (price, usage, nano) => {
    expect(costOf(usage, price) === nano).toBe(true)
  })

  it('R-BUDGET-3: a fraction of a billionth is not given away', () => {
    expect(costOf({ inputTokens: 1, outputTokens: 0 }, { input: 0.0001, output: 0 })).toBe(1)
  })

  it('R-BUDGET-5: what nobody has priced has no cost', () => {
    expect(costOf({ inputTokens: 1, outputTokens: 1 }, undefined)).toBeUndefined()
  })

  it('R-BUDGET-3: no call costs more than was set aside for it, whatever of its input is cached', () => {
    const price = fc.double({ min: 0, max: 200, noNaN: true })
    const prices = fc.record({ input: price, output: price, cacheRead: price, cacheWrite: price })
    const tokens = fc.nat({ max: 2_000_000 })
    fc.assert(
      fc.property(prices, tokens, tokens, fc.double({ min: 0, max: 1, noNaN: true }), (of, input, output, part) => {
        const cacheReadTokens = Math.floor(input * part)
        const cacheWriteTokens = Math.floor((input - cacheReadTokens) * part)
        const usage = { inputTokens: input, outputTokens: output, cacheReadTokens, cacheWriteTokens }
        expect(costOf(usage, of)!).toBeLessThanOrEqual(mostCostOf(input, output, of))
      }),
      { numRuns: 2_000 },
    )
  })

  it('R-BUDGET-3: what is said to fit beneath a ceiling does', () => {
    const price = fc.double({ min: 0.001, max: 200, noNaN: true })
    fc.assert(
      fc.property(
        price,
        price,
        fc.nat({ max: 100_000 }),
        fc.nat({ max: 50_000_000_000 }),
        (input, output, taken, left) => {
          const fits = outputWithin({ maxCostUsd: usdOf(left) }, taken, { input, output })
          if (fits < 0) return
          expect(mostCostOf(taken, fits, { input, output })).toBeLessThanOrEqual(left)
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('ceilings', () => {
  it('R-BUDGET-2: the least of each, and none where nobody has one', () => {
    expect(leastOf([{ maxTokens: 5, maxRetries: 1 }, { maxTokens: 3 }, { maxCostUsd: 0.5 }])).toEqual({
      maxTokens: 3,
      maxCostUsd: 0.5,
      maxRetries: 1,
    })
    expect(leastOf([{}, {}])).toEqual({})
  })

  it.each([
    [{ maxTokens: 10 }, { tokens: 10 }, undefined],
    [{ maxTokens: 10 }, { tokens: 11 }, 'tokens'],
    [{ maxCostUsd: 0.3 }, { costNano: 300_000_000 }, undefined],
    [{ maxCostUsd: 0.3 }, { costNano: 300_000_001 }, 'cost'],
    [{ maxToolCalls: 1 }, { toolCalls: 2 }, 'toolCalls'],
    [{ maxRetries: 0 }, { retries: 1 }, 'retries'],
    [{}, { tokens: 1e12 }, undefined],
  ])('R-BUDGET-4: beneath %j, %j is over in %s', (ceilings, spent, over) => {
    expect(overspent(plus(NOTHING_SPENT, spent), ceilings)).toBe(over)
  })

  it('what is left is never less than nothing, and money is exact', () => {
    const ceilings = { maxTokens: 10, maxCostUsd: 0.3, maxToolCalls: 1 }
    expect(remaining(ceilings, plus(NOTHING_SPENT, { tokens: 12, costNano: 100_000_000 }))).toEqual({
      maxTokens: 0,
      maxCostUsd: 0.2,
      maxToolCalls: 1,
    })
  })

  it('R-BUDGET-7: shares together are never more than the whole', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 1e9 }),
        fc.nat({ max: 1e9 }),
        fc.integer({ min: 1, max: 20 }),
        (tokens, nano, parts) => {
          const share = shareOf({ maxTokens: tokens, maxCostUsd: usdOf(nano) }, parts)
          expect(share.maxTokens! * parts).toBeLessThanOrEqual(tokens)
          expect(Math.round(share.maxCostUsd! * 1e9) * parts).toBeLessThanOrEqual(nano)
        },
      ),
    )
  })
})

describe('models that may be called', () => {
  const GPT = { provider: 'openai', model: 'gpt-4o-mini' }

  it.each([
    [{}, undefined],
    [{ modelAllow: ['gpt-4o-mini'] }, undefined],
    [{ modelAllow: ['openai:gpt-4o-mini'] }, undefined],
    [{ modelAllow: ['openai:*'] }, undefined],
    [{ modelAllow: ['gpt-*-mini'] }, undefined],
    [{ modelAllow: ['*'] }, undefined],
    [{ modelAllow: ['gpt-4o'] }, 'modelAllow does not name it'],
    [{ modelAllow: ['anthropic:*'] }, 'modelAllow does not name it'],
    [{ modelAllow: [] }, 'modelAllow does not name it'],
    [{ modelDeny: ['*mini'] }, 'modelDeny names it'],
    [{ modelDeny: ['GPT-*'] }, undefined],
    [{ modelAllow: ['gpt-4o-mini'], modelDeny: ['gpt-*'] }, 'modelDeny names it'],
    [{ modelDeny: [] }, undefined],
  ])('R-BUDGET-5: %j: %s', (policy, problem) => {
    expect(modelProblem(GPT, policy)).toBe(problem)
  })

  it.each([
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['*ab*ab*', 'abab', true],
    ['*ab*ab*', 'aab', false],
    ['ab*b', 'ab', false],
    ['**', '', true],
    ['a.c', 'abc', false],
    ['', '', true],
    ['', 'a', false],
  ])('R-BUDGET-5: the pattern %j names %j: %s', (pattern, name, named) => {
    expect(matchesModel(pattern, name)).toBe(named)
  })

  it('R-BUDGET-5: patterns do what a regular expression would', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 })
    const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 })
    fc.assert(
      fc.property(text, name, (pattern, tried) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(tried)
        expect(matchesModel(pattern, tried)).toBe(expected)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a budget as it is written', () => {
  it.each([
    { maxTokens: 1, maxCostUsd: 0, maxToolCalls: 1, maxRetries: 0, thresholdPercent: 80, onExhaustion: 'fail' },
    { modelAllow: ['*'], modelDeny: [] },
    { maxTokens: 1, onExhaustion: 'interrupt' },
    {},
  ])('R-BUDGET-2: %j is one', budget => {
    expect(schemaProblems(BudgetSchema, budget, 'budget')).toEqual([])
  })

  it.each([
    [{ maxTokens: 0 }, 'maxTokens'],
    [{ maxTokens: 1.5 }, 'maxTokens'],
    [{ maxCostUsd: -1 }, 'maxCostUsd'],
    [{ maxCostUsd: 2_000_000 }, 'maxCostUsd'],
    [{ maxToolCalls: '1' }, 'maxToolCalls'],
    [{ maxRetries: -1 }, 'maxRetries'],
    [{ modelAllow: 'gpt' }, 'modelAllow'],
    [{ modelDeny: [''] }, 'modelDeny'],
    [{ thresholdPercent: 101 }, 'thresholdPercent'],
    [{ onExhaustion: 'ask' }, 'onExhaustion'],
    [{ maxIterations: 3 }, 'maxIterations'],
    [{ runTimeoutMs: 3 }, 'runTimeoutMs'],
  ])('R-BUDGET-2 R-BUDGET-6: %j is not, and is told why', (budget, field) => {
    expect(schemaProblems(BudgetSchema, budget, 'budget')).toEqual([expect.stringContaining(`budget.${field}`)])
  })

  it('R-BUDGET-2: what is no object is none', () => {
    for (const value of [null, 1, 'x', []]) expect(schemaProblems(BudgetSchema, value, 'budget')).toHaveLength(1)
  })
})
