import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairQueue, type Share } from './fair-queue.js'
import '../../test/support/seed.js'
import { isThorough } from '../../test/support/thorough.js'

const microtasks = async () => {
  for (let i = 0; i < 12; i += 1) await Promise.resolve()
}

/** Work that ends when it is told to, and the order in which it began. */
function bench(places: number, shares: { readonly [name: string]: Share }) {
  const queue = new FairQueue(places, name => shares[name] ?? { weight: 1, atOnce: places })
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  let pieces = 0
  const end = async (piece: string | undefined, error?: Error): Promise<void> => {
    if (piece === undefined) return
    const tell = ends.get(piece)
    ends.delete(piece)
    tell?.(error)
    await microtasks()
  }
  return {
    queue,
    begun,
    running: () => [...ends.keys()],
    async add(name: string, times = 1): Promise<void> {
      for (let i = 0; i < times; i += 1) {
        pieces += 1
        const piece = `${name}${pieces}`
        const work = queue.run(name, () => {
          begun.push(piece)
          return new Promise<void>((resolve, reject) => ends.set(piece, error => (error ? reject(error) : resolve())))
        })
        // How a piece ends is the test's own doing.
        void Promise.allSettled([work])
      }
      await microtasks()
    },
    end,
    /** Ends what runs, oldest first, one at a time, until nothing is left. */
    async drain(): Promise<string> {
      while (ends.size > 0) await end([...ends.keys()][0])
      return begun.map(piece => piece[0]).join('')
    },
  }
}

describe('whose turn it is', () => {
  test('F2: those who wait take turns, whoever came first and however much each has waiting', async () => {
    const { add, drain } = bench(1, {})
    await add('a', 6)
    await add('b', 2)
    await add('c', 2)
    expect(await drain()).toBe('abcabcaaaa')
  })

  test('F2: within one name in order of arrival', async () => {
    const one = bench(1, {})
    await one.add('a', 3)
    await one.add('b', 3)
    await one.drain()
    const numbers = (name: string) => one.begun.filter(piece => piece.startsWith(name)).map(piece => piece.slice(1))
    expect(numbers('a')).toEqual(['1', '2', '3'])
    expect(numbers('b')).toEqual(['4', '5', '6'])
  })

  test('F2 Q8: turns are in proportion to weights', async () => {
    const { add, drain } = bench(1, { a: { weight: 3, atOnce: 1 }, b: { weight: 1, atOnce: 1 } })
    await add('a', 9)
    await add('b', 3)
    const order = await drain()
    expect(order.slice(0, 8).replaceAll('b', '')).toBe('aaaaaa')
    expect(order).toHaveLength(12)
  })

  test('F4: turns that were missed are not made up for', async () => {
    const one = bench(1, {})
    await one.add('a', 4)
    for (let i = 0; i < 4; i += 1) await one.end(one.running()[0])
    await one.add('a', 3)
    await one.add('b', 3)
    expect((await one.drain()).slice(4, 8)).toMatch(/^(ab|ba){2}$/)
  })

  test('F1 F3 Q7: nobody has more than its share at once, and what it leaves goes to others', async () => {
    const one = bench(4, { a: { weight: 1, atOnce: 2 } })
    await one.add('a', 5)
    expect(one.begun.join(' ')).toBe('a1 a2')
    await one.add('b', 3)
    expect(one.begun.slice(2)).toEqual(['b6', 'b7'])
    await one.end('b6')
    expect(one.begun.slice(4)).toEqual(['b8'])
    await one.end('a1')
    expect(one.begun.slice(5)).toEqual(['a3'])
  })

  test('F1: a place is given back whether the work ends well or not, and nothing is remembered of who has left', async () => {
    const one = bench(2, {})
    await one.add('a', 3)
    await one.add('b', 1)
    expect(one.queue.load).toEqual({ running: 2, waiting: 2, names: 2 })
    await one.end(one.running()[0], new Error('no good'))
    expect(one.queue.load).toMatchObject({ running: 2, waiting: 1 })
    await one.drain()
    expect(one.queue.load).toEqual({ running: 0, waiting: 0, names: 0 })
  })

  test('F1: work that throws before it begins gives its place back too', async () => {
    const queue = new FairQueue(1, () => ({ weight: 1, atOnce: 1 }))
    const failing = queue.run('a', () => {
      throw new Error('at once')
    })
    await expect(failing).rejects.toThrow('at once')
    expect(queue.load).toEqual({ running: 0, waiting: 0, names: 0 })
  })

  test('F1: thousands who came once are not remembered while others work on', async () => {
    const queue = new FairQueue(2, () => ({ weight: 1, atOnce: 2 }))
    let end: () => void = () => undefined
    const long = queue.run('long', () => new Promise<void>(resolve => (end = resolve)))
    for (let i = 0; i < 3_000; i += 1) await queue.run(`n${i}`, async () => undefined)
    expect(queue.load.names).toBeLessThanOrEqual(1_001)
    end()
    await long
    expect(queue.load.names).toBe(0)
  })
})

