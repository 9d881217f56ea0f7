import { describe, expect, it } from 'vitest'
import { type LoadedRun, RunCache } from './run-cache.js'

const loaded = (characters: number, phase: 'active' | 'ended' = 'active') =>
  ({ tenant: 'acme', state: { phase }, characters }) as unknown as LoadedRun

const held = (cache: RunCache, names: string): string => [...names].filter(name => cache.get(name)?.loaded).join('')

describe('runs in memory', () => {
  it('are at most so many, and go the least recently used first', () => {
    const cache = new RunCache(2)
    for (const name of 'abc') cache.put(cache.enter(name), loaded(1))
    expect(held(cache, 'abc')).toBe('bc')
    cache.enter('b')
    cache.put(cache.enter('d'), loaded(1))
    expect([held(cache, 'abcd'), cache.active, cache.activeOf('acme')]).toEqual(['bd', 2, 2])
  })

  it('hold at most so many characters in all, however few they are', () => {
    const cache = new RunCache(100, 1_000)
    for (const name of 'abcd') cache.put(cache.enter(name), loaded(300))
    expect(held(cache, 'abcd')).toBe('bcd')
    cache.put(cache.enter('d'), loaded(950))
    expect(held(cache, 'abcd')).toBe('d')
    for (const name of 'efg') cache.put(cache.enter(name), loaded(10))
    expect(held(cache, 'defg')).toBe('defg')
  })

  it('give back their room when only the log knows of them, and when they go', () => {
    const cache = new RunCache(100, 1_000)
    cache.put(cache.enter('a'), loaded(900))
    cache.put(cache.enter('a'), undefined)
    cache.put(cache.enter('b'), loaded(900))
    expect(held(cache, 'ab')).toBe('b')
    cache.clear()
    cache.put(cache.enter('c'), loaded(900))
    cache.put(cache.enter('d'), loaded(90))
    expect(held(cache, 'cd')).toBe('cd')
  })

  it('stay while they are at work, whatever they hold', async () => {
    const cache = new RunCache(1, 100)
    let release: (() => void) | undefined
    const slot = cache.enter('a')
    const work = slot.runExclusive(() => new Promise<void>(resolve => (release = resolve)))
    await Promise.resolve()
    cache.put(slot, loaded(5_000))
    cache.put(cache.enter('b'), loaded(5_000))
    expect(held(cache, 'a')).toBe('a')
    release?.()
    await work
    await Promise.resolve()
    cache.put(cache.enter('c'), loaded(1))
    expect(held(cache, 'abc')).toBe('c')
  })
})
