import { Type } from 'typebox'
import { expect, test } from 'vitest'
import type { Json } from '../json.js'
import { AnyObject, Closed, Flag, ListOf, May, Text, Whole } from './kinds.js'
import { readAs } from './problems.js'

const Step = Type.Union([
  Closed({ kind: Type.Literal('say'), text: Text(9), loud: May(Flag({ default: false })) }),
  Closed({ kind: Type.Literal('keep'), value: Type.Unknown(), options: May(AnyObject()) }),
])
const Plan = Closed({
  id: Text(9),
  retries: May(Whole(0, 9, { default: 2 })),
  note: May(Type.Union([Text(9), Type.Null()], { default: 'none' })),
  limits: May(Closed({ tries: May(Whole(1, 9, { default: 3 })) }, { default: {} })),
  steps: May(ListOf(Step, 0, 9, { default: [] })),
})

const textOf = (raw: Json): string => {
  const read = readAs(Plan, raw)
  return read.ok ? JSON.stringify(read.value) : read.problems.join()
}

test('what was left out is filled in, at every depth, and what was said stays, null included', () => {
  expect(textOf({ id: 'a' })).toBe('{"id":"a","retries":2,"note":"none","limits":{"tries":3},"steps":[]}')
  expect(textOf({ id: 'a', retries: 0, note: null, limits: { tries: 1 } })).toBe(
    '{"id":"a","retries":0,"note":null,"limits":{"tries":1},"steps":[]}',
  )
})

test('documents that differ in the order of their fields are the same text; what nobody knows keeps its own order', () => {
  const steps = [
    { text: 'x', kind: 'say' },
    { value: { z: 1, a: 2 }, kind: 'keep' },
  ]
  expect(textOf({ steps, retries: 1, id: 'a' })).toBe(
    '{"id":"a","retries":1,"note":"none","limits":{"tries":3},"steps":[{"kind":"say","text":"x","loud":false},{"kind":"keep","value":{"z":1,"a":2}}]}',
  )
})

test('names that reach for a prototype are data', () => {
  const value = JSON.parse('{"__proto__":{"loud":true},"constructor":1}') as Json
  const steps = [{ kind: 'keep', value, options: value }]
  expect(textOf({ id: 'a', steps })).toContain(
    '"value":{"__proto__":{"loud":true},"constructor":1},"options":{"__proto__":{"loud":true},"constructor":1}',
  )
})
