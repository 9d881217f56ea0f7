import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { sha256 } from '../../../src/digest.js'
import { openStore } from '../../../src/store/open-store.js'
import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { HostProcess } from '../../support/host-process.js'
import type { ServerStep } from '../../support/openai-server.js'
import { makeWorld, type World } from '../agents/world.js'
import { says } from '../verification/gated-world.js'
import { FaultProxy } from './fault-proxy.js'
import { HOST_ID } from './two-hosts.js'
import { peer } from './workflows.js'

/** What A has of B, and no more than a peer needs. */
const KEY_AT_B = 'ask_a-key-that-host-a-has-at-host-b-and-nobody-else'
const KEY_AT_A = 'ask_a-key-that-host-b-has-at-host-a-and-nobody-else'
const NEEDED = ['runs:create', 'runs:read', 'runs:cancel']

export const WRITER = 'You write for host B.'
const PLAN: readonly ServerStep[] = [
  { contains: [WRITER, 'read was called'], reply: says({ text: 'written' }) },
  { contains: WRITER, reply: { kind: 'tools', calls: [{ name: 'mcp_files_read', args: { path: 'a' } }] } },
]

const mapped = { inputMapping: { task: 'task' }, outputMapping: { draft: 'result' } }
const variables = [
  { name: 'task', type: 'string' as const, defaultValue: 'write it' },
  { name: 'draft', type: 'string' as const },
]

const ON_A: readonly Sketch[] = [
  loopOf(
    { rules: [{ when: 'iteration == 1', decide: next(peer('writer')) }, { decide: terminate }] },
    { id: 'errand', dispatch: mapped, variables },
  ),
]

/**
 * Host A on SQLite, host B on PostgreSQL with a provider and a tool server, a process each. They find each other through
 * proxies, so that either may come again on another port.
 */
export class TwoProcesses {
  a!: HostProcess
  b!: HostProcess

  private constructor(
    readonly folder: string,
    readonly database: string,
    readonly world: World,
    /** On the way from A to B, and from B to A. */
    readonly toB: FaultProxy,
    readonly toA: FaultProxy,
  ) {}

  static async start(folder: string, databaseOfB: string): Promise<TwoProcesses> {
    const [toB, toA] = [await FaultProxy.start(1), await FaultProxy.start(1)]
    const alpha = { url: toA.url, hostId: HOST_ID.a, keyIds: ['peer-alpha'], keyRef: { env: 'KEY_AT_A' } }
    const world = await makeWorld({
      folder: path.join(folder, 'b'),
      database: databaseOfB,
      agents: { writer: { systemPrompt: WRITER, toolAllowlist: ['mcp:files.read'] } },
      plan: PLAN,
      settings: { peers: { hosts: { alpha } } },
      env: { KEY_AT_A },
    })
    const two = new TwoProcesses(folder, `sqlite:${folder}/a/data/assay.db`, world, toB, toA)
    two.#writeProject()
    await keep(databaseOfB, 'peer-alpha', KEY_AT_B)
    await two.startB()
    await two.startA()
    return two
  }

  get projectOfB(): string {
    return path.join(this.folder, 'b/project')
  }

  /** What a person on host B has in the environment. */
  get envOfB(): { readonly [name: string]: string } {
    return { KEY_AT_A }
  }

  async startA(): Promise<void> {
    const data = path.join(this.folder, 'a/data')
    const settings = { hostId: HOST_ID.a, 'log.level': 'error' }
    await keep(this.database, 'peer-beta', KEY_AT_A, ['runs:read'])
    this.a = await HostProcess.spawn({
      data,
      database: this.database,
      project: path.join(this.folder, 'a/project'),
      settings,
      env: { KEY_AT_B },
    })
    this.toA.lead(await portOf(this.a))
  }

  async startB(): Promise<void> {
    this.b = await this.world.start({ settings: { hostId: HOST_ID.b } })
    this.toB.lead(await portOf(this.b))
  }

  async close(): Promise<void> {
    for (const host of [this.a, this.b])
      if (host.child.exitCode === null && host.child.signalCode === null) await host.finish()
    await Promise.all([this.world.close(), this.toB.close(), this.toA.close()])
  }

  #writeProject(): void {
    const project = path.join(this.folder, 'a/project')
    mkdirSync(path.join(project, 'workflows'), { recursive: true })
    mkdirSync(path.join(this.folder, 'a/data'), { recursive: true })
    for (const workflow of ON_A)
      writeFileSync(path.join(project, 'workflows', `${workflow.id}.json`), JSON.stringify(sketch(workflow)))
    const beta = { url: this.toB.url, hostId: HOST_ID.b, keyRef: { env: 'KEY_AT_B' } }
    writeFileSync(
      path.join(project, 'assay.config.json'),
      JSON.stringify({ peers: { lostAfter: 120_000, hosts: { beta } } }),
    )
  }
}

async function portOf(host: HostProcess): Promise<number> {
  const url = await host.url()
  if (url === undefined) throw new Error(`no host: ${host.errors}`)
  return Number(new URL(url).port)
}

/** A key with an id that configurations can name beforehand. */
async function keep(database: string, keyId: string, key: string, scopes: readonly string[] = NEEDED): Promise<void> {
  const store = await openStore(database)
  const held = { keyId, hash: sha256(key), tenant: 'default', principal: keyId, scopes, test: false, createdAt: 0 }
  await store.putKey({ ...held, expiresAt: null, revokedAt: null, madeBy: [] })
  await store.close()
}
