import { expect, test } from 'vitest'
import type { ApiKey } from '../engine/ports.js'
import { ManualClock } from '../testing/manual-clock.js'
import { KeyRing, mintKey } from './key-ring.js'

test('whoever tries thousands of keys that nobody has does not make the ring forget those that are in use', async () => {
  const { key, hash } = mintKey(false)
  const kept: ApiKey = {
    keyId: 'k1',
    hash,
    tenant: 'acme',
    principal: 'ann',
    scopes: [],
    test: false,
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
  }
  let looked = 0
  const ring = new KeyRing(
    {
      putKey: async () => undefined,
      listKeys: async () => [kept],
      async findKey(wanted) {
        if (wanted !== hash) return undefined
        looked += 1
        return kept
      },
    },
    new ManualClock(),
  )
  for (let i = 0; i < 12_000; i += 1) {
    expect((await ring.identify(`Bearer ask_nobody_${i}`)).ok).toBe(false)
    if (i % 100 === 0) expect((await ring.identify(`Bearer ${key}`)).ok).toBe(true)
  }
  expect(looked).toBe(1)
})
