import { afterAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { checkSchedule } from '../../log-check/schedule/check-schedule.js'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, type Rig } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { MortalHost } from '../../testing/mortal-host.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { Store } from '../ports/store.js'
import type { Engine } from '../runtime/engine.js'

/**
 * Two hosts on one database, and one of them dies, or is suspended and goes on later, at any of its writes. Whatever
 * happens, every minute has exactly one run.
 */

const MINUTE = 60_000
const LAST = 4
const WORK: { readonly [name: string]: Sketch } = {
  quick: { id: 'report', nodes: { a: 'core.noop' } },
  slow: { id: 'report', nodes: { a: { type: 'core.delay', config: { delayMs: 20_000 } } } },
}
const scheduled = (workflow: Sketch): JsonObject =>
  ({
    ...sketch(workflow),
    triggers: [{ id: 'tick', type: 'schedule', config: { cron: '* * * * *', missed: 'all', maxMissed: 10 } }],
  }) as JsonObject

type Fault = { readonly at: number; readonly how: 'before' | 'after' | 'suspended' }
type Sabotage = (store: Store, host: 'a' | 'b') => Store

const faults = { before: 0, after: 0, suspended: 0 }

/** A store that stops answering at one of its writes, and after a while goes on as if nothing had been. */
class SleepyStore {
  #writes = 0
  #asleep: Promise<void> | undefined
  #wake: () => void = () => undefined
  slept = false
  readonly store: Store

  constructor(store: Store, at: number) {
    this.store = new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function' || name === 'onHint') return value?.bind?.(target) ?? value
        return async (...parameters: unknown[]) => {
          if (name === 'commit') this.#writes += 1
          if (this.#writes === at && !this.slept) {
            this.slept = true
            this.#asleep = new Promise(resolve => {
              this.#wake = resolve
            })
          }
          await this.#asleep
          return value.apply(target, parameters)
        }
      },
    }) as Store
  }

  wake(): void {
    this.#asleep = undefined
    this.#wake()
  }
}

/** Tells the story of a few minutes; what each minute has in the end. */
async function story(workflow: Sketch, fault: Fault | undefined, sabotage: Sabotage = store => store) {
  const rig = engineRig()
  const first = await hostA(rig, fault, sabotage)
  const second = await rig.host({ store: sabotage(rig.store, 'b') })
  // Both know the project.
  await registered(first.engine, workflow)
  await registered(second, workflow)
  for (let minute = 0; minute < LAST; minute++) {
    await rig.clock.advance(MINUTE)
    if (minute === 2) first.wake()
  }
  await rig.clock.advance(1.5 * MINUTE)
  return { ...(await told(rig)), writes: first.writes(), struck: first.struck() }
}

async function hostA(rig: Rig, fault: Fault | undefined, sabotage: Sabotage) {
  if (fault?.how === 'suspended') {
    const sleepy = new SleepyStore(rig.store, fault.at)
    const engine = await rig.host({ store: sabotage(sleepy.store, 'a') })
    return { engine, wake: () => sleepy.wake(), writes: () => 0, struck: () => sleepy.slept }
  }
  const mortal = new MortalHost(rig)
  if (fault) mortal.dieAt(fault.at, fault.how as 'before' | 'after')
  const engine = await rig.host({ store: sabotage(mortal.store, 'a'), agents: agentsDouble({ agents: {} }) })
  return { engine, wake: () => undefined, writes: () => mortal.writes.length, struck: () => mortal.isDead }
}

/** Whoever dies on the way never answers. */
async function registered(engine: Engine, workflow: Sketch): Promise<void> {
  engine.putWorkflow('t1', scheduled(workflow)).catch(error => expect(String(error)).toContain('unavailable'))
  for (let i = 0; i < 3; i++) await settled()
}

