import { beforeEach, describe, expect, test } from 'vitest'
import type { ApiKey } from '../../engine/ports/keys.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { ManualClock } from '../../testing/manual-clock.js'
import { KeyCache, mintKey } from './key-cache.js'

const { key, hash } = mintKey(false)

let clock: ManualClock
let store: MemoryStore
let cache: KeyCache

beforeEach(() => {
  clock = new ManualClock()
  store = new MemoryStore()
  cache = new KeyCache(store, clock)
})

const put = (more: Partial<ApiKey> = {}) =>
  store.putKey({
    keyId: 'k1',
    hash,
    tenant: 'acme',
    principal: 'ann',
    scopes: ['runs:read'],
    test: false,
    createdAt: clock.now(),
    expiresAt: null,
    revokedAt: null,
    madeBy: [],
    ...more,
  })

const identify = async () => {
  const identity = await cache.identify(`Bearer ${key}`)
  return identity.ok ? identity.caller.principal : identity.refusal.code
}

describe('A3: how long a key opens', () => {
  test('A3: one that expires is refused in the very millisecond it named, and not before', async () => {
    await put({ expiresAt: clock.now() + 100 })
    clock.skip(99)
    expect(await identify()).toBe('ann')
    clock.skip(1)
    expect(await identify()).toBe('key_expired')
  })

  test('A3: one that was revoked elsewhere is believed for a second, and no longer', async () => {
    await put()
    expect(await identify()).toBe('ann')
    await put({ revokedAt: clock.now() })
    clock.skip(999)
    expect(await identify()).toBe('ann')
    clock.skip(1)
    expect(await identify()).toBe('key_revoked')
  })

  test('A3: one that was revoked here is refused at once', async () => {
    await put()
    expect(await identify()).toBe('ann')
    await put({ revokedAt: clock.now() })
    cache.forget(hash)
    expect(await identify()).toBe('key_revoked')
  })
})

test('whoever tries thousands of keys that nobody has does not make the cache forget those that are in use', async () => {
  await put()
  let looked = 0
  const counting = {
    putKey: async () => undefined,
    listKeys: () => store.listKeys(),
    async findKey(wanted: string) {
      if (wanted === hash) looked += 1
      return store.findKey(wanted)
    },
  }
  cache = new KeyCache(counting, clock)
  for (let i = 0; i < 12_000; i += 1) {
    expect((await cache.identify(`Bearer ask_nobody_${i}`)).ok).toBe(false)
    if (i % 100 === 0) expect(await identify()).toBe('ann')
  }
  expect(looked).toBe(1)
})
