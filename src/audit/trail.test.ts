import { expect, test } from 'vitest'
import type { TrailEntry } from '../engine/ports/audit.js'
import { MemoryStore } from '../store/memory/memory-store.js'
import { ManualClock } from '../testing/manual-clock.js'
import { createTrail } from './trail.js'

const entry = (object: string): TrailEntry => ({
  tenant: 'acme',
  principal: 'alice',
  credential: 'key_1',
  action: 'transcript.read',
  object,
  outcome: 'allowed',
})

test('S17: hosts that record at once leave one chain without gaps, and lose nothing', async () => {
  const store = new MemoryStore()
  const clock = new ManualClock()
  const hosts = [createTrail({ store, clock }), createTrail({ store, clock }), createTrail({ store, clock })]
  await Promise.all(Array.from({ length: 30 }, (_, i) => hosts[i % 3]!.record(entry(`run:${i}`))))
  const { records, isWhole } = await hosts[0]!.list('acme', { limit: 100 })
  expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, i) => 30 - i))
  expect(new Set(records.map(({ object }) => object)).size).toBe(30)
  expect(isWhole).toBe(true)
})

test.each<[string, object]>([
  ['who', { principal: 'mallory' }],
  ['by which key', { credential: 'key_2' }],
  ['what', { action: 'key.revoke' }],
  ['which object', { object: 'run:2' }],
  ['when', { at: 7 }],
  ['whether it was let', { outcome: 'refused' }],
  ['what came before', { previous: 'x' }],
])('S17: a record of which somebody changed %s is noticed', async (_what, change) => {
  const store = new MemoryStore()
  const trail = createTrail({ store, clock: new ManualClock() })
  for (const object of ['run:0', 'run:1', 'run:2']) await trail.record(entry(object))
  const changed = createTrail({
    store: {
      appendTrail: record => store.appendTrail(record),
      readTrail: async (tenant, query) =>
        (await store.readTrail(tenant, query)).map(record => (record.seq === 2 ? { ...record, ...change } : record)),
    },
    clock: new ManualClock(),
  })
  expect((await trail.list('acme', { limit: 2 })).isWhole).toBe(true)
  expect((await changed.list('acme', { limit: 2 })).isWhole).toBe(false)
})

test('S17: a record that is missing is noticed', async () => {
  const store = new MemoryStore()
  const trail = createTrail({ store, clock: new ManualClock() })
  for (const object of ['run:0', 'run:1', 'run:2']) await trail.record(entry(object))
  const cut = createTrail({
    store: {
      appendTrail: record => store.appendTrail(record),
      readTrail: async (tenant, query) => (await store.readTrail(tenant, query)).filter(({ seq }) => seq !== 2),
    },
    clock: new ManualClock(),
  })
  expect((await cut.list('acme', { limit: 10 })).isWhole).toBe(false)
})
