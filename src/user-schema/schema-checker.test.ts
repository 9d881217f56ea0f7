import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../core/json.js'
import { PoolWorker } from '../workers/pool-worker.js'
import { createSchemaChecker } from './schema-checker.js'

const built = fileURLToPath(new URL('../../dist/user-schema/schema-checker.js', import.meta.url))
const checker = createSchemaChecker()

beforeAll(() => {
  if (!existsSync(built)) throw new Error('the worker runs from dist: run `npx tsc -p tsconfig.json` first')
})
afterAll(() => checker.close())

const GOOD: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    recursionLimit: { type: 'integer', minimum: 1 },
    mode: { enum: ['fast', 'slow'] },
    when: { type: 'string', format: 'date-time' },
    children: { type: 'array', items: { $ref: '#' } },
  },
  required: ['recursionLimit'],
  additionalProperties: false,
}

describe('schemas users write', () => {
  test.each<[Json, string | undefined]>([
    [{ recursionLimit: 3 }, undefined],
    [{ recursionLimit: 3, children: [{ recursionLimit: 1 }] }, undefined],
    [{ recursionLimit: 'x' }, 'recursionLimit must be integer'],
    [{ recursionLimit: 3, children: [{ recursionLimit: 0 }] }, 'children.0.recursionLimit must be >= 1'],
    [{}, 'the value must have the property "recursionLimit"'],
    [{ recursionLimit: 3, extra: 1 }, 'the value must not have the property "extra"'],
    [{ recursionLimit: 3, mode: 'odd' }, 'mode must be one of "fast", "slow"'],
    [{ recursionLimit: 3, when: 'now' }, 'when must match format "date-time"'],
    [7, 'the value must be object'],
  ])('%j is judged: %s', async (value, problem) => {
    expect(await checker.check(GOOD, value, 't1')).toBe(problem)
  })

  test.each<[string, JsonObject, RegExp]>([
    ['a type that does not exist', { type: 'strin' }, /^is not a valid JSON Schema: \/type must be/],
    ['a pattern that is none', { pattern: '(' }, /^is not a valid JSON Schema: Invalid regular expression/],
    ['a reference to nothing', { $ref: '#/$defs/none' }, /^is not a valid JSON Schema: can't resolve reference/],
    ['another dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }, /^is not of the dialect/],
    ['an asynchronous schema', { $async: true, type: 'object' }, /^uses \$async/],
  ])('%s is refused with the reason', async (_what, schema, problem) => {
    expect(await checker.inspect(schema, 't1')).toMatch(problem)
    expect(await checker.check(schema, {}, 't1')).toMatch(/^the schema /)
  })

  test('names that look like keywords are only names, and data is only data', async () => {
    const schema: JsonObject = {
      properties: {
        $ref: { type: 'string' },
        pattern: { type: 'object' },
        $dynamicRef: {},
        $data: { type: 'integer' },
      },
      default: { $ref: 'http://nowhere' },
      enum: [{ $ref: 'http://nowhere', $data: 1 }],
    }
    expect(await checker.inspect(schema, 't1')).toBeUndefined()
    expect(await checker.check(schema, { $ref: 'http://nowhere', $data: 1 }, 't1')).toBeUndefined()
  })

  test('two schemas with one $id do not meet', async () => {
    expect(await checker.check({ $id: 'urn:acme:x', type: 'string' }, 'a', 't1')).toBeUndefined()
    expect(await checker.check({ $id: 'urn:acme:x', type: 'number' }, 'a', 't1')).toBe('the value must be number')
  })

  test('attack 55: __proto__ as a name is data', async () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}')
    expect(await checker.check(schema, JSON.parse('{"__proto__":"x"}'), 't1')).toBeUndefined()
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })
})

const nested = (levels: number): JsonObject => {
  let schema: JsonObject = { type: 'string' }
  for (let i = 0; i < levels; i++) schema = { items: schema }
  return schema
}

/** a0 is small; each next one refers twice to the one before: 2³² ways through. */
const doubling = (key: 'allOf' | 'anyOf'): JsonObject => {
  const $defs: Record<string, JsonObject> = { a0: key === 'allOf' ? { type: 'object' } : { type: 'null' } }
  for (let i = 1; i <= 32; i++)
    $defs[`a${i}`] = { [key]: [{ $ref: `#/$defs/a${i - 1}` }, { $ref: `#/$defs/a${i - 1}` }] }
  return { $ref: '#/$defs/a32', $defs }
}

const properties = (count: number): JsonObject => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}])),
})

const objects = Array.from({ length: 20_000 }, (_, i) => ({ a: { b: { c: i } } }))
const TIME = /^the schema or the value took too long/

