import { expect, it } from 'vitest'
import { toolValue } from './tool-value.js'

it.each([
  ['{"total": 12.50, "items": [{"n": 1}, {"n": 2}]}', { total: 12.5, items: [{ n: 1 }, { n: 2 }] }],
  [' [1, "1e9", null] ', [1, '1e9', null]],
  ['{"a:b": "\\"c\\": 1", "d": {}}', { 'a:b': '"c": 1', d: {} }],
])('what is JSON and says no more than its value is judged as the value: %s', (text, value) => {
  expect(toolValue(text)).toEqual(value)
})

it.each([
  ['words', 'twelve'],
  ['a number alone', '12'],
  ['a field that is named twice, once for whoever parses and once for whoever reads', '{"total": 12, "total": 1200}'],
  ['the same, deeper', '{"a": [{"b": 1, "c": 2, "b": 3}]}'],
  ['a field that is named twice in two ways', '{"total": 12, "t\\u006ftal": 1200}'],
  ['a number with more digits than are kept', '{"account": 12345678901234567890}'],
  ['a number that would be infinite', '[1e400]'],
  ['nesting without an end', `${'['.repeat(2_000)}${']'.repeat(2_000)}`],
])('%s is judged as the text that the agent reads', (_, text) => {
  expect(toolValue(text)).toBe(text)
})
