import { afterAll, describe, expect, test } from 'vitest'
import { createSchemaChecker } from '../../user-schema/schema-checker.js'
import { isDecision } from './decision.js'
import { DECISION_SCHEMA } from './decision-schema.js'

const schemas = createSchemaChecker()
afterAll(() => schemas.close())

describe('R-ORCH-1: what a model is asked for is what is then accepted', () => {
  const names = ['gated', 'acme.writer', 'x'.repeat(128), '', 'gated\0', 'Writer Agent', 'GATED', 'x'.repeat(129)]

  test.each(names)('a worker called %j', async name => {
    const decision = { kind: 'next-worker', nextWorkerIds: ['a', name] }
    const fits = (await schemas.check(DECISION_SCHEMA, decision, 't1')) === undefined
    expect(fits).toBe(isDecision(decision))
  })
})
