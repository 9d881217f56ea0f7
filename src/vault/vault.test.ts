import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createVault, DataKeyUnknown, SealBroken } from './vault.js'
import '../../test/support/seed.js'

const [key, newer] = [randomBytes(32), randomBytes(32)]
const vault = createVault([key])
const CONTENTS = { system: 'You are the canary CNRY-prompt', rounds: [1, null, 'ö'] }

describe('sealed contents', () => {
  it('SR-1 open to what was sealed, and show nothing of it before', () => {
    const sealed = vault.seal('acme', 'effect', CONTENTS)
    expect(vault.open('acme', 'effect', sealed)).toEqual(CONTENTS)
    expect(sealed).toMatch(/^v1\.[0-9a-f]{16}\.[A-Za-z0-9_-]+$/)
    const bytes = Buffer.from(sealed.split('.')[2]!, 'base64url')
    expect(bytes.includes('CNRY')).toBe(false)
    expect(vault.seal('acme', 'effect', CONTENTS)).not.toBe(sealed)
  })

  it('hold any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), fc.string(), (value, tenant, id) => {
        // As JSON has it: there is no negative zero, for one.
        const contents = JSON.parse(JSON.stringify(value))
        expect(vault.open(tenant, id, vault.seal(tenant, id, contents))).toEqual(contents)
      }),
    )
  })

  it('do not open for another tenant or id, however the two are put together', () => {
    const sealed = vault.seal('acme', 'effect', CONTENTS)
    const others = [
      ['rival', 'effect'],
      ['acme', 'other'],
      ['effect', 'acme'],
      ['acme"', 'effect'],
      ['acmee', 'ffect'],
      ['', 'acmeeffect'],
    ] as const
    for (const [tenant, id] of others) expect(() => vault.open(tenant, id, sealed)).toThrow(SealBroken)
  })

  it('do not open when any bit of them was changed', () => {
    const sealed = vault.seal('acme', 'effect', 'short')
    const [version, keyId, text] = sealed.split('.') as [string, string, string]
    const bytes = Buffer.from(text, 'base64url')
    let faults = 0
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1 << (at % 8)
      const tampered = [version, keyId, changed.toString('base64url')].join('.')
      expect(() => vault.open('acme', 'effect', tampered)).toThrow(SealBroken)
      faults += 1
    }
    expect(faults).toBe(bytes.length)
  })

  it('do not open when they are cut, or are no sealed contents at all', () => {
    const sealed = vault.seal('acme', 'effect', CONTENTS)
    const [, keyId] = sealed.split('.')
    const broken = ['', 'v1', '{}', sealed.slice(0, -4), `${sealed}AAAA`, `v2${sealed.slice(2)}`, `v1.${keyId}.AAAA`]
    for (const text of broken) expect(() => vault.open('acme', 'effect', text)).toThrow(SealBroken)
  })

  it('that an older key has sealed still open; the first key seals', () => {
    const old = vault.seal('acme', 'effect', 'old')
    const rotated = createVault([newer, key])
    expect(rotated.open('acme', 'effect', old)).toBe('old')
    const fresh = rotated.seal('acme', 'effect', 'fresh')
    expect(createVault([newer]).open('acme', 'effect', fresh)).toBe('fresh')
    expect(() => vault.open('acme', 'effect', fresh)).toThrow(DataKeyUnknown)
  })

  it('name the key that is missing, and nothing of what they hold', () => {
    const sealed = vault.seal('acme', 'effect-1', CONTENTS)
    const keyId = sealed.split('.')[1]!
    const open = () => createVault([newer]).open('acme', 'effect-1', sealed)
    expect(open).toThrow(`the contents of effect-1 were sealed with the data key ${keyId}`)
    expect(keyId).not.toBe(key.toString('hex').slice(0, 16))
  })
})

describe('sealed bytes', () => {
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const bytes = Buffer.from([0, 255, 10, 200, ...Buffer.from('CNRY words')])

  it('SR-1 open to what was sealed, show nothing of it before, and take no more room than their seal', () => {
    const vault = createVault([key])
    const sealed = vault.sealBytes('t', 'id', bytes)
    expect(vault.openBytes('t', 'id', sealed)).toEqual(bytes)
    expect(sealed.includes('CNRY')).toBe(false)
    expect(sealed.length).toBe(bytes.length + 20 + 12 + 16)
    expect(vault.openBytes('t', 'id', vault.sealBytes('t', 'id', Buffer.alloc(0)))).toEqual(Buffer.alloc(0))
  })

  it('do not open elsewhere, changed, cut, or as a text', () => {
    const vault = createVault([key])
    const sealed = vault.sealBytes('t', 'id', bytes)
    expect(() => vault.openBytes('u', 'id', sealed)).toThrow(SealBroken)
    expect(() => vault.openBytes('t', 'other', sealed)).toThrow(SealBroken)
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => vault.openBytes('t', 'id', changed), `byte ${at}`).toThrow()
      expect(() => vault.openBytes('t', 'id', sealed.subarray(0, at)), `cut at ${at}`).toThrow(SealBroken)
    }
    const asText = `v1.${sealed.toString('latin1', 3, 19)}.${sealed.subarray(20).toString('base64url')}`
    expect(() => vault.open('t', 'id', asText)).toThrow(SealBroken)
  })

  it('that an older key has sealed still open, and name the one that is missing', () => {
    const sealed = createVault([other]).sealBytes('t', 'id', bytes)
    expect(createVault([key, other]).openBytes('t', 'id', sealed)).toEqual(bytes)
    expect(() => createVault([key]).openBytes('t', 'id', sealed)).toThrow(DataKeyUnknown)
  })
})

it('a vault has keys, and they are whole', () => {
  expect(() => createVault([])).toThrow(/needs a data key/)
  expect(() => createVault([key, key.subarray(1)])).toThrow(/32 bytes/)
})
