import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createNeedles } from './needles.js'
import '../../test/support/seed.js'

const unit = fc.constantFrom('a', 'b', '\uffff', 'é')
const words = fc.uniqueArray(fc.string({ unit, minLength: 1, maxLength: 5 }), { maxLength: 6 })

/** By position: whether it is part of a word, found by looking for each word by itself. */
function partsOfWords(text: string, words: readonly string[]): boolean[] {
  const parts = Array.from({ length: text.length }, () => false)
  for (const word of words)
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) parts.fill(true, at, at + word.length)
  return parts
}

it('finds the same places as looking for each word by itself', () => {
  let found = 0
  fc.assert(
    fc.property(words, fc.string({ unit, maxLength: 40 }), (words, text) => {
      const spans = createNeedles(new Map(words.map(word => [word, word]))).find(text)
      const parts = Array.from({ length: text.length }, () => false)
      let before = 0
      for (const { start, end, label } of spans) {
        expect(start).toBeGreaterThanOrEqual(before)
        expect(text.slice(start, end)).toContain(label)
        parts.fill(true, start, end)
        before = end
        found += 1
      }
      expect(parts).toEqual(partsOfWords(text, words))
    }),
    { numRuns: 500 },
  )
  expect(found).toBeGreaterThan(100)
})

it('finds nothing when there is nothing to look for', () => {
  expect(createNeedles(new Map()).find('any text')).toEqual([])
})
