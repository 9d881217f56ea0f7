import { describe, expect, it } from 'vitest'
import { sha256 } from '../digest.js'
import type { OutsideWrite } from '../engine/ports/journal.js'
import { MemoryStore } from '../store/memory/memory-store.js'
import { ManualClock } from '../testing/manual-clock.js'
import { JournalCollector } from './journal-collector.js'

const DAY = 24 * 60 * 60 * 1000
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined } as never

function put(at: number, text: string): OutsideWrite {
  const body = Buffer.from(text)
  const key = { space: 'memory' as const, scope: 'team', ref: 'notes', id: 'a', op: 'put' as const, tags: [] }
  const content = { tenant: 'acme', contentId: text, runId: null, body, text, sealed: false, pieces: 0 }
  return { ...key, at, expiresAt: null, content, hash: sha256(body), contentType: null, ifMatch: null }
}

async function rig(writes: number, days: number | undefined) {
  const clock = new ManualClock(100 * DAY)
  const store = new MemoryStore()
  for (let n = 0; n < writes; n += 1) await store.writeOutside('acme', [put(clock.now() + n, `text-${n}`)], null)
  const collector = () => new JournalCollector({ store, clock, log: silent, days })
  const kept = (n: number) => store.readContent('acme', `text-${n}`)
  return { clock, store, collector, kept }
}

describe('what memory no longer shows', () => {
  it('goes when its time is over, with its content, and what is shown stays', async () => {
    const { clock, store, collector, kept } = await rig(3, 7)
    expect(await collector().collect()).toBe(0)
    clock.skip(8 * DAY)
    expect(await collector().collect()).toBe(2)
    expect([await kept(0), await kept(1), (await kept(2))?.text]).toEqual([undefined, undefined, 'text-2'])
    expect(await store.horizonOf('acme', 'memory', 'team')).toBeGreaterThan(0)
    expect(await collector().collect()).toBe(0)
  })

  it('is kept for ever where memory.retentionDays says nothing', async () => {
    const { clock, collector, kept } = await rig(2, undefined)
    clock.skip(10_000 * DAY)
    expect([await collector().collect(), (await kept(0))?.text]).toEqual([0, 'text-0'])
  })

  it('is taken once where two hosts are at it, and by the second where the first has died', async () => {
    const { clock, store, collector } = await rig(2_201, 7)
    clock.skip(8 * DAY)
    const dying = new JournalCollector({
      store: {
        collectUploads: async () => 0,
        collectJournal: async (before, limit) => {
          const taken = await store.collectJournal(before, limit)
          if (taken > 0) throw new Error('killed')
          return taken
        },
      },
      clock,
      log: silent,
      days: 7,
    })
    await expect(dying.collect()).rejects.toThrow('killed')
    const [one, other] = await Promise.all([collector().collect(), collector().collect()])
    expect(one + other).toBe(1_700)
  })
})
