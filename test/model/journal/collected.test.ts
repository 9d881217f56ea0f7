import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JournalCollector } from '../../../src/retention/journal-collector.js'
import { isThorough } from '../../support/thorough.js'
import { counts } from './counts.js'
import { ForkedStory } from './forked-story.js'
import type { ModelRun } from './model.js'
import { STORE_NAMES, storesForTests } from './stores.js'
import { FILES, KEYS, type Other, story } from './story.js'
import { textsOf, World } from './world.js'
import '../../support/seed.js'

const open = storesForTests()
const DAY = 24 * 60 * 60 * 1000
const SCOPE = 'team'
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Everything is written over. */
const OVER: readonly Other[] = [
  ...KEYS.map(key => ({ by: 'key', key, word: 'blue', ttl: undefined }) as const),
  ...FILES.map(path => ({ by: 'file', path, word: 'blue' }) as const),
]

/** Two runs with weeks between them, and what memory no longer shows deleted in the meantime. */
class Collected {
  served = 0
  refused = 0

  constructor(
    private readonly world: World,
    private readonly old: ForkedStory,
    private readonly recent: ForkedStory,
  ) {}

  async tell(): Promise<void> {
    const { world, old, recent } = this
    await world.boot()
    await old.happen()
    // Past the end of all that has a time to live, so that it goes with the rest.
    world.rig.clock.skip(60_000)
    for (const other of OVER) await world.act('t1', other, SCOPE)
    world.rig.clock.skip(3_000 * DAY)
    expect(await this.#collect(undefined)).toBe(0)
    await old.lookBack()
    await recent.happen()
    for (const other of OVER) await world.act('t1', other, SCOPE)
    expect(await this.#collect(10)).toBeGreaterThan(0)
    for (const run of old.family) await this.#lookAt(run)
    // Nothing that these could see was deleted.
    await recent.fork()
    await recent.check()
  }

  #collect(days: number | undefined): Promise<number> {
    const { store, clock } = this.world.rig
    return new JournalCollector({ store, clock, log, days }).collect()
  }

  /** M5: as it was, or refused; and refused only below the horizon. */
  async #lookAt({ runId, length }: ModelRun): Promise<void> {
    const { model, memory, workspace, rig } = this.world
    for (const space of ['memory', 'workspace'] as const)
      for (let seq = 1; seq <= length; seq += 1) {
        const anchor = model.anchorAt(runId, space, seq)
        if (anchor === undefined) continue
        const horizon = await rig.store.horizonOf('t1', space, anchor.scope)
        const at = { runId, seq }
        const found =
          space === 'memory'
            ? await memory.list('t1', { at }, { limit: 100 })
            : await workspace.list('t1', { at, limit: 100 })
        expect(found.ok, `${space} of ${runId}:${seq}`).toBe(anchor.upTo >= horizon)
        if (!found.ok) {
          expect(found.refusal).toMatchObject({
            code: 'replay_memory_snapshot_unavailable',
            details: { sourceRunId: runId, fromSeq: seq, reason: 'retention_expired' },
          })
          this.refused += 1
          continue
        }
        const keys = found.value.map(one => ('row' in one ? `${one.row.ref}/${one.row.id}` : `${one.ref}/${one.id}`))
        expect(keys.sort()).toEqual([...textsOf(model.seenAt(runId, space, seq) ?? new Map()).keys()].sort())
        this.served += 1
      }
  }
}

describe.each(STORE_NAMES)('memory whose time is over, %s', name => {
  it('R-MEM-13 J1: is kept for ever where nothing else is said; else what a run saw is served whole, or refused', async () => {
    const seen = counts()
    let [served, refused] = [0, 0]
    await fc.assert(
      fc.asyncProperty(story, async random => {
        const told = { ...random, scope: SCOPE }
        const store = await open(name)
        try {
          const world = new World(store, told, seen)
          const [old, recent] = [0, 1].map(() => new ForkedStory(world, told, seen, 3)) as [ForkedStory, ForkedStory]
          const one = new Collected(world, old, recent)
          await one.tell()
          served += one.served
          refused += one.refused
          await world.engine.stop(0)
        } finally {
          await store.close()
        }
      }),
      { numRuns: isThorough ? 30 : 3, endOnFailure: !isThorough },
    )
    console.log(`collected, ${name}: ${served} moments served, ${refused} refused; ${JSON.stringify(seen)}`)
    expect(refused).toBeGreaterThan(50)
    expect(seen['reads of moments']).toBeGreaterThan(100)
    expect(seen['reads in forks']).toBeGreaterThan(20)
  })
})
