import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { BriefContents } from '../../engine/ports/agents.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import { createSecrets } from '../../secrets/secrets.js'
import { judgeReply } from './judge.js'
import type { Spoken } from './spoken.js'

const SECRET = 'CNRY-secret-value-123'
const secrets = createSecrets(async () => SECRET)
await secrets.resolve({ env: 'S' })

/** Says no to whatever holds the word `wrong`. */
const schemas: SchemaChecker = {
  inspect: async () => undefined,
  check: async (_, value) => (JSON.stringify(value).includes('wrong') ? 'it is wrong' : undefined),
  violation: async (_, value) =>
    JSON.stringify(value).includes('wrong')
      ? { problem: 'it is wrong', steps: ['a'], rule: 'must be right' }
      : undefined,
  close: async () => undefined,
}

const plain: BriefContents = { system: '', user: '', tools: [], wrapped: false }
const wrapped: BriefContents = { ...plain, wrapped: true, returnSchema: { type: 'object' } }
const withTool: BriefContents = { ...plain, tools: [{ toolId: 'a:b', name: 'a_b', description: '', inputSchema: {} }] }

const spoken = (over: Partial<Spoken>): Spoken => ({
  text: '',
  reasoning: '',
  calls: [],
  finish: { kind: 'done' },
  usage: { inputTokens: 1, outputTokens: 1 },
  ...over,
})

const judged = (over: Partial<Spoken>, brief = plain, verbosity: 'full' | 'summary' | 'off' = 'full') =>
  judgeReply(spoken(over), { tenant: 't1', brief, verbosity }, { schemas, secrets })
const said = async (over: Partial<Spoken>, brief = plain) => (await judged(over, brief)).told.said

describe('answers', () => {
  test('a text is the result where text was asked for, also when it looks like JSON', async () => {
    expect(await said({ text: '{"a":1}' })).toEqual({ kind: 'answered', result: '{"a":1}' })
  })

  test.each([0, 0.5, 1])('confidence %d is taken', async confidence => {
    const text = JSON.stringify({ result: { a: 1 }, confidence, more: 'ignored' })
    expect(await said({ text }, wrapped)).toEqual({ kind: 'answered', result: { a: 1 }, confidence })
  })

  test.each(['-0.1', '1.01', '1e999', '"0.9"', 'null', 'NaN', 'true', '[1]', '{}'])(
    'R-LIVE-13: confidence %s is a violation, not a confidence',
    async confidence => {
      const answer = await said({ text: `{"result": {}, "confidence": ${confidence}}` }, wrapped)
      expect(answer).toMatchObject({ kind: 'unusable', reason: 'schema-violation' })
    },
  )

  test.each([
    ['{"confidence": 1}', 'result is missing'],
    ['{"result": {}}', 'confidence must be'],
    ['[1]', 'must be a JSON object'],
    ['{"result": "wrong", "confidence": 1}', 'it is wrong'],
  ])('R-MANIF-7, R-LIVE-11: %s never leaves', async (text, problem) => {
    const { told, contents } = await judged({ text }, wrapped)
    expect(told.said).toMatchObject({ kind: 'unusable', reason: 'schema-violation' })
    expect(contents.problem).toContain(problem)
    // R-LIVE-33: the log is told that it is wrong; what is wrong may quote it.
    expect(JSON.stringify(told)).not.toContain(problem)
  })

  test.each<[string, { field: string; rule?: string | RegExp; value: string }]>([
    ['{"confidence": 1}', { field: 'answer', rule: 'must have the property "result"', value: '{"confidence":1}' }],
    ['{"result": {}, "confidence": 7}', { field: 'answer.confidence', rule: /from 0 to 1/, value: '7' }],
    ['{"result": {"a": "wrong"}, "confidence": 1}', { field: 'result.a', rule: 'must be right', value: '"wrong"' }],
    [`{"result": {"a": "wrong ${SECRET}"}, "confidence": 1}`, { field: 'result.a', value: '"wrong [REDACTED:S]"' }],
  ])('R-LIVE-11: of %s is kept which field breaks which rule, and what stands there', async (text, { rule, ...at }) => {
    const { contents, told } = await judged({ text }, wrapped)
    expect(contents.violation).toMatchObject(at)
    if (rule !== undefined) expect(contents.violation?.rule).toMatch(rule)
    expect(JSON.stringify(told)).not.toMatch(/wrong|right/)
  })

  test('R-LIVE-11: what stands there is cut, not kept whole', async () => {
    const text = JSON.stringify({ result: { a: `wrong${'x'.repeat(5_000)}` }, confidence: 1 })
    expect((await judged({ text }, wrapped)).contents.violation?.value.length).toBeLessThan(1_010)
  })

  test('a schema without a wrapper is that of the whole answer', async () => {
    const brief = { ...plain, returnSchema: { type: 'object' } }
    expect(await said({ text: '{"kind":"terminate"}' }, brief)).toEqual({
      kind: 'answered',
      result: { kind: 'terminate' },
    })
    expect(await said({ text: '{"kind":"wrong"}' }, brief)).toMatchObject({ kind: 'unusable' })
  })

  test('control characters are gone from results, names and what is kept, escaped or not', async () => {
    const text = '{"result": {"a\\u0000\\nb": "x\\u001b\u0007y\\nz"}, "confidence": 1}'
    const { told, contents } = await judged({ text }, wrapped)
    expect(told.said).toMatchObject({ result: { ab: 'xy\nz' } })
    expect(contents.text).not.toContain('\u0007')
  })
})

