import { generateKeyPairSync, verify } from 'node:crypto'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  ensureSigningKey,
  publicJwk,
  publicKeysIn,
  readTrustedKeys,
  signingKeyFile,
  trustedKeysFolder,
} from './signing-key.js'

let data: string
beforeEach(async () => {
  data = await fs.mkdtemp(path.join(os.tmpdir(), 'assay-key-'))
})
afterEach(() => fs.rm(data, { recursive: true }))

describe('the signing key', () => {
  test('is made once, for its owner only, and signs what its public half verifies', async () => {
    const first = await ensureSigningKey(data)
    const second = await ensureSigningKey(data)
    expect(second.keyId).toBe(first.keyId)
    expect(first.keyId).toMatch(/^[0-9a-f]{16}$/)
    expect((await fs.stat(signingKeyFile(data))).mode & 0o777).toBe(0o600)
    const key = (await readTrustedKeys(data)).get(first.keyId)!
    const signature = Buffer.from(second.sign('text'), 'base64url')
    expect([
      verify(null, Buffer.from('text'), key, signature),
      verify(null, Buffer.from('tex'), key, signature),
    ]).toEqual([true, false])
  })

  test('is the same for all who start at once, and no drafts are left', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => ensureSigningKey(data)))
    const [keyId, ...others] = new Set(keys.map(key => key.keyId))
    expect(others).toEqual([])
    expect((await fs.readdir(data)).sort()).toEqual(['audit-key.pem', 'audit-keys'])
    expect(await fs.readdir(trustedKeysFolder(data))).toEqual([`${keyId}.pub.pem`])
  })

  test('can be changed by moving it away; its public half stays', async () => {
    const old = await ensureSigningKey(data)
    await fs.rename(signingKeyFile(data), path.join(data, 'put-away.pem'))
    const fresh = await ensureSigningKey(data)
    expect(fresh.keyId).not.toBe(old.keyId)
    expect([...(await readTrustedKeys(data)).keys()].sort()).toEqual([old.keyId, fresh.keyId].sort())
  })

  test('is trusted also while its public half is lost, which the next start writes again', async () => {
    const { keyId } = await ensureSigningKey(data)
    await fs.rm(trustedKeysFolder(data), { recursive: true })
    expect([...(await readTrustedKeys(data)).keys()]).toEqual([keyId])
    await ensureSigningKey(data)
    expect(await fs.readdir(trustedKeysFolder(data))).toEqual([`${keyId}.pub.pem`])
  })

  test('reading makes nothing', async () => {
    expect((await readTrustedKeys(path.join(data, 'nowhere'))).size).toBe(0)
    expect(await fs.readdir(data)).toEqual([])
  })

  test('a file that is no Ed25519 key is refused by name', async () => {
    await fs.writeFile(signingKeyFile(data), 'not a key')
    await expect(ensureSigningKey(data)).rejects.toThrow(/audit-key\.pem is not a key/)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await fs.writeFile(signingKeyFile(data), privateKey.export({ type: 'pkcs8', format: 'pem' }))
    await expect(readTrustedKeys(data)).rejects.toThrow(/audit-key\.pem is not an Ed25519 key/)
  })
})

describe('public keys that somebody was given', () => {
  test('are PEM, a JWK or a set of them, and go by their own fingerprints', async () => {
    const { keyId } = await ensureSigningKey(data)
    const key = (await readTrustedKeys(data)).get(keyId)!
    const pem = key.export({ type: 'spki', format: 'pem' }).toString()
    const jwk = publicJwk(keyId, key)
    for (const text of [pem, JSON.stringify(jwk), JSON.stringify({ keys: [jwk, { ...jwk, kid: 'other' }] })])
      expect([...publicKeysIn('file', text).keys()]).toEqual([keyId])
  })

  test.each(['', 'x', '{}', '{"keys":[]', '{"keys":[1]}', '{"kty":"OKP","crv":"X25519","x":"AA"}'])(
    '%s is refused by the name of the file',
    text => {
      expect(() => publicKeysIn('keys.json', text)).toThrow(/keys\.json/)
    },
  )
})