async function told(rig: Rig) {
  const rows = await rig.store.listRuns({ tenant: 't1', workflowId: 'report', limit: 100 })
  const begin = rig.clock.now() - (LAST + 1.5) * MINUTE
  const minutes: number[] = []
  for (const { runId } of rows) {
    const [started] = await rig.store.readEvents(runId, 0, 1)
    minutes.push((Date.parse(JSON.parse(started!.payload).metadata.tick) - begin) / MINUTE)
  }
  const [schedule] = await rig.store.listRuns({ tenant: 't1', workflowId: 'assay-schedule', limit: 10 })
  const log = await rig.store.readEvents(schedule!.runId, 0)
  const wrong = checkSchedule(log.map(event => ({ ...event, payload: JSON.parse(event.payload) })))
  const open = rows.filter(({ endedAt }) => endedAt === null).length
  return { minutes: minutes.toSorted((a, b) => a - b), open, wrong }
}

const EVERY_MINUTE = Array.from({ length: LAST + 1 }, (_, i) => i + 1)

describe.each(Object.keys(WORK))('R-ARM-1: with %s runs', name => {
  const workflow = WORK[name]!

  test('every minute has one run, at whatever write a host dies or is suspended, and whoever takes over', async () => {
    const { minutes, writes } = await story(workflow, undefined)
    expect(minutes).toEqual(EVERY_MINUTE)
    expect(writes).toBeGreaterThan(8)
    for (let at = 1; at <= writes; at++)
      for (const how of ['before', 'after', 'suspended'] as const) {
        const found = await story(workflow, { at, how })
        expect({ at, how, minutes: found.minutes, open: found.open, wrong: found.wrong }).toEqual({
          at,
          how,
          minutes: EVERY_MINUTE,
          open: 0,
          wrong: [],
        })
        if (found.struck) faults[how] += 1
      }
  }, 180_000)
})

describe('a sabotaged host is noticed', () => {
  const isRed = async (sabotage: Sabotage, faultsTried: readonly (Fault | undefined)[]): Promise<boolean> => {
    for (const fault of faultsTried) {
      const { minutes } = await story(WORK.quick!, fault, sabotage)
      if (JSON.stringify(minutes) !== JSON.stringify(EVERY_MINUTE)) return true
    }
    return false
  }
  const everywhere = Array.from({ length: 12 }, (_, i): Fault => ({ at: i + 1, how: 'after' }))

  test('whose ticks are kept by host', async () => {
    const keyed: Sabotage = (store, host) =>
      rewriting(store, text => text.replace(/^schedule-[0-9a-f]{32}$/, `$&-${host}`))
    expect(await isRed(keyed, [undefined])).toBe(true)
  })

  test('that writes the run and the tick apart', async () => {
    expect(await isRed(splitting, everywhere)).toBe(true)
    expect(await isRed(store => store, everywhere)).toBe(false)
  }, 180_000)
})

/** Every text that goes in is another one. */
function rewriting(store: Store, rewrite: (text: string) => string): Store {
  const deep = (value: unknown): unknown => {
    if (typeof value === 'string') return rewrite(value)
    if (Array.isArray(value)) return value.map(deep)
    if (value === null || typeof value !== 'object' || value.constructor !== Object) return value
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, deep(part)]))
  }
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'onHint') return value?.bind?.(target) ?? value
      return (...parameters: unknown[]) => value.apply(target, parameters.map(deep))
    },
  }) as Store
}

const splitting: Sabotage = store =>
  new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (name !== 'commit') return typeof value === 'function' ? value.bind(target) : value
      return async (commit: Parameters<Store['commit']>[0]) => {
        const isStream = ({ runId }: { runId: string }) => runId.startsWith('schedule-')
        const runs = commit.streams.filter(part => !isStream(part))
        if (runs.length === 0 || runs.length === commit.streams.length) return target.commit(commit)
        await target.commit({ ...commit, appendId: `${commit.appendId}.runs`, streams: runs })
        return target.commit({ ...commit, streams: commit.streams.filter(isStream) })
      }
    },
  }) as Store

afterAll(() => {
  for (const [how, count] of Object.entries(faults)) expect([how, count >= 15]).toEqual([how, true])
})
