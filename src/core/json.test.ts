import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, type Json, utf8Length } from './json.js'

/** Values of JSON as they are in memory: text that is well formed, numbers that are finite, names that look like numbers. */
const text = fc.string({ unit: 'binary' })
const name = fc.oneof(
  text,
  fc.integer().map(String),
  fc.constantFrom('', '__proto__', 'constructor', 'toJSON', '\u20ac', '\ud83d\ude00', '\ufb33'),
)
const { value: json } = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
    text,
    fc.array(tie('value')),
    fc.dictionary(name, tie('value')),
  ),
}))

test('canonical JSON is that of RFC 8785, byte for byte, as another implementation writes it', () => {
  fc.assert(
    fc.property(json, value => {
      expect(canonicalJson(value)).toBe(canonicalize(value))
    }),
    { numRuns: 2_000 },
  )
})

test('canonical JSON does not depend on the order of names, and says the same as JSON', () => {
  fc.assert(
    fc.property(json, value => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
    }),
  )
})

test.each<[string, unknown, string]>([
  [
    'names in the order of UTF-16 units',
    { '\ufb33': 1, '\ud83d\ude00': 2, '\u20ac': 3, 1: 4, '\r': 5 },
    '{"\\r":5,"1":4,"\u20ac":3,"\ud83d\ude00":2,"\ufb33":1}',
  ],
  ['names that look like numbers', { 10: 1, 9: 2, a: 3 }, '{"10":1,"9":2,"a":3}'],
  ['no negative zero', [-0, 0], '[0,0]'],
  [
    'numbers as ECMAScript has them',
    [1e21, 1e-7, 333333333.3333333, 4.5, 1e30],
    '[1e+21,1e-7,333333333.3333333,4.5,1e+30]',
  ],
  ['escapes', '\u20ac$\u000f\nA\'B"\\\\"/', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
  ['nothing where nothing is', { b: undefined, a: { c: undefined }, d: [undefined] }, '{"a":{},"d":[null]}'],
])('canonical JSON has %s', (_, value, expected) => {
  expect(canonicalJson(value as Json)).toBe(expected)
  expect(canonicalize(value)).toBe(expected)
})

test('half a surrogate pair, which RFC 8785 does not know, is escaped: whatever can be stored has a hash', () => {
  expect(canonicalJson(['\ud800', { '\udc00': 1 }])).toBe('["\\ud800",{"\\udc00":1}]')
})

const reversed = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  )
}

describe('utf8Length', () => {
  test.each(['', 'plain', 'é', '\u07ff\u0800', '漢字', '😀 and é', '\ud83d alone'])(
    'of %j is what an encoder gives',
    text => {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
    },
  )
})
