import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Reach } from '../../../../src/core/journal/place.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import { judged, merge, staged } from '../gate-fixtures.js'
import * as j from '../journal-fixtures.js'
import '../../../support/seed.js'

const KEYS = ['a', 'b', 'c']
const WORDS = ['red', 'green', 'blue']

/** Who writes: a run whose writes everybody sees at once, or one that holds them until it completes. */
type Step = { readonly by: 'open' | 'held'; readonly key: string; readonly words: readonly string[] | null }
type Entry = { readonly key: string; readonly text: string | null }

const step: fc.Arbitrary<Step> = fc.record({
  by: fc.constantFrom('open' as const, 'held' as const),
  key: fc.constantFrom(...KEYS),
  words: fc.option(fc.uniqueArray(fc.constantFrom(...WORDS), { minLength: 1 }), { freq: 4 }),
})

/** What is seen, told a second time: a scope is a list, a layer is a list, and the latest of a key wins. */
const seen = (scope: readonly Entry[], upTo: number, layer: readonly (Entry & { position: number | null })[]) => {
  const found = new Map<string, string | null>()
  for (const { key, text } of scope.slice(0, upTo)) found.set(key, text)
  for (const { key, text, position } of layer) if (position === null || position > upTo) found.set(key, text)
  return found
}

export function journalModelContract(open: () => Promise<Opened>): void {
  it('S15 J1 answers at every position as a list of what was written does', async () => {
    const { store } = await open()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), fc.boolean(), async (steps, completes) => {
        const tenant = f.id('tenant')
        const { start, tell, keep } = await j.journaling(store, tenant)
        const runs = { open: await start(), held: await start({ gated: [j.gate('run')] }) }
        const scope: Entry[] = []
        const layers: Record<'open' | 'held', (Entry & { position: number | null })[]> = { open: [], held: [] }
        for (const [i, { by, key: id, words }] of steps.entries()) {
          const text = words && `${words.join(' ')} ${i}`
          expect(await tell(runs[by], j.wrote(text === null ? null : await keep(text), { id }))).toMatchObject({
            kind: 'committed',
          })
          if (by === 'open') scope.push({ key: id, text })
          layers[by].push({ key: id, text, position: by === 'open' ? scope.length : null })
        }
        if (completes) {
          await tell(runs.held, staged('run'), judged('pass'), merge('run'))
          layers.held = layers.held.map(entry => ({ ...entry, position: scope.push(entry) }))
        }
        expect((await store.heads(tenant, j.SCOPE)).memory).toBe(scope.length)
        for (let upTo = 0; upTo <= scope.length; upTo += 1)
          for (const by of [undefined, 'open', 'held'] as const) {
            const reach = j.whole({ upTo, runs: by ? [{ runId: runs[by], before: 1000 }] : [] })
            const expected = seen(scope, upTo, by ? layers[by] : [])
            const { rows } = await store.entriesAt(tenant, 'memory', reach, { limit: 100 })
            const texts = await Promise.all(
              rows.map(async row => [row.id, (await j.textOf(store, tenant, row)) ?? null] as const),
            )
            expect(new Map(texts)).toEqual(expected)
            expect(rows).toHaveLength(expected.size)
            for (const id of KEYS) {
              const row = await store.entryAt(tenant, 'memory', reach, { ref: 'notes', id })
              expect(row && ((await j.textOf(store, tenant, row)) ?? null)).toEqual(expected.get(id))
            }
            const found = await store.searchAt(tenant, 'memory', reach, { words: ['red'], limit: 100 })
            const meant = [...expected].flatMap(([key, text]) => (text?.includes('red') ? key : []))
            expect(found.map(({ id }) => id).sort()).toEqual(meant.sort())
          }
      }),
      { numRuns: 12 },
    )
  })

  it('J1 looks back from any position past what was written over soon, late and never', async () => {
    const { store } = await open()
    let superseded = 0
    await fc.assert(
      fc.asyncProperty(fc.array(often, { minLength: 700, maxLength: 700 }), async keys => {
        const tenant = f.id('tenant')
        const scope: Often[] = keys.map(({ at: _at, isForgotten, ...key }, i) => {
          const isThere = keys.findLast((one, k) => k < i && one.id === key.id && one.ref === key.ref)
          return { ...key, text: isForgotten && isThere?.isForgotten === false ? null : `word${i % 3} all` }
        })
        const writes = scope.map(({ ref, id, text }, i) =>
          j.outside(text === null ? null : j.content(text, { tenant }), { ref, id, at: f.T0 + i }),
        )
        expect(await store.writeOutside(tenant, writes, null)).toMatchObject({ kind: 'written' })
        for (const upTo of new Set([0, 1, 16, 256, 699, 700, 5_000, ...keys.slice(0, 12).map(({ at }) => at)])) {
          const live = latestIn(scope, upTo)
          superseded += live.filter(
            ({ position }) => !latestIn(scope, 700).some(row => row.position === position),
          ).length
          const puts = live.filter(({ text }) => text !== null)
          const reach = j.whole({ upTo })
          const asked = (query: { ref?: string; prefix?: string }) => paged(store, tenant, reach, query)
          expect(await asked({})).toEqual(live.map(({ position }) => position))
          for (const ref of ['notes', 'plans']) {
            const under = live.filter(one => one.ref === ref)
            expect(await asked({ ref })).toEqual(under.map(({ position }) => position))
            const beginning = under.filter(({ id }) => id.startsWith('k1'))
            expect(await asked({ ref, prefix: 'k1' })).toEqual(beginning.map(({ position }) => position))
          }
          for (const words of [['all'], ['all', 'word1'], ['word1', 'word2']]) {
            const found = await store.searchAt(tenant, 'memory', reach, { words, limit: 200 })
            const meant = puts.filter(({ text }) => words.every(word => text?.split(' ').includes(word)))
            expect(found.map(({ position }) => position)).toEqual(meant.slice(0, 200).map(({ position }) => position))
          }
        }
        const now = latestIn(scope, 700).filter(({ text }) => text !== null)
        expect(await store.countEntries(tenant, 'memory', j.SCOPE)).toBe(now.length)
      }),
      { numRuns: 3, endOnFailure: true },
    )
    expect(superseded).toBeGreaterThan(500)
  })
}

type Often = { readonly ref: string; readonly id: string; readonly text: string | null }

/** A key that is written again and again, twenty that take turns, and many that hardly ever are. */
const often = fc.record({
  ref: fc.constantFrom('notes', 'notes', 'notes', 'plans'),
  id: fc.oneof(
    fc.constant('hot'),
    fc.nat(19).map(n => `k${n}`),
    fc.nat(399).map(n => `rare${n}`),
  ),
  isForgotten: fc.boolean(),
  at: fc.nat(700),
})

/** The latest of each key among the first so many, newest first. */
const latestIn = (scope: readonly Often[], upTo: number) => {
  const latest = new Map<string, Often & { position: number }>()
  for (const [i, one] of scope.slice(0, upTo).entries()) latest.set(`${one.ref} ${one.id}`, { ...one, position: i + 1 })
  return [...latest.values()].sort((a, b) => b.position - a.position)
}

/** All that is listed, in pages of thirteen. */
async function paged(store: Store, tenant: string, reach: Reach, query: { ref?: string; prefix?: string }) {
  const positions: (number | null)[] = []
  let after: string | undefined
  do {
    const page = await store.entriesAt(tenant, 'memory', reach, { ...query, limit: 13, ...(after && { after }) })
    positions.push(...page.rows.map(({ position }) => position))
    after = page.cursor
  } while (after !== undefined)
  return positions
}
