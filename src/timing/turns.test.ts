import { describe, expect, test } from 'vitest'
import { ROUND_STEPS, Turns } from './turns.js'

const round = () => new Promise<void>(resolve => setImmediate(resolve))

/** Who was served in each round of the event loop, until nobody waits. */
async function rounds(turns: Turns, asked: readonly { readonly name: string; readonly steps?: number }[]) {
  const served: string[][] = []
  let now: string[] = []
  const all = asked.map(async ({ name, steps }) => {
    await turns.next(name)
    now.push(name)
    if (steps !== undefined) turns.spent(name, steps)
  })
  let open = all.length
  for (const one of all) void one.then(() => (open -= 1))
  while (open > 0) {
    await round()
    served.push(now)
    now = []
  }
  return served
}

const times = (count: number, name: string, steps?: number) =>
  Array.from({ length: count }, () => ({ name, ...(steps === undefined ? {} : { steps }) }))

describe('turns', () => {
  test('T2: whoever asks again stands behind all the others', async () => {
    const turns = new Turns()
    const order: string[] = []
    const taker = async (name: string, count: number) => {
      for (let i = 0; i < count; i += 1) {
        await turns.next(name)
        order.push(name)
      }
    }
    await Promise.all([taker('a', 3), taker('b', 2), taker('c', 1)])
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a'])
  })

  test('T1: one turn for each round of the event loop, so that everything else gets its own', async () => {
    const served = await rounds(new Turns(), times(10, 'a'))
    expect(served.flat()).toHaveLength(10)
    expect(Math.max(...served.map(names => names.length))).toBe(1)
  })

  test('T1: after a turn that took all of a round the next round has none', async () => {
    const served = await rounds(new Turns(), times(4, 'a', ROUND_STEPS))
    expect(served.filter(names => names.length > 0)).toHaveLength(4)
    expect(served.length).toBeGreaterThanOrEqual(7)
    for (const [i, names] of served.entries()) if (names.length > 0) expect(served[i + 1] ?? []).toEqual([])
  })

  test('T2: a tenant with a thousand things to do keeps another waiting for one of them', async () => {
    const served = await rounds(new Turns(), [...times(1_000, 'a', ROUND_STEPS), ...times(3, 'b', 1_000)])
    expect(served.flat().slice(0, 5).join('')).toBe('abbba')
  })

  test('T1 T3: there is room without a turn until the round is used up, and while nobody waits', async () => {
    const turns = new Turns()
    turns.spent('a', ROUND_STEPS - 1)
    expect(turns.room('a')).toBeUndefined()
    turns.spent('a', 1)
    const order: string[] = []
    const late = turns.room('b')?.then(() => order.push('b'))
    expect(late).toBeDefined()
    await round()
    expect(turns.room('c')?.then(() => order.push('c'))).toBeDefined()
    await late
    await round()
    await round()
    expect(order).toEqual(['b', 'c'])
    expect(turns.room('a')).toBeUndefined()
  })

  test('T2: what was had while nobody waited is not held against anybody', async () => {
    const turns = new Turns()
    for (let i = 0; i < 5; i += 1) {
      turns.spent('a', 100 * ROUND_STEPS)
      await round()
      await round()
    }
    await round()
    const served = await rounds(turns, [...times(4, 'a'), ...times(4, 'b')])
    expect(served.flat().join('')).toBe('abababab')
  })
})
