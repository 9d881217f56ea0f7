import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairLines } from './fair-lines.js'

type Thing = { readonly name: string; readonly cost: number }

function linesOf(...things: readonly Thing[]): FairLines<Thing> {
  const lines = new FairLines<Thing>()
  for (const thing of things) lines.add(thing.name, thing)
  return lines
}

const many = (name: string, cost: number, count: number): Thing[] =>
  Array.from({ length: count }, () => ({ name, cost }))

function drained(lines: FairLines<Thing>): Thing[] {
  const taken: Thing[] = []
  for (let first = lines.first(); first !== undefined; first = lines.first()) {
    expect(lines.take(first[1].cost)).toBe(first[1])
    taken.push(first[1])
  }
  return taken
}

const namesIn = (things: readonly Thing[]): string => things.map(({ name }) => name).join('')

describe('who is next', () => {
  test('T4: what costs the same is taken by turns, whoever came first and however much each has waiting', () => {
    expect(namesIn(drained(linesOf(...many('a', 1, 6), ...many('b', 1, 2), ...many('c', 1, 2))))).toBe('abcabcaaaa')
  })

  test('T4: who has had much in one go waits until the others have had as much', () => {
    expect(namesIn(drained(linesOf(...many('a', 10, 3), ...many('b', 1, 12))))).toBe('abbbbbbbbbbabba')
  })

  test('T5: turns that were missed are not made up for', () => {
    const lines = linesOf(...many('a', 5, 4))
    drained(lines)
    for (const thing of [...many('a', 5, 2), ...many('b', 5, 4)]) lines.add(thing.name, thing)
    expect(namesIn(drained(lines))).toBe('bababb')
  })

  test('T6: whoever brings one large thing at a time stands behind the others each time', () => {
    const lines = linesOf({ name: 'a', cost: 100 }, ...many('b', 1, 3))
    const order: string[] = []
    for (let i = 0; i < 6; i += 1) {
      const [name] = lines.first() ?? []
      lines.take(name === 'a' ? 100 : 1)
      order.push(name ?? '')
      if (name === 'a') lines.add('a', { name: 'a', cost: 100 })
    }
    expect(order.join('')).toBe('abbbaa')
  })

  test('T4: what came out only afterwards counts as well', () => {
    const lines = linesOf(...many('a', 1, 3), ...many('b', 1, 3))
    expect(lines.take(1)?.name).toBe('a')
    lines.charge('a', 10)
    expect(namesIn(drained(lines))).toBe('bbbaa')
  })

  test('nothing is remembered of who has left, once that is settled or there are too many', () => {
    const lines = new FairLines<number>()
    for (let i = 0; i < 3_000; i += 1) {
      lines.add(`n${i}`, i)
      lines.take(1)
    }
    expect(lines.names).toBeLessThanOrEqual(1_001)
    lines.settle()
    expect([lines.names, lines.size, lines.first(), lines.take(1)]).toEqual([0, 0, undefined, undefined])
  })
})

/** Two who both have something waiting have had, since then, the same but for what one of them had in one go. */
test('T4–T6: however large their things are, nobody who waits is ahead of another by more than one thing each', () => {
  const names = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(fc.record({ add: names, cost: fc.integer({ min: 1, max: 50 }) }), fc.constant('take' as const))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), script => {
      const lines = new FairLines<Thing>()
      const waiting: Record<string, number[]> = { a: [], b: [], c: [] }
      /** What each has had since all of these have been waiting. */
      let had: Record<string, number> = {}
      let size = 0
      for (const one of script) {
        if (one !== 'take') {
          if (waiting[one.add]!.length === 0) had = {}
          waiting[one.add]!.push(one.cost)
          lines.add(one.add, { name: one.add, cost: one.cost })
          size += 1
        } else {
          const first = lines.first()
          if (first === undefined) continue
          const [name, thing] = first
          expect(thing.cost).toBe(waiting[name]![0])
          lines.take(thing.cost)
          waiting[name]!.shift()
          size -= 1
          for (const other of Object.keys(waiting))
            if (other !== name && waiting[other]!.length > 0)
              expect((had[name] ?? 0) - (had[other] ?? 0), `${name} before ${other}`).toBeLessThanOrEqual(2 * 50)
          had[name] = (had[name] ?? 0) + thing.cost
          if (waiting[name]!.length === 0) had = {}
        }
        expect(lines.size).toBe(size)
      }
    }),
    { numRuns: 500 },
  )
})
