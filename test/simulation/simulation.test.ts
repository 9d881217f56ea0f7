import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engine/engine.js'
import { type Performer, type Store, StoreUnavailable } from '../../src/engine/ports.js'
import { checkLog } from '../../src/log-check/check-log.js'
import type { CheckedRun } from '../../src/log-check/checked.js'
import { fromRows } from '../../src/log-check/read-log.js'
import { engineRig, type Rig, register } from '../../src/testing/engine-rig.js'
import { settled } from '../../src/testing/manual-clock.js'
import type { Sketch } from '../../src/testing/workflow.js'
import { CHILD, type Happening, happenings, randomWorkflow } from './random-workflow.js'

/** fast-check prints the seed and the shrunk example on failure; give it here to see it again. */
const RUNS = 3_000
const seen = { crashes: 0, zombies: 0, refused: 0, lost: 0, fenced: 0, runs: 0, repeated: 0 }

/** A process: its store can be made to fail, and dies with it. */
class Process {
  dead = false
  next: 'refuse-commit' | 'lose-answer' | undefined
  engine!: Engine
  readonly performed: string[] = []

  constructor(private readonly rig: Rig) {}

  async boot(): Promise<this> {
    const performer: Performer = {
      perform: async ({ id }) => {
        this.performed.push(id)
        await new Promise<void>(resolve => this.rig.clock.after(300, resolve))
        return { ok: true, output: 'done' }
      },
    }
    this.engine = await this.rig.host({
      store: this.#store(),
      performers: new Map([['conformance.side-effect', performer]]),
    })
    return this
  }

  #store(): Store {
    return new Proxy(this.rig.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'onHint') return value.bind(target)
        return async (...parameters: unknown[]) => {
          if (this.dead) return new Promise(() => undefined)
          if (name !== 'commit') return value.apply(target, parameters)
          const fault = this.next
          this.next = undefined
          if (fault === 'refuse-commit') {
            seen.refused += 1
            throw new StoreUnavailable('refused')
          }
          const result = await value.apply(target, parameters)
          if (result.kind === 'fenced') seen.fenced += 1
          if (fault === 'lose-answer') {
            seen.lost += 1
            throw new StoreUnavailable('the answer was lost')
          }
          return result
        }
      },
    }) as Store
  }
}

async function simulate(workflow: Sketch, story: readonly Happening[]): Promise<CheckedRun[]> {
  const rig = engineRig()
  let process = await new Process(rig).boot()
  const all = [process]
  await register(process.engine, CHILD, workflow)
  const request = { tenant: 't1', principal: 'p', workflowId: 'random', inputs: {}, transport: 'rest' } as const
  const created = await process.engine.create(request)
  if (!created.ok) throw new Error('not created')
  const { runId } = created.value
  for (const happening of story) {
    if (happening.kind === 'time') await rig.clock.advance(happening.ms)
    else if (happening.kind === 'crash' || happening.kind === 'zombie') {
      seen[happening.kind === 'crash' ? 'crashes' : 'zombies'] += 1
      process.dead = happening.kind === 'crash'
      process = await new Process(rig).boot()
      all.push(process)
    } else if (happening.kind === 'refuse-commit' || happening.kind === 'lose-answer') process.next = happening.kind
    else await ask(process.engine, runId, happening.kind)
    await settled()
  }
  for (const one of all) one.next = undefined
  await ask(process.engine, runId, 'resume')
  await until(rig, process.engine, runId)
  const performed = all.flatMap(one => one.performed)
  seen.repeated += performed.length - new Set(performed).size
  return readAll(rig)
}

const COMMANDS = {
  pause: { type: 'pause', drainPolicy: 'drain-current-node' },
  'pause-now': { type: 'pause', drainPolicy: 'immediate' },
  resume: { type: 'resume' },
  cancel: { type: 'cancel', by: 'p' },
} as const

async function ask(engine: Engine, runId: string, what: keyof typeof COMMANDS): Promise<void> {
  await engine.command('t1', runId, COMMANDS[what]).catch(error => {
    if (!(error instanceof StoreUnavailable)) throw error
  })
}

/** Liveness: with no more faults, everything ends in bounded time. A pause that was draining may still come to be. */
async function until(rig: Rig, engine: Engine, runId: string): Promise<void> {
  for (let step = 0; step < 200; step += 1) {
    if ((await rig.store.listRuns({ tenant: 't1', limit: 100 })).every(run => run.endedAt !== null)) return
    await rig.clock.advance(1_000)
    if ((await engine.inspect('t1', runId))?.status === 'paused') await ask(engine, runId, 'resume')
  }
  throw new Error('a run did not end')
}

async function readAll({ store }: Rig): Promise<CheckedRun[]> {
  const rows = (await store.listRuns({ tenant: 't1', limit: 100 })).reverse()
  seen.runs += rows.length
  return Promise.all(
    rows.map(async row => ({
      runId: row.runId,
      tenant: row.tenant,
      row,
      definition: JSON.parse((await store.getDefinition(row.workflowDigest))!),
      events: fromRows(row.runId, await store.readEvents(row.runId, 0)),
    })),
  )
}

describe('simulation: random workflows, random faults, one clock', () => {
  it('every run ends and every log is legal', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(randomWorkflow, happenings, async (workflow, story) => {
        expect(checkLog({ runs: await simulate(workflow, story), complete: true })).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })

  it('the same faults at the same moments make the same log, byte for byte', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(randomWorkflow, happenings, async (workflow, story) => {
        const [once, twice] = [await simulate(workflow, story), await simulate(workflow, story)]
        expect(twice.map(run => run.events)).toEqual(once.map(run => run.events))
      }),
      { numRuns: 60 },
    )
  })

  afterAll(() => {
    console.log(`simulation: ${JSON.stringify(seen)}`)
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
  })
})
