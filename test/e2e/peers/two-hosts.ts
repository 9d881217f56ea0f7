import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { AssayClient } from '../../../src/client/index.js'
import { loadConfig } from '../../../src/config.js'
import { createHost, type Host } from '../../../src/host.js'
import { hashKey } from '../../../src/http/auth/key-cache.js'
import { freePort } from '../../support/free-port.js'

/** A host `alpha` that hands work to a host `beta`, both in this process, over sockets. */
export type Pair = Awaited<ReturnType<typeof startPair>>

type Member = { readonly host: Host; readonly client: AssayClient; readonly url: string }

export type PairSettings = {
  /** Further settings of each, by path. */
  readonly alpha?: { readonly [setting: string]: string }
  readonly beta?: { readonly [setting: string]: string }
  /** Where alpha is told that beta is, in place of beta's own address. */
  readonly via?: string
}

const KEYS = { alpha: 'alpha-key-0123456789', beta: 'beta-key-0123456789' }
const idOf = (key: string): string => `environment-${hashKey(key).slice(0, 8)}`

export async function startPair({ alpha = {}, beta = {}, via }: PairSettings = {}) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-'))
  const [portA, portB] = [await freePort(), await freePort()]
  const [urlA, urlB] = [`http://127.0.0.1:${portA}`, `http://127.0.0.1:${portB}`]
  const start = async (name: 'alpha' | 'beta', port: number, hosts: object, settings: object): Promise<Member> => {
    const project = path.join(folder, name)
    mkdirSync(path.join(project, 'workflows'), { recursive: true })
    writeFileSync(path.join(project, 'assay.config.json'), JSON.stringify({ peers: { hosts } }))
    const flags = {
      project,
      data: path.join(folder, `${name}-data`),
      port: String(port),
      hostId: `${name}.example`,
      conformance: 'true',
      'log.level': 'silent',
      ...settings,
    }
    const host = await createHost(loadConfig(flags, { ASSAY_API_KEY: KEYS[name], BETA_KEY: KEYS.beta }, folder))
    await host.start()
    return { host, url: host.url, client: new AssayClient({ url: host.url, key: KEYS[name] }) }
  }
  const toBeta = { beta: { url: via ?? urlB, hostId: 'beta.example', keyRef: { env: 'BETA_KEY' } } }
  const toAlpha = { alpha: { url: urlA, hostId: 'alpha.example', keyIds: [idOf(KEYS.beta)] } }
  const startAlpha = () => start('alpha', portA, toBeta, alpha)
  const startBeta = () => start('beta', portB, toAlpha, beta)
  const hosts = { alpha: await startAlpha(), beta: await startBeta() }
  return {
    folder,
    urls: { alpha: urlA, beta: urlB },
    keys: KEYS,
    hosts,
    /** Stops a host, and starts it again on what it has kept. */
    async restart(name: 'alpha' | 'beta'): Promise<void> {
      await hosts[name].host.stop()
      hosts[name] = name === 'alpha' ? await startAlpha() : await startBeta()
    },
    /** Stops both; what they have kept can be read. */
    async halt(): Promise<void> {
      await hosts.alpha.host.stop()
      await hosts.beta.host.stop()
    },
    databaseOf: (name: 'alpha' | 'beta'): string => `sqlite:${path.join(folder, `${name}-data`, 'assay.db')}`,
    async stop(): Promise<void> {
      await hosts.alpha.host.stop()
      await hosts.beta.host.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
