import fc from 'fast-check'
import { expect, it } from 'vitest'
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
}
