import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { loadConfig } from '../../src/config.js'
import type { Store } from '../../src/engine/ports/store.js'
import type { Engine } from '../../src/engine/runtime/engine.js'
import { createHost } from '../../src/host.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { CountingIds, engineRig, type Rig } from '../../src/testing/engine-rig.js'
import { ManualClock, settled } from '../../src/testing/manual-clock.js'
import { answerTo, asksOf, peopleFor, type Word } from '../support/answers.js'
import { freePort } from '../support/free-port.js'

/** A host with everything that a story needs around it, on a clock that stands still. */
export type World = {
  readonly engine: Engine
  readonly store: Store
  readonly clock: ManualClock
  readonly tenant: string
  /** Lets time pass, and everything happen that falls due meanwhile. */
  pass(ms: number): Promise<void>
  stop(): Promise<void>
}

/** Makes something durable in an empty store before there is a host, and says at what time that happened. */
export type Fill = (store: Store) => Promise<number>

export type OpenWorld = (fill?: Fill, watch?: (store: Store) => Store) => Promise<World>

const NOTHING: Fill = async () => 0

/** Runs that are started by one who goes on have names of their own. */
const idsAfter = (fill: Fill) => new CountingIds(fill === NOTHING ? '' : 'later-')

type RigOptions = NonNullable<Parameters<Rig['host']>[0]>

/** An engine among doubles. They are made anew for every world, so that nothing outlives a host but its store. */
export const rigWorld =
  (options: (store: Store) => RigOptions = () => ({})): OpenWorld =>
  async (fill = NOTHING, watch = store => store) => {
    const store = watch(new MemoryStore())
    const rig = engineRig(store, idsAfter(fill))
    catchUp(rig.clock, await fill(store))
    const engine = await rig.host({ leaseMs: 30 * 24 * 3_600_000, ...options(store) })
    await settled()
    const pass = (ms: number) => rig.clock.advance(ms)
    return { engine, store, clock: rig.clock, tenant: 't1', pass, stop: () => engine.stop(0) }
  }

const catchUp = (clock: ManualClock, at: number): void => clock.skip(Math.max(0, at - clock.now()))

const QUIET_MS = 60
/** Well below every time limit of a call: nobody is given up while it is still at work. */
const LONGEST_STEP_MS = 5_000

function counting(store: Store, count: () => void): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        if (name !== 'heartbeat' && name !== 'dueRuns') count()
        return value.apply(target, parameters)
      }
    },
  })
}

const DATA_KEY = Buffer.alloc(32, 7).toString('base64')

/** A whole host over a project folder, with the offline model. */
export const projectWorld =
  (project: string): OpenWorld =>
  async (fill = NOTHING, watch = store => store) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-history-'))
    // Histories are of runs that a story starts; goals of the project would start more, by the clock.
    const quietly = { 'log.level': 'silent', 'goals.enabled': false }
    const flags = { project, data: folder, database: 'memory:', port: String(await freePort()), ...quietly }
    const clock = new ManualClock()
    let store!: Store
    let writes = 0
    const wrapStore = (database: Store) => (store = watch(counting(database, () => (writes += 1))))
    const config = loadConfig(flags, { ASSAY_DATA_KEY: DATA_KEY }, folder)
    const host = await createHost(config, { clock, ids: idsAfter(fill), wrapStore })
    catchUp(clock, await fill(store))
    await host.start()
    /** Threads and files take real time: nothing has been written for a while. */
    const quiet = async () => {
      for (let before = -1; before !== writes; ) {
        before = writes
        await new Promise(resolve => setTimeout(resolve, QUIET_MS))
      }
    }
    const pass = async (ms: number) => {
      for (let left = ms; left > 0; left -= LONGEST_STEP_MS) {
        await quiet()
        await clock.advance(Math.min(left, LONGEST_STEP_MS))
      }
      await quiet()
    }
    await quiet()
    const stop = async () => {
      await host.stop()
      fs.rmSync(folder, { recursive: true })
    }
    return { engine: host.engine, store, clock, tenant: 'default', pass, stop }
  }

/** Starts a run and lets happen what can happen at once. */
export async function start(
  { engine, tenant }: World,
  workflowId: string,
  more: {
    readonly inputs?: object
    readonly configurable?: object
    readonly scopes?: readonly string[]
    readonly scopeId?: string
  } = {},
): Promise<string> {
  const request = { tenant, principal: 'p', workflowId, inputs: {}, transport: 'rest', ...more }
  const answer = await engine.create(request as Parameters<Engine['create']>[0])
  if (!answer.ok) throw new Error(`${workflowId}: ${JSON.stringify(answer)}`)
  await settled()
  return answer.value.runId
}

export async function command(
  { engine, tenant }: World,
  runId: string,
  order: Parameters<Engine['command']>[2],
): Promise<void> {
  const answer = await engine.command(tenant, runId, order)
  if (!answer.ok) throw new Error(`${order.type} ${runId}: ${JSON.stringify(answer)}`)
  await settled()
}

/** Everybody says `word` to whatever any run asks now. */
export async function answerAll(world: World, word: Word = 'accept'): Promise<void> {
  const { engine, tenant, store } = world
  for (const { runId, endedAt } of await store.listRuns({ tenant, limit: 1_000 })) {
    if (endedAt !== null) continue
    for (const { nodeId, asked } of await asksOf(engine, tenant, runId))
      for (const by of peopleFor(asked))
        await engine.command(tenant, runId, { type: 'resolve', nodeId, value: answerTo(asked, word), via: 'key', by })
  }
  await settled()
}

const PATIENCE = 60

/**
 * Time passes, questions are answered and what is paused goes on until every run has ended. What will not end by itself
 * is cancelled; that must end it.
 */
export async function untilOver(world: World, word: Word = 'accept'): Promise<void> {
  const { engine, store, tenant } = world
  let ms = 5
  for (let round = 0; round < PATIENCE; round += 1) {
    const open = (await store.listRuns({ tenant: null, limit: 1_000 })).filter(({ endedAt }) => endedAt === null)
    if (open.length === 0) return
    for (const { runId, status } of open) {
      if (status === 'paused') await engine.command(tenant, runId, { type: 'resume' })
      if (round > PATIENCE / 2) await engine.command(tenant, runId, { type: 'cancel', by: 'p' })
    }
    await answerAll(world, word)
    await world.pass(ms)
    ms = Math.min(ms * 2, 600_000)
  }
  throw new Error('runs that do not end')
}
