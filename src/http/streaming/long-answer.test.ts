import { expect, test } from 'vitest'
import type { Json } from '../../core/json.js'
import type { TurnTaking } from '../../timing/turns.js'
import { inTurns, jsonPieces } from './long-answer.js'

const MOST = 100
const TEXTS = ['', 'a', 'é"\\\n', '\u2028', 'x'.repeat(40)]

/** Any value, of a shape that a seed says; `undefined` stands where documents have it, as a member. */
function madeOf(seed: number) {
  let state = seed
  const draw = (n: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % n
  }
  const value = (depth: number): unknown => {
    const kind = draw(depth > 4 ? 4 : 7)
    if (kind === 0) return TEXTS[draw(TEXTS.length)]
    if (kind === 1) return draw(1_000) / 7
    if (kind === 2) return [null, true, false][draw(3)]
    if (kind === 3) return []
    if (kind === 4) return Array.from({ length: draw(12) }, () => value(depth + 1))
    const names = Array.from({ length: draw(12) }, (_, i) => `${TEXTS[draw(TEXTS.length)]}${i}`)
    return Object.fromEntries(names.map(name => [name, draw(9) === 0 ? undefined : value(depth + 1)]))
  }
  return value(0) as Json
}

test('pieces make the text that JSON.stringify makes, and none is much longer than it may be', () => {
  let long = 0
  for (let seed = 1; seed <= 400; seed += 1) {
    const value = madeOf(seed)
    const pieces = [...jsonPieces(value, MOST)]
    expect(pieces.join('')).toBe(JSON.stringify(value))
    // A number counts for six characters, and what is written with a backslash for one.
    expect(Math.max(...pieces.map(piece => piece.length))).toBeLessThanOrEqual(3.5 * MOST)
    if (pieces.length > 10) long += 1
  }
  expect(long).toBeGreaterThan(50)
})

test('a part is handed out in a turn, and nothing is rendered before it is asked for', async () => {
  const happened: string[] = []
  const turns: TurnTaking = {
    next: async name => void happened.push(`turn of ${name}`),
    room: () => undefined,
    spent: () => undefined,
  }
  function* pieces() {
    for (let i = 0; i < 7; i += 1) {
      happened.push(`piece ${i}`)
      yield 'x'.repeat(50)
    }
  }
  const parts = inTurns(pieces(), MOST, turns, 'acme')
  expect(await parts.next()).toEqual({ done: false, value: 'x'.repeat(100) })
  expect(happened).toEqual(['piece 0', 'piece 1'])
  expect(await parts.next()).toEqual({ done: false, value: 'x'.repeat(100) })
  expect(happened).toEqual(['piece 0', 'piece 1', 'turn of acme', 'piece 2', 'piece 3'])
  const rest: string[] = []
  for await (const part of parts) rest.push(part)
  expect(rest.map(part => part.length)).toEqual([100, 50])
})
