import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { CASES } from './cases.js'

const root = path.resolve(import.meta.dirname, '../..')
const read = (file: string) => fs.readFileSync(path.join(root, file), 'utf8')
const numbersIn = (block: string) =>
  [...read(`test/attacks/${block}.test.ts`).matchAll(/^attack\(\s*(\d+),/gm)].map(match => Number(match[1]))

const entries = Object.entries(CASES).map(([number, one]) => ({ number: Number(number), ...one }))

const LAST = 72

test('no number is left out', () => {
  expect(entries.map(({ number }) => number)).toEqual(Array.from({ length: LAST }, (_, i) => i + 1))
})

test('every attack that applies has a test under its number, here or where it says', () => {
  const untested = entries.filter(({ number, block, elsewhere = [], notApplicable }) => {
    if (notApplicable !== undefined) return false
    return !numbersIn(block).includes(number) && elsewhere.length === 0
  })
  expect(untested).toEqual([])
})

test('what is said to be tested elsewhere is there', () => {
  const missing = entries.flatMap(({ number, elsewhere = [] }) =>
    elsewhere.filter(([file, title]) => !read(file).includes(title)).map(where => [number, ...where]),
  )
  expect(missing).toEqual([])
})

test('what does not apply has a reason, and no test; every test is of a case in its block', () => {
  for (const { number, block, elsewhere, notApplicable } of entries) {
    if (notApplicable === undefined) continue
    expect([number, notApplicable.length > 0, elsewhere, numbersIn(block).includes(number)]).toEqual([
      number,
      true,
      undefined,
      false,
    ])
  }
  for (const block of new Set(entries.map(one => one.block)))
    for (const number of numbersIn(block)) expect([number, CASES[number]?.block]).toEqual([number, block])
})
