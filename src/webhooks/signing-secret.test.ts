import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createVault } from '../vault/vault.js'
import { isSealed, openSecret, sealedSecret } from './signing-secret.js'

const vault = createVault([randomBytes(32)])
const plain = { tenant: 'acme', webhookId: 'wh_1', secret: 'ab'.repeat(32) }
const kept = { ...plain, secret: sealedSecret(vault, plain) }

test('a signing secret is sealed at rest, and opens for its own subscription only', () => {
  expect(isSealed(kept)).toBe(true)
  expect(kept.secret).not.toContain(plain.secret)
  expect(openSecret(vault, kept)).toBe(plain.secret)
  for (const moved of [{ tenant: 'beta' }, { webhookId: 'wh_2' }, { secret: `${kept.secret.slice(0, -2)}AA` }])
    expect(() => openSecret(vault, { ...kept, ...moved })).toThrow(/changed, or are not its own/)
  expect(() => openSecret(createVault([randomBytes(32)]), kept)).toThrow(/does not have/)
})

test('one that an older host has stored is good as it is', () => {
  expect(isSealed(plain)).toBe(false)
  expect(openSecret(vault, plain)).toBe(plain.secret)
})
