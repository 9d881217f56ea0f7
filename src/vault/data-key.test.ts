import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dataKeyFile, ensureDataKey } from './data-key.js'
import { createVault } from './vault.js'

let scratch: string
let data: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-vault-'))
  data = path.join(scratch, 'data')
})
afterEach(() => rmSync(scratch, { recursive: true }))

describe('the data key', () => {
  it('is made once, for its owner only, and leaves no draft behind', async () => {
    const keys = await ensureDataKey(data)
    expect(keys.map(({ length }) => length)).toEqual([32])
    expect(await ensureDataKey(data)).toEqual(keys)
    expect(statSync(dataKeyFile(data)).mode & 0o777).toBe(0o600)
    expect(statSync(data).mode & 0o777).toBe(0o700)
    expect(readdirSync(data)).toEqual(['data.key'])
  })

  it('is changed by putting a new line first; what the old one sealed still opens', async () => {
    const sealed = createVault(await ensureDataKey(data)).seal('acme', 'effect', 'old')
    const line = Buffer.alloc(32, 7).toString('base64url')
    writeFileSync(dataKeyFile(data), `${line}\n${readFileSync(dataKeyFile(data), 'utf8')}`)
    const keys = await ensureDataKey(data)
    expect(keys[0]).toEqual(Buffer.alloc(32, 7))
    expect(createVault(keys).open('acme', 'effect', sealed)).toBe('old')
  })

  it('is never made anew in place of a file that cannot be read as one', async () => {
    await ensureDataKey(data)
    for (const broken of ['', '\n', 'not a key\n', `${'A'.repeat(42)}\n`]) {
      writeFileSync(dataKeyFile(data), broken)
      await expect(ensureDataKey(data)).rejects.toThrow(/does not hold data keys/)
      expect(readFileSync(dataKeyFile(data), 'utf8')).toBe(broken)
    }
  })

  it('is the same for all who make it at once, in one process', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => ensureDataKey(data)))
    for (const keys of all) expect(keys).toEqual(all[0])
    expect(readdirSync(data)).toEqual(['data.key'])
  })
})
