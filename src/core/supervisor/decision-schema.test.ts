import { afterAll, describe, expect, test } from 'vitest'
import { createSchemaChecker } from '../../user-schema/schema-checker.js'
import { isDecision } from './decision.js'
import { given } from '../../testing/given-when-then.js'
import { DECISION_SCHEMA, DECISION_SCHEMA_HERE } from './decision-schema.js'

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

describe('workers at peers', () => {
  const decision = { kind: 'next-worker', nextWorkerIds: ['peer:beta/write'] }

  /** What the model of a supervisor is asked to fit, as its wait has it. */
  const askedOf = (prompt: string) => {
    const run = given({
      nodes: { lead: { type: 'core.orchestrator.supervisor', config: { prompt } }, hand: 'core.dispatch' },
      edges: ['lead > hand', 'hand > lead'],
    }).start()
    const started = run.log.find(({ type, nodeId }) => type === 'node.started' && nodeId === 'lead')
    return (started as { secret?: { wait?: { returnSchema?: unknown } } } | undefined)?.secret?.wait?.returnSchema
  }

  test('are asked for where the workflow names one, and nowhere else', async () => {
    expect(await schemas.check(DECISION_SCHEMA, decision, 't1')).toBeUndefined()
    expect(await schemas.check(DECISION_SCHEMA_HERE, decision, 't1')).toBeDefined()
    expect(askedOf('Hand over to peer:beta/write.')).toEqual(DECISION_SCHEMA)
    expect(askedOf('Hand over to write.')).toEqual(DECISION_SCHEMA_HERE)
  })
})
