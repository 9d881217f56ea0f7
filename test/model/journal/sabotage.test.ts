import { describe, expect, it, vi } from 'vitest'
import type { Reach } from '../../../src/core/journal/place.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { openStore } from '../../../src/store/open-store.js'
import { counts } from './counts.js'
import { ForkedStory } from './forked-story.js'
import type { Story } from './story.js'
import { TwoTenants } from './two-tenants.js'
import { World } from './world.js'

/** Stores with a bug that these suites are there for: each of them must be noticed. */

const broken = vi.hoisted(() => ({ isLate: false, owed: undefined as (() => unknown) | undefined }))

vi.mock('../../../src/store/memory/journal-commit.js', async importOriginal => {
  const real = await importOriginal<typeof import('../../../src/store/memory/journal-commit.js')>()
  const writeJournal: typeof real.writeJournal = (tables, commit) => {
    if (!broken.isLate) return real.writeJournal(tables, commit)
    const due = broken.owed
    broken.owed = () => real.writeJournal(tables, commit)
    due?.()
    return undefined
  }
  return { ...real, writeJournal }
})

/** An agent that is not let pass, a worker, a wait in which others write, and somebody who looks. */
const TOLD: Story = {
  shape: 'chain',
  scope: 'team',
  root: {
    steps: [
      { is: 'put', key: 'a', word: 'red', ttl: undefined },
      { is: 'get', by: 'list', key: 'a', word: 'red' },
      { is: 'sub', child: 0, gated: true },
      { is: 'wait' },
      { is: 'get', by: 'list', key: 'a', word: 'red' },
      { is: 'agent', acts: [{ do: 'write', path: 'x.md', word: 'green' }], says: 'good', gated: true },
      { is: 'get', by: 'search', key: 'a', word: 'red' },
    ],
    exitGate: false,
    isolated: false,
  },
  children: [
    {
      steps: [
        { is: 'put', key: 'b', word: 'red', ttl: 15 },
        { is: 'agent', acts: [{ do: 'put', key: 'c', word: 'red', ttl: undefined }], says: 'bad', gated: false },
      ],
      exitGate: false,
      isolated: false,
    },
    { steps: [{ is: 'wait' }], exitGate: false, isolated: false },
  ],
  fanOut: 'sequential',
  before: [{ by: 'key', key: 'b', word: 'blue', ttl: undefined }],
  during: [
    { by: 'key', key: 'b', word: 'green', ttl: undefined },
    { by: 'run', key: 'c' },
    { by: 'file', path: 'x.md', word: 'blue' },
  ],
  after: [{ by: 'forget', key: 'a' }, { by: 'key', key: 'b', word: 'red', ttl: undefined }, { by: 'time' }],
}

const instead = (store: Store, methods: (store: Store) => Partial<Store>): Store => {
  const others = methods(store)
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(others, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const EVERYTHING = 1_000_000
const late = <R extends Reach>(reach: R): R => ({ ...reach, upTo: EVERYTHING })

/** How far scopes have come is looked up when something is read. */
const anchoredLate = (store: Store): Partial<Store> => ({
  entryAt: (tenant, space, reach, key) => store.entryAt(tenant, space, late(reach), key),
  entriesAt: (tenant, space, reach, query) => store.entriesAt(tenant, space, late(reach), query),
  searchAt: (tenant, space, reach, query) => store.searchAt(tenant, space, late(reach), query),
})

/** No gate is known to the store: everything is published at once. */
const publishedEarly = (store: Store): Partial<Store> => ({
  commit: commit =>
    store.commit({
      ...commit,
      streams: commit.streams.map(stream =>
        stream.create ? { ...stream, create: { ...stream.create, gated: [] } } : stream,
      ),
    }),
})

/** A query that does not ask whose it is. */
const anybodys =
  (name: 'entryAt' | 'entriesAt' | 'searchAt' | 'readContent') =>
  (store: Store): Partial<Store> => {
    const both = async <T>(ask: (tenant: string) => Promise<T>, isFound: (found: T) => boolean): Promise<T> => {
      const found = await ask('t1')
      return isFound(found) ? found : ask('t2')
    }
    const methods: Partial<Store> = {
      entryAt: (_, space, reach, key) =>
        both(
          of => store.entryAt(of, space, reach, key),
          found => found !== undefined,
        ),
      entriesAt: (_, space, reach, query) =>
        both(
          of => store.entriesAt(of, space, reach, query),
          ({ rows }) => rows.length > 0,
        ),
      searchAt: (_, space, reach, query) =>
        both(
          of => store.searchAt(of, space, reach, query),
          ({ length }) => length > 0,
        ),
      readContent: (_, contentId) =>
        both(
          of => store.readContent(of, contentId),
          found => found !== undefined,
        ),
    }
    return { [name]: methods[name] }
  }

async function forked(methods: (store: Store) => Partial<Store>): Promise<void> {
  const store = instead(await openStore('memory:'), methods)
  const seen = counts()
  const world = new World(store, TOLD, seen)
  await world.boot()
  try {
    await new ForkedStory(world, TOLD, seen, 6).tell()
  } finally {
    await world.engine.stop(0)
  }
}

async function shared(methods: (store: Store) => Partial<Store>): Promise<void> {
  const store = instead(await openStore('memory:'), methods)
  const both = new TwoTenants(store, TOLD, counts())
  try {
    await both.tell()
  } finally {
    await both.world.engine.stop(0)
  }
}

describe('what these suites would notice', () => {
  it('is nothing, where nothing is wrong', async () => {
    await forked(() => ({}))
    await shared(() => ({}))
  })

  it.each([
    ['anchors that are looked up late', anchoredLate],
    ['what is staged, published early', publishedEarly],
  ] as const)('S15 J1: %s', async (_, methods) => {
    await expect(forked(methods)).rejects.toThrow()
  })

  it('S15: rows that are written apart from their events', async () => {
    broken.isLate = true
    try {
      await expect(forked(() => ({}))).rejects.toThrow()
    } finally {
      broken.isLate = false
      broken.owed = undefined
    }
  })

  it.each(['entryAt', 'entriesAt', 'searchAt', 'readContent'] as const)(
    'R-MEM-14: a tenant that is left out of %s',
    async name => {
      await expect(shared(anybodys(name))).rejects.toThrow()
    },
  )
})
