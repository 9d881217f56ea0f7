import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ConfigError, loadConfig } from '../../../src/config.js'
import { createHost } from '../../../src/host.js'

const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-host-id-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What a host that is started on the folder says it is called; it is stopped again. */
async function idOf(data: string, settings: { readonly [name: string]: string } = {}): Promise<string> {
  const flags = { data: path.join(folder, data), port: '0', 'log.level': 'silent', ...settings }
  const host = await createHost(loadConfig(flags, {}, folder))
  await host.start()
  try {
    const response = await fetch(`${host.url}/.well-known/openwop`)
    const { multiAgent } = (await response.json()) as {
      multiAgent: { executionModel: { crossHostCausation: { supported: boolean; hostId: string } } }
    }
    const { supported, hostId } = multiAgent.executionModel.crossHostCausation
    expect(supported).toBe(true)
    // Not the name of the process, which is another one each time.
    expect(hostId).not.toBe(host.engine.hostId)
    return hostId
  } finally {
    await host.stop()
  }
}

describe('R-CAP-6: the id that a host advertises', () => {
  test('is the same after a restart, and another one for another folder', async () => {
    const first = await idOf('a')
    expect(first).toMatch(/^assay-[0-9a-f]{20}$/)
    expect(await idOf('a')).toBe(first)
    expect(await idOf('a', { hostName: 'another' })).toBe(first)
    expect(await idOf('b')).not.toBe(first)
  })

  test('is the setting, which stays; a host with another one does not start', async () => {
    expect(await idOf('a', { hostId: 'acme.example' })).toBe('acme.example')
    expect(await idOf('a')).toBe('acme.example')
    await expect(idOf('a', { hostId: 'evil.example' })).rejects.toThrow(ConfigError)
    expect(await idOf('a')).toBe('acme.example')
  })
})
