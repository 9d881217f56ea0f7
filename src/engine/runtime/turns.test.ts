import { describe, expect, it } from 'vitest'
import { evolve } from '../../core/run/evolve.js'
import type { RunState } from '../../core/run/state.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import { NO_TURNS, Turns, type TurnTaking } from '../../timing/turns.js'
import type { StoredEvent } from '../ports/event-log.js'
import { decode } from '../log/encode.js'
import { charactersOf, foldLog } from '../log/read-log.js'

const loop = (id: string, passes: number): Sketch => ({
  id,
  nodes: {
    loop: { type: 'core.loop', config: { maxIterations: passes } },
    body: {
      type: 'core.setVariable',
      config: { name: 'x' },
      inputs: { value: { type: 'expression', expression: 'inputs.text' } },
    },
  },
  edges: ['loop.body > body', 'body > loop'],
  variables: [{ name: 'x', type: 'string' }],
})

describe('T1 T2: whose turn it is to be decided', () => {
  it('a new run waits while the round is used up, and is not decided before', async () => {
    let letIn: () => void = () => undefined
    const asked: string[] = []
    const turns: TurnTaking = {
      ...NO_TURNS,
      room: tenant => {
        asked.push(tenant)
        return new Promise(resolve => (letIn = resolve))
      },
    }
    const rig = engineRig()
    const engine = await rig.host({ turns })
    await register(engine, { id: 'noop', nodes: { a: 'core.noop' } })
    const started = startRun(engine, 'noop')
    await settled()
    expect(asked).toEqual(['t1'])
    expect(await rig.store.listRuns({ tenant: 't1', limit: 10 })).toEqual([])
    letIn()
    await started
    expect(await rig.store.listRuns({ tenant: 't1', limit: 10 })).toHaveLength(1)
  })

  it('what is decided is charged to its tenant, in steps, and what is told counts', async () => {
    const spent = new Map<string, number>()
    const turns: TurnTaking = {
      ...NO_TURNS,
      spent: (tenant, steps) => void spent.set(tenant, (spent.get(tenant) ?? 0) + steps),
    }
    const engine = await engineRig().host({ turns })
    await register(engine, loop('attack', 3))
    await startRun(engine, 'attack', { inputs: { text: 'x'.repeat(1_000) } })
    const few = spent.get('t1') ?? 0
    await startRun(engine, 'attack', { inputs: { text: 'x'.repeat(100_000) } })
    expect([...spent.keys()]).toEqual(['t1'])
    expect((spent.get('t1') ?? 0) - few).toBeGreaterThan(few + 3 * 50_000)
  })

  it('runs of one tenant that go on and on keep another’s new run waiting for one decision, not for one each', async () => {
    const turns = new Turns()
    const decided: string[] = []
    const noting: TurnTaking = {
      next: tenant => turns.next(tenant),
      room: tenant => turns.room(tenant),
      spent: (tenant, steps) => {
        decided.push(tenant)
        turns.spent(tenant, steps)
      },
    }
    const engine = await engineRig().host({ turns: noting, maxConcurrentEffects: 64 })
    for (const workflow of [loop('attack', 500), { id: 'noop', nodes: { a: 'core.noop' } }])
      expect(await engine.putWorkflow(null, sketch(workflow))).toMatchObject({ ok: true })
    const create = (tenant: string, workflowId: string) =>
      engine.create({ tenant, principal: 'p', workflowId, inputs: { text: 'x'.repeat(200_000) }, transport: 'rest' })
    await Promise.all(Array.from({ length: 20 }, () => create('a', 'attack')))
    for (let i = 0; i < 5; i += 1) {
      const before = decided.length
      expect(await create('b', 'noop')).toMatchObject({ ok: true })
      const waited = decided.indexOf('b', before) - before
      expect(waited).toBeLessThanOrEqual(2)
    }
    const runs = decided.filter(tenant => tenant === 'a').length
    await expect.poll(() => decided.length, { timeout: 15_000 }).toBeGreaterThan(runs + 20)
  })
})

describe('T1: a log that is read from its beginning', () => {
  it('is folded page by page, within bytes that are counted, to the state it was', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await register(engine, loop('attack', 30))
    const runId = await startRun(engine, 'attack', { inputs: { text: 'x'.repeat(60_000) } })
    await expect.poll(async () => (await engine.inspect('t1', runId))?.status).toBe('completed')
    const view = await engine.inspect('t1', runId)
    const row = await rig.store.readRun('t1', runId)
    const pages: StoredEvent[][] = []
    const asked: [string, number][] = []
    const store = {
      readEvents: async (...range: Parameters<typeof rig.store.readEvents>) => {
        const page = await rig.store.readEvents(...range)
        pages.push(page)
        return page
      },
    }
    const turns: TurnTaking = {
      ...NO_TURNS,
      room: tenant => void asked.push([tenant, pages.length]) as undefined,
    }
    const { state, last } = await foldLog({ store, turns }, row!, view!.plan, { phase: 'absent' })
    expect(state).toEqual(view?.state)
    expect(last?.sequence).toBe(row!.length - 1)
    const all = await rig.store.readEvents(runId, 0)
    expect(pages.flat()).toEqual(all)
    expect(all.reduce<RunState>((s, e) => evolve(view!.plan, s, decode(runId, e)), { phase: 'absent' })).toEqual(state)
    const bytes = pages.map(page => page.reduce((sum, { payload }) => sum + payload.length, 0))
    expect(bytes.length).toBeGreaterThan(5)
    expect(Math.max(...bytes)).toBeLessThanOrEqual(256 * 1024)
    // Before each page is folded, and never two pages for one.
    expect(asked).toEqual(pages.map((_, i) => ['t1', i + 1]))
  })
})

