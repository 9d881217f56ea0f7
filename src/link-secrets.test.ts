import { mkdtempSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureLinkSecrets, linkSecretsFile, rotateLinkSecrets } from './link-secrets.js'

let data: string
beforeEach(() => {
  data = mkdtempSync(path.join(os.tmpdir(), 'assay-links-'))
})
afterEach(() => rmSync(data, { recursive: true }))

describe('link secrets', () => {
  it('are made once, for their owner only', async () => {
    const first = await ensureLinkSecrets(data)
    expect(first).toHaveLength(1)
    expect(first[0]!.length).toBeGreaterThanOrEqual(32)
    expect(await ensureLinkSecrets(data)).toEqual(first)
    expect(statSync(linkSecretsFile(data)).mode & 0o777).toBe(0o600)
  })

  it('are rotated by putting a new one first; old ones still verify, but not for ever', async () => {
    const [old] = await ensureLinkSecrets(data)
    const rotated = await rotateLinkSecrets(data)
    expect(rotated[0]).not.toBe(old)
    expect(rotated[1]).toBe(old)
    for (let i = 0; i < 5; i += 1) await rotateLinkSecrets(data)
    const kept = await ensureLinkSecrets(data)
    expect(kept).toHaveLength(5)
    expect(kept).not.toContain(old)
  })
})
