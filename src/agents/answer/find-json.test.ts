import { describe, expect, test } from 'vitest'
import { findJson } from './find-json.js'

describe('findJson', () => {
  test.each([
    ['{"a":1}', { a: 1 }, undefined],
    ['  [1, 2]\n', [1, 2], undefined],
    ['"text"', 'text', undefined],
    ['Sure!\n```json\n{"a": 1}\n```\nDone.', { a: 1 }, 'markdown-fence'],
    ['```\n[1]\n```', [1], 'markdown-fence'],
    ['```js\nnot json\n```\n```json\n{"a":1}\n```', { a: 1 }, 'markdown-fence'],
    ["{'a': 1, b: 'x',}", { a: 1, b: 'x' }, 'jsonrepair'],
    ['{"a": {"b": 1', { a: { b: 1 } }, 'jsonrepair'],
    ['Of course:\n```json\n{"a": 1,}\n```', { a: 1 }, 'jsonrepair'],
    ['The answer is {"a": "} not the end {"} I think.', { a: '} not the end {' }, 'brace-walker'],
    ['[{"a":1},{"a":"b\\":\\\\"}]', [{ a: 1 }, { a: 'b":\\' }], undefined],
    ['{not this} but {"a": 1}', { a: 1 }, 'brace-walker'],
  ])('%j', (text, value, recovery) => {
    expect(findJson(text)).toEqual({ ok: true, value, ...(recovery === undefined ? {} : { recovery }) })
  })

  test.each([
    ['', /empty/],
    ['just words', /not JSON/],
    ['one {"a":1} or {"a":2}', /more than one/],
    ['```json\n{"a":1}\n```\nor\n```json\n{"a":2}\n```', /more than one/],
    [`${'['.repeat(100)}${']'.repeat(100)}`, /deeply/],
    [`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`, /deeply/],
    ['{'.repeat(100_000), /not JSON|deeply/],
    ['{"grounded":1,"grounded":5}', /key twice/],
    ['{"a":[{"b":{"c":1,"d":2,"\\u0063":3}}]}', /key twice/],
    ['{"grounded":1,"grounded\\u0007":5}', /key twice/],
    ['Sure:\n```json\n{"a":1,"a":2}\n```', /key twice/],
    ["{'a': 1, 'a': 2,}", /key twice/],
    ['I say {"a":1,"a":2}.', /key twice/],
  ])('%.40j is nothing to go by', (text, problem) => {
    const found = findJson(text)
    expect(found.ok ? found.value : found.problem).toMatch(problem)
  })

  test('names that reach a prototype are plain data', () => {
    const found = findJson('{"__proto__": {"polluted": true}, "a": 1}')
    expect(found.ok && Object.keys(found.value as object)).toEqual(['__proto__', 'a'])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('what would take the repairing library minutes is not put to it', () => {
    expect(findJson(`{${'"'.repeat(500_000)}`)).toMatchObject({ ok: false })
    expect(findJson(`{"a":"${'x" y '.repeat(100_000)}`)).toMatchObject({ ok: false })
  })
})
