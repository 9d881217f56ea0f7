import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { AssayClient } from '../../../src/client/assay-client.js'
import type { RunEventDoc, RunSnapshot } from '../../../src/client/wire-shapes.js'
import { type Config, loadConfig } from '../../../src/config.js'
import { sha256 } from '../../../src/digest.js'
import type { RunRow } from '../../../src/engine/ports/run-index.js'
import type { Store } from '../../../src/engine/ports/store.js'
import type { CheckedRun } from '../../../src/log-check/checked.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { freePort } from '../../support/free-port.js'
import { runsIn } from '../../support/stored-runs.js'
import { FaultProxy } from './fault-proxy.js'
import { MortalSide } from './mortal-side.js'
import { passing } from './passing.js'

export const KEY_OF_B = 'a-key-of-host-b-that-host-a-has'
export const KEY_OF_A = 'a-key-of-host-a-for-its-own-users'
export const HOST_ID = { a: 'a.example', b: 'b.example' } as const
/** Of A's own, in the configuration of B. */
export const URL_OF_A = 'https://a.example'

/** Longer than any story: a host here is the only one of its store. */
const LEASE_MS = 10 * 365 * 24 * 3_600_000

/** By a clock that stands still everything is asked at once. */
const UNLIMITED = { requestsPerSecond: 0 }

export type Files = { readonly [path: string]: unknown }

export type Making = {
  /** A new folder for everything. */
  readonly folder: string
  readonly a: readonly Sketch[]
  readonly b: readonly Sketch[]
  readonly stores?: { readonly a?: Store; readonly b?: Store }
  readonly lostAfter?: number
  /** A build that both run, where that is not the repository's own. */
  readonly build?: string
  /** Further documents of their projects, by their path. */
  readonly filesOfA?: Files
  readonly filesOfB?: Files
  /** Keys by which A believes receipts of B. */
  readonly receiptKeys?: readonly string[]
  /** Further settings. */
  readonly settingsOfA?: object
  readonly settingsOfB?: object
}

/** A host A, a host B that is its peer, and a proxy on the way from A to B. Time passes when nothing else happens. */
export class TwoHosts {
  private constructor(
    readonly clock: ManualClock,
    readonly proxy: FaultProxy,
    readonly a: MortalSide,
    readonly b: MortalSide,
  ) {}

  static async start(making: Making): Promise<TwoHosts> {
    const {
      folder,
      stores = {},
      lostAfter = 900_000,
      build,
      filesOfA,
      filesOfB = {},
      receiptKeys = [],
      settingsOfA = {},
      settingsOfB = {},
    } = making
    const clock = new ManualClock()
    const portOfB = await freePort()
    const proxy = await FaultProxy.start(portOfB)
    const cut = () => proxy.down()
    const atA = {
      folder,
      workflows: making.a,
      url: proxy.url,
      lostAfter,
      settings: settingsOfA,
      receiptKeys,
      ...(filesOfA && { files: filesOfA }),
    }
    const a = sideA({ ...atA, ...(build !== undefined && { build }) }, clock, stores.a, cut)
    const configB = configOf(
      path.join(folder, 'b'),
      making.b,
      {
        hostId: HOST_ID.b,
        rateLimit: UNLIMITED,
        peers: { hosts: { alpha: { url: URL_OF_A, hostId: HOST_ID.a, keyIds: [keyIdOf(KEY_OF_B)] } } },
        ...settingsOfB,
      },
      { ASSAY_API_KEY: KEY_OF_B },
      portOfB,
    )
    keepFiles(path.join(folder, 'b'), filesOfB)
    const b = new MortalSide('b', configB, clock, stores.b, cut, build)
    await b.boot()
    await a.boot()
    return new TwoHosts(clock, proxy, a, b)
  }

  client(side: 'a' | 'b'): AssayClient {
    const { host } = this[side]
    return new AssayClient({ url: host.url, key: side === 'a' ? KEY_OF_A : KEY_OF_B })
  }

