import { afterAll, expect, test } from 'vitest'
import { createLongRedactor } from './long-redactor.js'
import { createSecretRegister } from './redactor.js'

const register = createSecretRegister()
register.add('API_KEY', 'correct horse battery')
let here = 0
const counted = {
  ...register,
  redact: {
    ...register.redact,
    text(text: string) {
      here += 1
      return register.redact.text(text)
    },
  },
  holdsKnown(text: string) {
    here += 1
    return register.holdsKnown(text)
  },
}
const redactor = createLongRedactor(counted)
afterAll(() => redactor.close())

const words = (characters: number) => 'lorem ipsum '.repeat(characters / 12)
const CREDENTIAL = `ask_${'k'.repeat(43)}`

test('a long text is redacted by a worker as it would be here, wherever the secret is, and a short one here', async () => {
  for (const secret of ['correct horse battery', CREDENTIAL, 'Bearer \n abcdefghij'])
    for (const [before, after] of [
      [100_000, 0],
      [0, 100_000],
      [65_536, 65_536],
      [10, 10],
    ] as const) {
      const text = `${words(before)}${secret} ${words(after)}`
      const expected = register.redact.text(text)
      expect(expected).toContain('[REDACTED')
      here = 0
      expect((await redactor.text(text, 'acme')) === expected).toBe(true)
      expect(here).toBe(before + after > 1_000 ? 0 : 1)
    }
})

test('so are secrets that became known later, and what only looks like one is not taken for one that is known', async () => {
  const text = `${words(100_000)}a later secret${words(100_000)}${CREDENTIAL}`
  here = 0
  expect(await redactor.holdsKnown(text, 'acme')).toBe(false)
  expect(await redactor.text(text, 'acme')).toContain('a later secret')
  register.add('LATER', 'a later secret')
  expect(await redactor.holdsKnown(text, 'acme')).toBe(true)
  expect(await redactor.text(text, 'acme')).not.toContain('a later secret')
  expect(here).toBe(0)
  expect(await redactor.holdsKnown('a later secret', 'acme')).toBe(true)
})

test('the longest text that there can be is not too much for a worker', async () => {
  const text = `${words(64 * 1_048_576)}correct horse battery`
  const redacted = (await redactor.text(text, 'acme')) ?? ''
  expect(redacted.length).toBeGreaterThan(64 * 1_000_000)
  expect(redacted.endsWith('[REDACTED:API_KEY]')).toBe(true)
}, 120_000)
