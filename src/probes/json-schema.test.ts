import { afterAll, expect, test } from 'vitest'
import { detailsOf, meansOf, subjectOf } from '../../test/e2e/probes/rig.js'
import type { Json, JsonObject } from '../core/json.js'
import { createSchemaChecker } from '../user-schema/schema-checker.js'
import { probeJsonSchema } from './json-schema.js'

const schemas = createSchemaChecker({ timeoutMs: 5_000 })
afterAll(() => schemas.close())

const probe = (schema: JsonObject, output: Json, path?: string) =>
  probeJsonSchema(
    { probe_id: 'p', type: 'json-schema', schema, ...(path !== undefined && { path }) },
    subjectOf(output),
    meansOf({ schemas }),
  )

test('a value conforms, or the evidence says what is wrong', async () => {
  const schema = { type: 'object', required: ['a'] }
  expect((await probe(schema, { x: { a: 1 } }, '/x')).outcome).toBe('held')
  const result = await probe(schema, { x: {} }, '/x')
  expect(result.outcome).toBe('failed')
  expect(result.evidence).toEqual([
    { evidence_type: 'comparison', ref: '/x', detail: 'the value must have the property "a"' },
  ])
  expect(detailsOf(await probe(schema, {}, '/y'))).toBe('nothing at /y; the output has no names')
})

test('a schema that cannot be used says nothing of the value', async () => {
  expect((await probe({ type: 'no such type' }, 1)).outcome).toBe('unavailable')
  expect((await probe({ $ref: 'https://example.com/schema' }, 1)).outcome).toBe('unavailable')
})

test('a schema that takes too long says nothing of the value', async () => {
  const hasty = createSchemaChecker({ timeoutMs: 100 })
  // Every level asks both branches of the next, so that the last is reached 2^40 times.
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => {
      const next = i === 39 ? { const: 1 } : { $ref: `#/$defs/d${i + 1}` }
      return [`d${i}`, { anyOf: [{ allOf: [next, { const: 2 }] }, { allOf: [next, { const: 3 }] }] }]
    }),
  )
  const means = meansOf({ schemas: hasty })
  const schema = { $defs, $ref: '#/$defs/d0' }
  const result = await probeJsonSchema({ probe_id: 'p', type: 'json-schema', schema }, subjectOf(1), means)
  await hasty.close()
  expect(result.outcome).toBe('unavailable')
})
