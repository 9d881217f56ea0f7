import { afterAll, expect, test } from 'vitest'
import type { JsonObject } from '../../../core/json.js'
import { isDecision } from '../../../core/supervisor/decision.js'
import { createSchemaChecker } from '../../../user-schema/schema-checker.js'
import { minimalValue } from './minimal-value.js'

const schemas = createSchemaChecker({ timeoutMs: 5000 })
afterAll(() => schemas.close())

test.each<JsonObject>([
  {},
  { type: 'string', minLength: 20 },
  { type: 'string', maxLength: 3 },
  { type: 'string', format: 'date-time' },
  { type: 'integer', minimum: 5, multipleOf: 3 },
  { type: 'number', exclusiveMinimum: 2 },
  { type: 'number', maximum: -4 },
  { type: ['null', 'boolean'] },
  { enum: ['x', 'y'] },
  { const: { a: 1 } },
  { type: 'array', items: { type: 'integer', minimum: 1 }, minItems: 3 },
  {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'number' } },
    required: ['a'],
    additionalProperties: false,
  },
  { type: 'object', properties: { a: { $ref: '#/$defs/b' } }, required: ['a'], $defs: { b: { enum: [7] } } },
  { anyOf: [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, { type: 'null' }] },
  {
    allOf: [
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      { properties: { b: { const: 1 } }, required: ['b'] },
    ],
  },
  { type: 'object', properties: { __proto__x: { type: 'string' } }, required: ['__proto__x'] },
])('%j', async schema => {
  const value = minimalValue(schema)
  expect(await schemas.check(schema, value, 't1')).toBeUndefined()
})

test('a schema that refers to itself has an end', () => {
  const schema = {
    $ref: '#/$defs/a',
    $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
  }
  expect(JSON.stringify(minimalValue(schema)).length).toBeLessThan(1000)
  expect(minimalValue({ $ref: '#' })).toBeDefined()
})

test.each<JsonObject>([
  {
    oneOf: [
      {
        type: 'object',
        properties: { kind: { const: 'next-worker' }, nextWorkerIds: { type: 'array' } },
        required: ['kind', 'nextWorkerIds'],
      },
      { type: 'object', properties: { kind: { const: 'terminate' }, reason: { type: 'string' } }, required: ['kind'] },
    ],
  },
  { type: 'object', properties: { kind: { enum: ['next-worker', 'clarify', 'terminate'] } }, required: ['kind'] },
])('an orchestrator is told to end: %j', schema => {
  const decision = minimalValue(schema)
  expect(decision).toMatchObject({ kind: 'terminate' })
  expect(isDecision(decision)).toBe(true)
})