  /** Lets everything happen, and time pass, until this is true. Whoever dies on the way comes again. */
  until<T>(what: string, probe: () => T | Promise<T>, stepMs?: number): Promise<NonNullable<T>> {
    return passing(what, probe, {
      ...(stepMs !== undefined && { stepMs }),
      clock: this.clock,
      moves: () => this.proxy.moves + this.a.moves + this.b.moves,
      isBusy: () => this.proxy.open > 0 || this.a.busy > 0 || this.b.busy > 0,
      before: () => this.revive(),
    })
  }

  /** Whoever is dead is buried and comes again on the same store. */
  async revive(): Promise<void> {
    for (const side of [this.a, this.b]) {
      if (!side.isDead) continue
      await side.bury()
      await side.boot()
      this.proxy.up()
    }
  }

  /** Starts a run on A; a client that hears nothing asks again with its key. */
  begin(workflowId: string, key: string, more: object = {}): Promise<string> {
    return this.until('the run to be taken', async () => {
      const response = await fetch(`${this.a.host.url}/v1/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY_OF_A}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ workflowId, ...more }),
      }).catch(() => undefined)
      if (response === undefined || response.status >= 500) return undefined
      const answer = (await response.json()) as { runId?: string }
      if (response.status !== 201) throw new Error(JSON.stringify(answer))
      return answer.runId
    })
  }

  ended(runId: string, side: 'a' | 'b' = 'a'): Promise<RunRow> {
    return this.until(`run ${runId} of ${side} to end`, async () => {
      const row = await this[side].store.readRun(null, runId)
      return row !== undefined && TERMINAL.has(row.status) ? row : undefined
    })
  }

  events(side: 'a' | 'b', runId: string): Promise<readonly RunEventDoc[]> {
    return this.client(side).readEvents(runId)
  }

  /** As its clients see it. */
  snapshot(side: 'a' | 'b', runId: string): Promise<RunSnapshot> {
    return this.client(side).getRun(runId)
  }

  /** What the stores hold, as the log checker takes it. */
  stored(side: 'a' | 'b'): Promise<CheckedRun[]> {
    return runsIn(this[side].store)
  }

  async stop(): Promise<void> {
    await this.a.stop()
    await this.b.stop()
    await this.proxy.close()
  }
}

const TERMINAL = new Set(['completed', 'failed', 'cancelled'])

/** The id of a key that a host has from its environment. */
export const keyIdOf = (key: string): string => `environment-${sha256(key).slice(0, 8)}`

/** Host A and the peer that it knows. */
export function sideA(
  making: {
    readonly folder: string
    readonly workflows: readonly Sketch[]
    readonly url: string
    readonly lostAfter: number
    readonly settings?: object
    readonly files?: Files
    readonly receiptKeys?: readonly string[]
    readonly build?: string
  },
  clock: ManualClock,
  store?: Store,
  onDeath?: () => void,
): MortalSide {
  const { folder, workflows, url, lostAfter, settings = {}, receiptKeys = [] } = making
  const beta = { url, hostId: HOST_ID.b, keyRef: { env: 'KEY_OF_B' }, receiptKeys }
  const given = { hostId: HOST_ID.a, rateLimit: UNLIMITED, peers: { lostAfter, hosts: { beta } }, ...settings }
  const at = path.join(folder, 'a')
  keepFiles(at, making.files ?? {})
  const config = configOf(at, workflows, given, { ASSAY_API_KEY: KEY_OF_A, KEY_OF_B })
  return new MortalSide('a', config, clock, store, onDeath, making.build)
}

function keepFiles(folder: string, files: Files): void {
  for (const [name, document] of Object.entries(files)) {
    const file = path.join(folder, 'project', name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(document))
  }
}

function configOf(
  folder: string,
  workflows: readonly Sketch[],
  settings: object,
  env: { readonly [name: string]: string },
  port?: number,
): Config {
  const project = path.join(folder, 'project')
  const data = path.join(folder, 'data')
  for (const needed of [path.join(project, 'workflows'), data]) mkdirSync(needed, { recursive: true })
  for (const workflow of workflows)
    writeFileSync(path.join(project, 'workflows', `${workflow.id}.json`), JSON.stringify(sketch(workflow)))
  writeFileSync(path.join(project, 'assay.config.json'), JSON.stringify(settings))
  const overrides = { project, data, port: port ?? 0, database: 'memory:', conformance: true }
  return { ...loadConfig(overrides, env, folder), leaseMs: LEASE_MS }
}
