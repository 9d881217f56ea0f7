import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { AssayClient } from '../client/assay-client.js'
import { ensureLocalKey } from '../client/local-key.js'
import type { RunEventDoc, RunRequest, RunSnapshot, RunStatus } from '../client/wire-shapes.js'
import { type Config, loadConfig } from '../config.js'
import type { JsonObject } from '../core/json.js'
import { type HostOptions, overridesOf } from '../embedding.js'
import { createHost } from '../host.js'
import { CountingIds } from './engine-rig.js'
import { ManualClock } from './manual-clock.js'

/** What a test may say of its host. Nothing comes from the environment, and nothing is kept. */
export type TestHostOptions = Pick<HostOptions, 'project' | 'port' | 'settings' | 'env' | 'log' | 'providers'> & {
  /**
   * What the offline model says, entry by entry, as docs/guides/scripted-model.md has it. With a script no other model is
   * asked, whatever the project says; without one the models are those of the project.
   */
  readonly script?: readonly JsonObject[]
  /** When it is, in milliseconds since 1970: the beginning of 2026 by default. */
  readonly now?: number
}

/** A whole host in this process, on a clock that stands still until the test moves it. */
export interface TestHost {
  readonly client: AssayClient
  readonly clock: ManualClock
  /** Starts a run and resolves, like `settled`, with how it then is. */
  run(workflowId: string, inputs?: JsonObject, more?: Omit<RunRequest, 'workflowId' | 'inputs'>): Promise<RunSnapshot>
  /** The run as soon as it has ended or waits for somebody. One that waits for time to pass does neither. */
  settled(runId: string): Promise<RunSnapshot>
  /** The first event of that type, of that node if one is named, as soon as it is in the log of the run. */
  told(runId: string, type: string, nodeId?: string): Promise<RunEventDoc>
  /** Ends the host and takes away what it has kept. */
  stop(): Promise<void>
}

const UNDER_WAY: ReadonlySet<RunStatus> = new Set(['pending', 'running', 'cancelling'])

/** Longer than any test takes, on whatever clock: a host in a test is the only one of its store, and is never given up. */
const LEASE_MS = 10 * 365 * 24 * 3_600_000

/** A host with an empty memory, the workflows and agents of a project, and models that say what the test says. */
export async function startTestHost({ now, log, providers = {}, ...options }: TestHostOptions = {}): Promise<TestHost> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-test-'))
  const forget = () => fs.rmSync(folder, { recursive: true })
  const clock = new ManualClock(now)
  try {
    const config = configOf(options, folder)
    const performers = new Map(Object.entries(providers))
    const host = await createHost(config, { clock, ids: new CountingIds(), performers, ...(log && { log }) })
    await host.start()
    const client = new AssayClient({ url: host.url, key: await ensureLocalKey(config.data) })
    return {
      ...readersOf(client),
      client,
      clock,
      async stop() {
        await host.stop()
        forget()
      },
    }
  } catch (error) {
    forget()
    throw error
  }
}

function configOf({ script, env = {}, settings, port = 0, project }: TestHostOptions, folder: string): Config {
  const overrides = overridesOf({
    settings: { 'log.level': 'error', ...settings },
    data: folder,
    database: 'memory:',
    port,
    ...(project !== undefined && { project }),
  })
  const config = { ...loadConfig(overrides, env), leaseMs: LEASE_MS }
  if (script === undefined) return config
  const file = path.join(folder, 'script.json')
  fs.writeFileSync(file, JSON.stringify(script))
  const { agents } = config
  const scripted = { provider: 'scripted', model: 'scripted' }
  const models = {
    ...agents.models,
    worker: scripted,
    supervisor: scripted,
    verifier: scripted,
    classes: {},
    script: file,
    providers: { scripted: { kind: 'scripted' as const } },
  }
  return { ...config, agents: { ...agents, models } }
}

function readersOf(client: AssayClient): Pick<TestHost, 'run' | 'settled' | 'told'> {
  const settled = async (runId: string): Promise<RunSnapshot> => {
    for await (const _event of client.followEvents(runId)) {
      const run = await client.getRun(runId)
      if (!UNDER_WAY.has(run.status)) return run
    }
    return client.getRun(runId)
  }
  return {
    settled,
    async run(workflowId, inputs = {}, more = {}) {
      const { runId } = await client.createRun({ ...more, workflowId, inputs })
      return settled(runId)
    },
    async told(runId, type, nodeId) {
      for await (const event of client.followEvents(runId)) {
        if (event.type === type && (nodeId === undefined || event.nodeId === nodeId)) return event
      }
      const where = nodeId === undefined ? '' : ` of node ${nodeId}`
      throw new Error(`run ${runId} has ended, and its log has no ${type}${where}`)
    },
  }
}