describe('T1: a run that is forked', () => {
  const PAGE_BYTES = 256 * 1024

  /** What is read of the store, in the turn in which it is read: no more than a page, and never two for one turn. */
  async function forkRig() {
    const rig = engineRig()
    const engine = await rig.host()
    await register(engine, loop('attack', 60))
    const runId = await startRun(engine, 'attack', { inputs: { text: 'x'.repeat(60_000) } })
    await expect.poll(async () => (await engine.inspect('t1', runId))?.status).toBe('completed')
    const log = await rig.store.readEvents(runId, 0)
    const turnsTaken: { readonly tenant: string; bytes: number; reads: number }[] = []
    const store = new Proxy(rig.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (name !== 'readEvents') return typeof value === 'function' ? value.bind(target) : value
        return async (...range: Parameters<typeof target.readEvents>) => {
          const page = await target.readEvents(...range)
          const turn = turnsTaken.at(-1)
          if (turn && range[0] === runId && range[2] !== 1) {
            turn.bytes += charactersOf(page)
            turn.reads += 1
          }
          return page
        }
      },
    })
    const taken = (tenant: string) => {
      turnsTaken.push({ tenant, bytes: 0, reads: 0 })
      return Promise.resolve()
    }
    let steps = 0
    const spent = (_tenant: string, more: number) => {
      steps += more
    }
    const turns: TurnTaking = { next: taken, room: taken, spent }
    const second = await rig.host({ hostName: 'second', store, turns })
    return { rig, second, runId, log, turnsTaken, steps: () => steps }
  }

  it('a branch reads its source in turns, a page in each, and is charged for it', async () => {
    const { rig, second, runId, log, turnsTaken, steps } = await forkRig()
    const size = charactersOf(log)
    expect(size).toBeGreaterThan(3_000_000)
    const fork = await second.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: log.length - 1 })
    if (!fork.ok) throw new Error('refused')
    expect(fork.value.status).toBe('completed')
    expect((await rig.store.readEvents(fork.value.runId, 0)).slice(0, log.length - 1)).toEqual(log.slice(0, -1))
    const reading = turnsTaken.filter(({ reads }) => reads > 0)
    expect(reading.length).toBeGreaterThanOrEqual(12)
    expect(Math.max(...reading.map(({ bytes }) => bytes))).toBeLessThanOrEqual(PAGE_BYTES)
    expect(Math.max(...reading.map(({ reads }) => reads))).toBe(1)
    expect(steps()).toBeGreaterThanOrEqual(charactersOf(log.slice(0, -1)))
  })

  it('a replay reads its source in turns, and no further ahead than it is told', async () => {
    const { rig, second, runId, log, turnsTaken } = await forkRig()
    const fork = await second.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    if (!fork.ok) throw new Error('refused')
    const opened = turnsTaken.reduce((sum, { bytes }) => sum + bytes, 0)
    expect(opened).toBeLessThan(charactersOf(log) / 2)
    await expect.poll(async () => (await second.inspect('t1', fork.value.runId))?.status).toBe('completed')
    const told = await rig.store.readEvents(fork.value.runId, 0)
    expect(told.map(({ type, payload }) => [type, payload])).toEqual(log.map(({ type, payload }) => [type, payload]))
    expect(Math.max(...turnsTaken.map(({ bytes }) => bytes))).toBeLessThanOrEqual(PAGE_BYTES)
    expect(Math.max(...turnsTaken.map(({ reads }) => reads))).toBe(1)
  })

  it('forks of one tenant’s long run keep another’s new run waiting for a page, not for a log', async () => {
    const { rig, runId, log } = await forkRig()
    const turns = new Turns()
    const done: [string, number][] = []
    const noting: TurnTaking = {
      next: tenant => turns.next(tenant),
      room: tenant => turns.room(tenant),
      spent: (tenant, steps) => {
        done.push([tenant, steps])
        turns.spent(tenant, steps)
      },
    }
    const engine = await rig.host({ hostName: 'third', turns: noting })
    expect(await engine.putWorkflow(null, sketch({ id: 'noop', nodes: { a: 'core.noop' } }))).toMatchObject({
      ok: true,
    })
    const forks = Array.from({ length: 6 }, (_, i) =>
      engine.fork({ tenant: 't1', runId, mode: i % 2 ? 'branch' : 'replay', fromSeq: log.length - 1 }),
    )
    for (let i = 0; i < 5; i += 1) {
      const before = done.length
      const create = { tenant: 'b', principal: 'p', workflowId: 'noop', inputs: {}, transport: 'rest' } as const
      expect(await engine.create(create)).toMatchObject({ ok: true })
      const waited = done.slice(
        before,
        done.findIndex(([tenant], at) => at >= before && tenant === 'b'),
      )
      expect(waited.reduce((sum, [, steps]) => sum + steps, 0)).toBeLessThanOrEqual(3 * PAGE_BYTES)
    }
    expect(done.at(-1)?.[0]).toBe('b')
    for (const fork of await Promise.all(forks)) expect(fork).toMatchObject({ ok: true })
  })
})
