import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ExpiredRuns } from '../engine/ports/retention.js'
import { expiredBy, type RetentionRules } from './rules.js'
import '../../test/support/seed.js'

const DAY = 86_400_000
const NOW = 1_000 * DAY

const tenant = fc.constantFrom('acme', 'rival', 'third')
const workflowId = fc.constantFrom('nightly', 'report', 'other')
const days = fc.integer({ min: 1, max: 9 })
const rules = fc.record(
  { days, tenants: fc.dictionary(tenant, days), workflows: fc.dictionary(workflowId, days) },
  { requiredKeys: ['tenants', 'workflows'] },
)
const run = fc.record({ tenant, workflowId, age: fc.integer({ min: 0, max: 10 * DAY }) })

/** The rule in one sentence: what the workflow says, else what the tenant says, else what is said of all. */
const isOver = (
  { tenants, workflows, days: all }: RetentionRules,
  one: { tenant: string; workflowId: string; age: number },
) => {
  const kept = workflows[one.workflowId] ?? tenants[one.tenant] ?? all ?? Number.POSITIVE_INFINITY
  return one.age > kept * DAY
}

const isFound = (query: Omit<ExpiredRuns, 'limit'>, one: { tenant: string; workflowId: string; age: number }) =>
  (query.tenant === undefined || query.tenant === one.tenant) &&
  (query.workflowId === undefined || query.workflowId === one.workflowId) &&
  !query.exceptTenants?.includes(one.tenant) &&
  !query.exceptWorkflows?.includes(one.workflowId) &&
  NOW - one.age < query.endedBefore

test('each run whose time is over is found by exactly one rule, and no other run by any', () => {
  let over = 0
  fc.assert(
    fc.property(rules, run, (given, one) => {
      const finders = expiredBy(given as RetentionRules, NOW).filter(query => isFound(query, one))
      const expected = isOver(given as RetentionRules, one)
      over += Number(expected)
      expect(finders).toHaveLength(expected ? 1 : 0)
    }),
    { numRuns: 2_000 },
  )
  expect(over).toBeGreaterThan(100)
})

test('without a rule nothing is ever over', () => {
  expect(expiredBy({ tenants: {}, workflows: {} }, NOW)).toEqual([])
})