const NAMES = ['a', 'b', 'c', 'd'] as const
type Name = (typeof NAMES)[number]
type Step =
  | { readonly kind: 'add'; readonly name: Name; readonly times: number }
  | { readonly kind: 'end'; readonly n: number }

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      name: fc.constantFrom(...NAMES),
      times: fc.integer({ min: 1, max: 4 }),
    }),
    fc.record({ kind: fc.constant('end' as const), n: fc.nat(20) }),
    fc.record({ kind: fc.constant('end' as const), n: fc.nat(20) }),
  ),
  { minLength: 10, maxLength: 80 },
)
const shares = fc.record(
  Object.fromEntries(
    NAMES.map(name => [
      name,
      fc.record({ weight: fc.integer({ min: 1, max: 8 }), atOnce: fc.integer({ min: 1, max: 4 }) }),
    ]),
  ) as { [name in Name]: fc.Arbitrary<Share> },
)

/**
 * Knows nothing of turns: it only watches who waits, who runs, and how many of each other name began since one of the
 * waiting ones could have.
 */
class Watcher {
  readonly waiting: { [name: string]: string[] } = { a: [], b: [], c: [], d: [] }
  readonly running: { [name: string]: number } = { a: 0, b: 0, c: 0, d: 0 }
  /** By who waits: how many of whom began meanwhile. */
  passed: { [name: string]: { [other: string]: number } } = { a: {}, b: {}, c: {}, d: {} }

  constructor(
    private readonly places: number,
    private readonly shares: { readonly [name: string]: Share },
  ) {}

  get total(): number {
    return Object.values(this.running).reduce((sum, n) => sum + n, 0)
  }

  mayBegin(name: string): boolean {
    return this.waiting[name]!.length > 0 && this.running[name]! < this.shares[name]!.atOnce
  }

  began(piece: string): void {
    const name = piece[0] as string
    expect(this.waiting[name]![0]).toBe(piece)
    for (const other of NAMES) {
      if (other === name || !this.mayBegin(other)) this.passed[other] = {}
      else {
        const count = (this.passed[other]![name] ?? 0) + 1
        this.passed[other]![name] = count
        const bound = Math.floor(this.shares[name]!.weight / this.shares[other]!.weight) + 1
        expect(count, `${name} before ${other}`).toBeLessThanOrEqual(bound)
      }
    }
    this.waiting[name]!.shift()
    this.running[name]! += 1
    expect(this.running[name]).toBeLessThanOrEqual(this.shares[name]!.atOnce)
    expect(this.total).toBeLessThanOrEqual(this.places)
  }

  settled(): void {
    if (this.total < this.places) expect(NAMES.filter(name => this.mayBegin(name))).toEqual([])
  }
}

test('F1–F4: whatever comes and goes, nobody waits for more than a fair number of turns of another', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), shares, steps, async (places, given, script) => {
      const one = bench(places, given)
      const watcher = new Watcher(places, given)
      let [seen, added] = [0, 0]
      const watch = () => {
        for (; seen < one.begun.length; seen += 1) watcher.began(one.begun[seen] as string)
        watcher.settled()
      }
      const end = async (piece: string | undefined) => {
        if (piece !== undefined) watcher.running[piece[0] as string]! -= 1
        await one.end(piece)
        watch()
      }
      for (const step of script as Step[]) {
        if (step.kind === 'end') await end(one.running()[step.n % Math.max(1, one.running().length)])
        else
          for (let i = 0; i < step.times; i += 1) {
            added += 1
            watcher.waiting[step.name]!.push(`${step.name}${added}`)
            await one.add(step.name)
            watch()
          }
      }
      while (one.running().length > 0) await end(one.running()[0])
      expect(one.begun).toHaveLength(added)
      expect(one.queue.load).toEqual({ running: 0, waiting: 0, names: 0 })
    }),
    { numRuns: isThorough ? 3_000 : 300 },
  )
})