describe('R-LIVE-30: what is no answer stays what it is', () => {
  const text = '{"result": {}, "confidence": 1}'
  test.each<[Spoken['finish'], object]>([
    [{ kind: 'refused' }, { kind: 'refused' }],
    [
      { kind: 'refused', safetyCategory: 'hate' },
      { kind: 'refused', safetyCategory: 'hate' },
    ],
    [
      { kind: 'truncated', stopReason: 'length' },
      { kind: 'truncated', stopReason: 'length' },
    ],
  ])('%j, although its text is a perfect answer', async (finish, expected) => {
    expect(await said({ text, finish, calls: [{ id: 'c', name: 'a_b', input: '{}' }] }, wrapped)).toEqual(expected)
  })
})

describe('tool calls', () => {
  test('R-TOOL-3: the hash is that of the redacted arguments as canonical JSON', async () => {
    const input = `{"b": 1, "a": "${SECRET}", "10": 0, "9": 0}`
    const { told, contents } = await judged({ calls: [{ id: 'c', name: 'a_b', input }] }, withTool)
    const canonical = '{"10":0,"9":0,"a":"[REDACTED:S]","b":1}'
    const argsHash = createHash('sha256').update(canonical).digest('hex')
    expect(told.said).toEqual({ kind: 'tools', calls: [{ toolId: 'a:b', argsHash }] })
    expect(contents.calls[0]?.args).toEqual({ a: '[REDACTED:S]', b: 1, 9: 0, 10: 0 })
  })

  test.each([
    ['', undefined],
    ['{}', undefined],
    ['[1]', /object/],
    ['null', /object/],
    ['{"a"', /not JSON/],
    ['{"a": "wrong"}', /wrong/],
    [`{"a":${'['.repeat(90)}${']'.repeat(90)}}`, /deeply/],
  ])('arguments %j', async (input, problem) => {
    const { told, contents } = await judged({ calls: [{ id: 'c', name: 'a_b', input }] }, withTool)
    const [call] = told.said.kind === 'tools' ? told.said.calls : []
    expect(call?.argsHash).toMatch(/^[0-9a-f]{64}$/)
    expect(call?.problem).toBe(problem && 'the arguments do not fit')
    if (problem === undefined) expect(contents.calls[0]).not.toHaveProperty('problem')
    else expect(contents.calls[0]?.problem).toMatch(problem)
    expect(contents.calls[0]?.violation === undefined).toBe(problem === undefined)
  })

  test.each(['A_b', 'a_b ', 'a:b', 'a_b\u0000', 'а_b', '', 'constructor', '__proto__', 'toString'])(
    'R-TOOL-1: %j is no tool of the surface',
    async name => {
      const { told, contents } = await judged({ calls: [{ id: 'c', name, input: '{}' }] }, withTool)
      expect(told.said).toMatchObject({ kind: 'tools', calls: [{ argsHash: expect.any(String) }] })
      expect(told.said.kind === 'tools' && told.said.calls[0]).not.toHaveProperty('toolId')
      expect(contents.calls[0]?.name).toMatch(/^[\w-]{1,64}$/)
    },
  )

  test('ids are made usable and different', async () => {
    const calls = ['x', 'x', '', 'a b', 'y'.repeat(100)].map(id => ({ id, name: 'a_b', input: '{}' }))
    const { contents } = await judged({ calls }, withTool)
    expect(contents.calls.map(call => call.id)).toEqual(['x', 'call_1', 'call_2', 'call_3', 'call_4'])
  })

  test('a reply that asks for too much at once is asked for again', async () => {
    const calls = Array.from({ length: 33 }, (_, i) => ({ id: `c${i}`, name: 'a_b', input: '{}' }))
    expect(await said({ calls }, withTool)).toMatchObject({ kind: 'unusable' })
  })
})

describe('reasoning', () => {
  const text = '{"result": {}, "confidence": 1, "reasoning": "written"}'
  test('a model’s own comes before what it has written', async () => {
    expect((await judged({ text, reasoning: 'own' }, wrapped)).told.reasoning).toBe('own')
    expect((await judged({ text }, wrapped)).told.reasoning).toBe('written')
  })

  test('R-EVENT-5: cut for a summary, absent when off', async () => {
    const reasoning = 'word '.repeat(2000)
    expect((await judged({ text: 'x', reasoning }, plain, 'summary')).told.reasoning?.length).toBeLessThanOrEqual(2048)
    expect((await judged({ text: 'x', reasoning }, plain, 'full')).told.reasoning).toBe(reasoning)
    expect((await judged({ text: 'x', reasoning }, plain, 'off')).told).not.toHaveProperty('reasoning')
  })
})

test('A4 R-ENV-5: a known secret is nowhere in what is told and kept', async () => {
  const replies: [Partial<Spoken>, BriefContents][] = [
    [{ text: SECRET, reasoning: SECRET, carry: { s: SECRET } }, plain],
    [{ text: `{"result": {"s": "${SECRET}"}, "confidence": 1, "reasoning": "${SECRET}"}` }, wrapped],
    [{ calls: [{ id: 'c', name: 'a_b', input: `{"s": "${SECRET}"}` }] }, withTool],
    [{ calls: [{ id: 'c', name: 'a_b', input: SECRET }] }, withTool],
  ]
  for (const [reply, brief] of replies) expect(JSON.stringify(await judged(reply, brief))).not.toContain(SECRET)
})
