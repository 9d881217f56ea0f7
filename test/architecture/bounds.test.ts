import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')

/** What is bounded, the file that holds it, the words that do, what they become without it, and the tests that then fail. */
type Bound = readonly [what: string, file: string, was: string, becomes: string, tests: string]

const bounds = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'bounds.json'), 'utf8')) as readonly Bound[]

test('every bound of the list stands where the list says, once, and the tests that hold it are there', () => {
  expect(bounds.length).toBeGreaterThan(35)
  expect(new Set(bounds.map(([what]) => what)).size).toBe(bounds.length)
  const wrong = bounds.filter(([, file, was, becomes, tests]) => {
    const text = fs.readFileSync(path.join(root, file), 'utf8')
    return text.split(was).length !== 2 || was === becomes || !fs.existsSync(path.join(root, tests))
  })
  expect(wrong).toEqual([])
})

test('every quota of a tenant is in the list', () => {
  const quotas = fs.readFileSync(path.join(root, 'src/core/quotas.ts'), 'utf8')
  const numbers = [...quotas.matchAll(/^ \* {2}(Q\d+) /gm)].map(([, number]) => number)
  expect(numbers.length).toBeGreaterThan(5)
  expect(numbers.filter(number => !bounds.some(([what]) => what.startsWith(`${number} `)))).toEqual([])
})