const BOMBS: [string, JsonObject, Json, RegExp][] = [
  ['a pattern of exponential time', { type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`, TIME],
  [
    'a patternProperties of exponential time',
    { patternProperties: { '^(a|a)*$': {} } },
    { [`${'a'.repeat(40)}!`]: 1 },
    TIME,
  ],
  ['a pattern of more than 1,000 characters', { pattern: 'a'.repeat(1001) }, '', /pattern of more than 1000/],
  ['2³² paths through allOf', doubling('allOf'), {}, TIME],
  ['2³² paths through anyOf', doubling('anyOf'), {}, TIME],
  ['5,000 levels', nested(5_000), [], /nested deeper than 32/],
  ['5,000 levels of data', { const: JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) }, [], /nested deeper than 32/],
  ['20,000 properties', properties(20_000), {}, /more than 2000 subschemas|larger than 65536/],
  ['2,001 properties', properties(2_001), {}, /more than 2000 subschemas/],
  ['uniqueItems over 20,000 objects', { uniqueItems: true }, objects, TIME],
  ['65 kB of text', { description: 'é'.repeat(33_000) }, {}, /larger than 65536 bytes/],
  ['a reference over http', { $ref: 'http://127.0.0.1:1/x.json' }, {}, /only references within the schema/],
  [
    'a reference to a file',
    { properties: { a: { $ref: 'file:///etc/passwd' } } },
    {},
    /only references within the schema/,
  ],
  ['a relative reference', { anyOf: [{ $ref: 'other.json#/a' }] }, {}, /only references within the schema/],
  [
    'a reference hidden in an unknown keyword',
    { $ref: '#/x', x: { $ref: 'http://127.0.0.1:1/' } },
    {},
    /only references/,
  ],
  ['$dynamicRef', { items: { $dynamicRef: '#x' } }, [], /uses \$dynamicRef/],
  ['$recursiveRef', { items: { $recursiveRef: '#' } }, [], /uses \$recursiveRef/],
  ['$data', { properties: { a: { minimum: { $data: '1/b' } } } }, {}, /uses \$data/],
  [
    'a schema that only refers to itself',
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    {},
    /./,
  ],
  ['a value of 100,000 levels', {}, JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), /nested too deeply/],
]

describe('attack 56: a schema bomb is refused, harms nobody, and the next schema is judged as ever', () => {
  test.each(BOMBS)('%s', async (_what, schema, value, problem) => {
    await checker.check(GOOD, { recursionLimit: 1 }, 't1')
    let over = false
    const answer = checker.check(schema, value, 't1').finally(() => {
      over = true
    })
    // Unless it is refused on sight, the event loop goes on turning while the schema has a thread to itself.
    let turns = 0
    for (; !over; turns += 1) await new Promise(resolve => setImmediate(resolve))
    const refused = await answer
    expect(refused).toMatch(problem)
    if (refused === undefined || TIME.test(refused)) expect(turns).toBeGreaterThan(10)
    expect(await checker.check(GOOD, { recursionLimit: 3 }, 't1')).toBeUndefined()
    expect(await checker.check(GOOD, { recursionLimit: 0 }, 't1')).toBe('recursionLimit must be >= 1')
  })

  test('while one worker is held up another goes on', async () => {
    const slow = checker.check({ pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`, 't1')
    let over = false
    slow.then(() => {
      over = true
    })
    expect(await checker.check(GOOD, { recursionLimit: 3 }, 't1')).toBeUndefined()
    // The second worker may have had to start; then the bomb is over too, and nothing can be said.
    if (!over) expect(await slow).toMatch(TIME)
    await slow
  })
})

describe('workers', () => {
  test('many checks at once are all answered', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => checker.check(GOOD, { recursionLimit: i }, 't1')),
    )
    expect(answers.filter(answer => answer !== undefined)).toEqual(['recursionLimit must be >= 1'])
  })

  test('a checker that is closed rejects: it has no opinion on any schema', async () => {
    const own = createSchemaChecker({ workers: 1 })
    const open = own.check(GOOD, { recursionLimit: 1 }, 't1')
    const waiting = own.check(GOOD, { recursionLimit: 2 }, 't1')
    const both = Promise.allSettled([open, waiting])
    await own.close()
    for (const result of await both) expect(result.status).toBe('rejected')
    await expect(own.inspect({}, 't1')).rejects.toThrow('closed')
  })

  test('closing a checker that was never used starts nothing', async () => {
    await createSchemaChecker().close()
  })

  test('an idle worker does not keep the process alive, a waiting check does', () => {
    const script = `
      import { createSchemaChecker } from ${JSON.stringify(built)}
      console.log(await createSchemaChecker().check({ type: 'string' }, 1, null))`
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 10_000,
    })
    expect(printed.trim()).toBe('the value must be string')
  })
})

describe('W1–W3: one worker thread', () => {
  test('W2: a thread that cannot start is a fault of the installation, not a verdict', async () => {
    const worker = new PoolWorker(new URL('./no-such-worker.js', import.meta.url))
    await expect(worker.run({ schema: '{}' }, 250)).rejects.toThrow('did not start')
    expect(worker.gone).toBe(true)
  })

  test('W3: a thread that ends with a job in hand answers for it and is not used again', async () => {
    const worker = new PoolWorker(pathToFileURL(built.replace('schema-checker', 'worker')))
    const slow = worker.run({ schema: '{"pattern":"^(a+)+$"}', value: JSON.stringify(`${'a'.repeat(40)}!`) }, 60_000)
    await worker.close()
    await expect(slow).rejects.toThrow('did not start')
    const again = new PoolWorker(pathToFileURL(built.replace('schema-checker', 'worker')))
    expect(await again.run({ schema: '{}', value: '1' }, 5_000)).toEqual({ kind: 'conforms' })
    const cut = again.run({ schema: '{"pattern":"^(a+)+$"}', value: JSON.stringify(`${'a'.repeat(40)}!`) }, 60_000)
    await again.close()
    expect(await cut).toEqual({ kind: 'killed' })
    expect(again.gone).toBe(true)
  })
})
