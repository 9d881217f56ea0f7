import { expect, test } from 'vitest'
import type { Json } from '../json.js'
import { firstFew, MOST_TOLD } from './first-few.js'
import { Closed, Flag, ListOf, May } from './kinds.js'
import { schemaProblems } from './problems.js'

test('nothing further is looked at when there is enough to tell', () => {
  let looks = 0
  const problems = firstFew(Array.from({ length: 100_000 }), (_, i) => {
    looks += 1
    return i % 2 === 0 ? [`${i}`] : []
  })
  expect([problems.length, looks]).toEqual([MOST_TOLD, 2 * MOST_TOLD - 1])
})

test('of a document with more mistakes than anybody mends only the first few are told', () => {
  const schema = Closed({ on: May(Flag()), list: May(ListOf(Flag(), 0, 100_000)) })
  const strange = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`name${i}`, i]))
  expect(schemaProblems(schema, strange as Json)).toHaveLength(MOST_TOLD)
  expect(schemaProblems(schema, { list: Array.from({ length: 50_000 }, () => 'x') })).toHaveLength(MOST_TOLD)
})
