import { describe, expect, it } from 'vitest'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { type Commit, StoreUnavailable } from '../ports/event-log.js'
import type { EffectAnswer, Performer } from '../ports/performer.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'
import type { Store } from '../ports/store.js'
import type { Engine } from './engine.js'

const noop = { id: 'noop', nodes: { a: 'core.noop' } }
const sleeper = { id: 'sleeper', nodes: { d: { type: 'core.delay', config: { ms: 5_000 } } } }
const nested = {
  id: 'nested',
  nodes: {
    sub: {
      type: 'core.subWorkflow',
      config: { workflowId: 'sleeper', inputMapping: { x: 'mine' }, outputMapping: { mine: 'x' } },
    },
    z: 'core.noop',
  },
  edges: ['sub > z'],
  variables: [{ name: 'mine', type: 'number' as const, defaultValue: 3 }],
}

const told = async (engine: Engine, runId: string) =>
  (await engine.readEvents('t1', runId, 0))!.map(({ type, nodeId }) => (nodeId ? `${type} ${nodeId}` : type))
const status = async (engine: Engine, runId: string) => (await engine.inspect('t1', runId))?.status

describe('one host', () => {
  it('E3: a no-op run is one commit, and reading it back needs no store', async () => {
    const { store, host } = engineRig()
    const calls: string[] = []
    const counted = new Proxy(store, { get: (target, name) => count(target, name, calls) }) as Store
    const engine = await host({ store: counted })
    await register(engine, noop)
    await startRun(engine, 'noop')
    calls.length = 0
    const runId = await startRun(engine, 'noop')
    expect(await status(engine, runId)).toBe('completed')
    expect(calls).toEqual(['commit'])
  })

  it('a delay ends on time, by the table of due times', async () => {
    const { clock, host } = engineRig()
    const engine = await host()
    await register(engine, sleeper)
    const runId = await startRun(engine, 'sleeper')
    await clock.advance(4_999)
    expect(await status(engine, runId)).toBe('running')
    await clock.advance(1)
    expect(await status(engine, runId)).toBe('completed')
  })

  it('core §9.2 R-SUB-1: a sub-workflow runs as a child with its own log, linked both ways', async () => {
    const { clock, host, store } = engineRig()
    const engine = await host()
    await register(engine, sleeper, nested)
    const runId = await startRun(engine, 'nested')
    const [child] = await store.childrenOf(runId, 10)
    expect(await store.readRun(null, child!.runId)).toMatchObject({
      parentRunId: runId,
      parentNodeId: 'sub',
      tenant: 't1',
    })
    await clock.advance(5_000)
    expect(await told(engine, runId)).toEqual([
      'run.started',
      'node.started sub',
      'core.workflowChain.event sub',
      'node.dispatched sub',
      'core.workflowChain.event sub',
      'core.workflowChain.event sub',
      'variable.changed sub',
      'core.workflowChain.event sub',
      'node.completed sub',
      'node.started z',
      'node.completed z',
      'run.completed',
    ])
    expect((await engine.inspect('t1', child!.runId))?.state).toMatchObject({
      variables: { x: 3 },
      started: { parentRunId: runId },
    })
  })

  it("core §9.2 R-SUB-2: an input mapped from a variable without a value is unset in the child, whatever the child's default", async () => {
    const { host, store } = engineRig()
    const engine = await host()
    const child = {
      id: 'c',
      nodes: { a: 'core.noop' },
      variables: [{ name: 'x', type: 'string' as const, defaultValue: 'baked-in' }],
    }
    const config = { workflowId: 'c', inputMapping: { x: 'nothing' } }
    await register(engine, child, { id: 'p', nodes: { sub: { type: 'core.subWorkflow', config } } })
    const [run] = await store.childrenOf(await startRun(engine, 'p'), 10)
    expect((await engine.inspect('t1', run!.runId))?.state).toMatchObject({ variables: {} })
    expect((await engine.inspect('t1', run!.runId))?.state).not.toMatchObject({ variables: { x: 'baked-in' } })
  })

  it('core §9.2 R-SUB-5 R-ASK-9: a cancel reaches the child first, then ends the parent', async () => {
    const { host, store } = engineRig()
    const engine = await host()
    await register(engine, sleeper, nested)
    const runId = await startRun(engine, 'nested')
    expect(await engine.command('t1', runId, { type: 'cancel', by: 'p' })).toMatchObject({
      ok: true,
      value: { status: 'cancelling' },
    })
    await settled()
    const [child] = await store.childrenOf(runId, 10)
    expect(await status(engine, runId)).toBe('cancelled')
    expect((await engine.readEvents('t1', child!.runId, 0))!.at(-1)).toMatchObject({
      type: 'run.cancelled',
      payload: expect.stringContaining('"reason":"parent-cancelled"'),
    })
  })

  it("core §9.2 R-SUB-6: an unknown child workflow, and another tenant's, fail the node alike", async () => {
    const { host } = engineRig()
    const engine = await host()
    await register(engine, nested)
    expect(
      await engine.putWorkflow('t2', { ...(await import('../../testing/workflow.js')).sketch(sleeper) }),
    ).toMatchObject({ ok: true })
    const runId = await startRun(engine, 'nested')
    expect((await engine.inspect('t1', runId))?.state).toMatchObject({
      outcome: { error: { code: 'unknown_child_workflow' } },
    })
  })

  it('a workflow that runs itself stops at the depth limit, and every level says why', async () => {
    const { host, store } = engineRig()
    const engine = await host()
    await register(engine, {
      id: 'bomb',
      nodes: { again: { type: 'core.subWorkflow', config: { workflowId: 'bomb' } } },
    })
    const runId = await startRun(engine, 'bomb')
    await settled()
    expect(await status(engine, runId)).toBe('failed')
    expect(await store.listRuns({ tenant: 't1', limit: 100 })).toHaveLength(9)
  })

  it('a running run keeps the definition it started with', async () => {
    const { clock, host } = engineRig()
    const engine = await host()
    await register(engine, sleeper)
    const runId = await startRun(engine, 'sleeper')
    await register(engine, { id: 'sleeper', nodes: { other: 'core.fail' } })
    await clock.advance(5_000)
    expect(await status(engine, runId)).toBe('completed')
    expect(await status(engine, await startRun(engine, 'sleeper'))).toBe('failed')
  })

  it('another tenant sees nothing: read, events, follow and commands', async () => {
    const { host } = engineRig()
    const engine = await host()
    await register(engine, sleeper)
    const runId = await startRun(engine, 'sleeper')
    expect(await engine.inspect('t2', runId)).toBeUndefined()
    expect(await engine.readEvents('t2', runId, 0)).toBeUndefined()
    expect(await engine.follow('t2', runId, 0, new AbortController().signal)).toBeUndefined()
    expect(await engine.command('t2', runId, { type: 'cancel', by: 'x' })).toEqual(
      await engine.command('t2', 'never-was', { type: 'cancel', by: 'x' }),
    )
  })

  it('core §4.1: a response is remembered in the commit of its effect; a second use is answered with it', async () => {
    const { host, store } = engineRig()
    const engine = await host()
    await register(engine, noop)
    const response = (): RememberedResponse => ({
      tenant: 't1',
      endpoint: 'e',
      key: 'k',
      digest: 'd',
      state: 'completed',
      leaseOwner: '',
      leaseUntil: 0,
      status: 201,
      headers: {},
      body: 'first',
      at: 0,
    })
    const request = { tenant: 't1', principal: 'p', workflowId: 'noop', inputs: {}, transport: 'rest' } as const
    const answers = await Promise.all(Array.from({ length: 50 }, () => engine.create(request, response)))
    expect(answers.filter(answer => answer.ok)).toHaveLength(1)
    expect(answers.filter(answer => !answer.ok && 'replay' in answer && answer.replay.body === 'first')).toHaveLength(
      49,
    )
    expect(await store.listRuns({ tenant: 't1', limit: 100 })).toHaveLength(1)
  })

  it('a host that is full or draining says so and starts nothing', async () => {
    const { host } = engineRig()
    const engine = await host({ maxActiveRuns: 1 })
    await register(engine, sleeper)
    await startRun(engine, 'sleeper')
    const request = { tenant: 't1', principal: 'p', workflowId: 'sleeper', inputs: {}, transport: 'rest' } as const
    expect(await engine.create(request)).toMatchObject({
      ok: false,
      refusal: { code: 'service_unavailable', details: { retryAfter: 2 } },
    })
    await engine.stop(0)
    expect(await engine.create(request)).toMatchObject({ ok: false, refusal: { code: 'service_unavailable' } })
  })
})

describe('following', () => {
  it('gives what is stored, then what is appended, without gap or repetition, and ends with the run', async () => {
    const { clock, host } = engineRig()
    const engine = await host()
    await register(engine, sleeper)
    const runId = await startRun(engine, 'sleeper')
    const seen: number[] = []
    const reading = (async () => {
      for await (const events of (await engine.follow('t1', runId, 0, new AbortController().signal))!)
        seen.push(...events.map(event => event.sequence))
    })()
    await clock.advance(6_000)
    await reading
    expect(seen).toEqual([0, 1, 2, 3])
    const again: number[] = []
    for await (const events of (await engine.follow('t1', runId, 2, new AbortController().signal))!)
      again.push(...events.map(event => event.sequence))
    expect(again).toEqual([2, 3])
  })

  it('stops when the reader goes away', async () => {
    const { host } = engineRig()
    const engine = await host()
    await register(engine, sleeper)
    const runId = await startRun(engine, 'sleeper')
    const abort = new AbortController()
    const iterator = (await engine.follow('t1', runId, 2, abort.signal))![Symbol.asyncIterator]()
    const next = iterator.next()
    await settled()
    abort.abort()
    expect(await next).toMatchObject({ done: true })
  })
})

describe('several hosts and crashes', () => {
  it('S8: a host that comes back under its name takes up its runs at once; the old one can write nothing more', async () => {
    const { clock, host, store } = engineRig()
    const zombie = await host()
    await register(zombie, sleeper)
    const runId = await startRun(zombie, 'sleeper')
    const heir = await host()
    await clock.advance(5_000)
    expect(await status(heir, runId)).toBe('completed')
    expect(await told(heir, runId)).toEqual(['run.started', 'node.started d', 'node.completed d', 'run.completed'])
    expect(await store.readRun('t1', runId)).toMatchObject({ epoch: 2, status: 'completed' })
  })

  it("a peer takes over a silent host's runs when its lease is over, not before", async () => {
    const { clock, host } = engineRig()
    const silent = await host({ hostName: 'a', leaseMs: 60_000 })
    await register(silent, { id: 'long', nodes: { d: { type: 'core.delay', config: { ms: 300_000 } } } })
    const runId = await startRun(silent, 'long')
    await silent.stop(0)
    const peer = await host({ hostName: 'b' })
    await clock.advance(300_000)
    expect(await status(peer, runId)).toBe('completed')
  })

  it('core §4.2 R-EFFECT-2: an effect whose result was stored is not performed again after a crash', async () => {
    const { clock, host, store } = engineRig()
    const performed: string[] = []
    const performer = journaling(performed, async () => ({ ok: true, output: 'done' }))
    const performers = new Map([['conformance.side-effect', performer]])
    const dying = await host({ performers, store: failingAfter(store, 'finishEffect') })
    await register(dying, { id: 'effect', nodes: { s: 'core.conformance.side-effect' } })
    const runId = await startRun(dying, 'effect')
    expect(performed).toHaveLength(1)
    const heir = await host({ performers })
    await clock.advance(2_000)
    expect(await status(heir, runId)).toBe('completed')
    expect(performed).toHaveLength(1)
  })

  it('core §4.2 R-EFFECT-1 R-EFFECT-4: a keyed effect that was cut short is repeated under the same identity; a never-repeatable one is not', async () => {
    for (const [repeat, count, end] of [
      ['keyed', 2, 'completed'],
      ['never', 1, 'failed'],
    ] as const) {
      const { clock, host } = engineRig()
      const performed: string[] = []
      const hang = journaling(performed, () => new Promise(() => undefined))
      const dying = await host({ performers: new Map([['conformance.side-effect', hang]]) })
      await register(dying, {
        id: 'effect',
        nodes: { s: { type: 'core.conformance.side-effect', config: { repeat } } },
      })
      const runId = await startRun(dying, 'effect')
      const finish = journaling(performed, async () => ({ ok: true, output: 'done' }))
      const heir = await host({ performers: new Map([['conformance.side-effect', finish]]) })
      await clock.advance(2_000)
      expect(await status(heir, runId)).toBe(end)
      expect(performed).toHaveLength(count)
      expect(new Set(performed).size).toBe(1)
    }
  })

  it('F10: a run that takes its host down on every attempt is stopped after a finite number of them', async () => {
    const { clock, host } = engineRig()
    let attempts = 0
    const deadly: Performer = {
      perform: () => {
        attempts += 1
        return new Promise(() => undefined)
      },
    }
    const performers = new Map([['conformance.side-effect', deadly]])
    let engine = await host({ performers })
    await register(engine, { id: 'poison', nodes: { s: 'core.conformance.side-effect' } }, noop)
    const runId = await startRun(engine, 'poison')
    for (let crash = 0; crash < 6; crash += 1) {
      engine = await host({ performers })
      await clock.advance(1_500)
    }
    expect((await engine.inspect('t1', runId))?.state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'run_quarantined' } },
    })
    expect(attempts).toBe(4)
    expect(await status(engine, await startRun(engine, 'noop'))).toBe('completed')
  })
})

describe('a host in trouble', () => {
  const hang = () => new Promise<EffectAnswer>(() => undefined)
  const effects = (answer: () => Promise<EffectAnswer>, journal: string[] = []) =>
    new Map([['conformance.side-effect', journaling(journal, answer)]])

  it.each([
    [
      'a node timeout',
      { s: { type: 'core.conformance.side-effect', settings: { timeoutMs: 5_000 } } },
      {},
      5_001,
      'failed',
    ],
    ['a run timeout', { s: 'core.conformance.side-effect' }, { runTimeoutMs: 10_000 }, 10_001, 'failed'],
  ] as const)('F8: %s comes on time while a provider hangs', async (_what, nodes, configurable, ms, end) => {
    const { clock, host } = engineRig()
    const engine = await host({ performers: effects(hang) })
    await register(engine, { id: 'w', nodes })
    const runId = await startRun(engine, 'w', { configurable })
    await clock.advance(ms - 1)
    expect(await status(engine, runId)).toBe('running')
    await clock.advance(1)
    expect(await status(engine, runId)).toBe(end)
  })

  it('a timer beside a hanging call, and beside a waiting child, fires on time', async () => {
    const { clock, host } = engineRig()
    const engine = await host({ performers: effects(hang), cachedRuns: 1 })
    await register(
      engine,
      { id: 'week', nodes: { d: { type: 'core.delay', config: { ms: 600_000 } } } },
      {
        id: 'w',
        nodes: {
          s: 'core.conformance.side-effect',
          d: { type: 'core.delay', config: { ms: 10_000 } },
          c: { type: 'core.subWorkflow', config: { workflowId: 'week' } },
          e: { type: 'core.delay', config: { ms: 45_000 } },
        },
      },
    )
    const runId = await startRun(engine, 'w')
    await clock.advance(10_000)
    expect(await told(engine, runId)).toContain('node.completed d')
    await clock.advance(35_000)
    expect(await told(engine, runId)).toContain('node.completed e')
  })

  it('core §4.2: a result that cannot be stored at once is stored later, and the effect happens once', async () => {
    const { clock, host, store } = engineRig()
    const journal: string[] = []
    const flaky = failingOnce(store, 'finishEffect')
    const engine = await host({ store: flaky, performers: effects(async () => ({ ok: true, output: 1 }), journal) })
    await register(engine, { id: 'w', nodes: { s: 'core.conformance.side-effect' } })
    const runId = await startRun(engine, 'w')
    expect(await status(engine, runId)).toBe('running')
    await clock.advance(3_000)
    expect(await status(engine, runId)).toBe('completed')
    expect(journal).toHaveLength(1)
  })

  it('a performer that throws fails its node, or is retried', async () => {
    const { clock, host } = engineRig()
    const broken = async (): Promise<EffectAnswer> => {
      throw new Error('oops')
    }
    const engine = await host({ performers: effects(broken) })
    await register(engine, {
      id: 'w',
      nodes: { s: { type: 'core.conformance.side-effect', settings: { maxRetries: 1, retryDelayMs: 10 } } },
    })
    const runId = await startRun(engine, 'w')
    await clock.advance(2_000)
    expect((await engine.inspect('t1', runId))?.state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'effect_failed' } },
    })
    expect(await told(engine, runId)).toContain('node.retried s')
  })

  it('F10: restarts in good order, and long waits, never count as attempts', async () => {
    const { clock, host } = engineRig()
    let engine = await host()
    await register(
      engine,
      { id: 'week', nodes: { d: { type: 'core.delay', config: { ms: 1_200_000 } } } },
      { id: 'w', nodes: { c: { type: 'core.subWorkflow', config: { workflowId: 'week' } } } },
    )
    const runId = await startRun(engine, 'w')
    for (let restart = 0; restart < 10; restart += 1) {
      await clock.advance(60_000)
      if (restart % 2 === 0) await engine.stop(0)
      engine = await host()
    }
    expect(await status(engine, runId)).toBe('running')
    await clock.advance(1_200_000)
    expect(await status(engine, runId)).toBe('completed')
  })

  it('an effect that could not be begun is tried again although another one hangs', async () => {
    const { clock, host, store } = engineRig()
    const flaky = failingOnce(store, 'commit', commit => commit.streams.length === 2)
    const engine = await host({ store: flaky, performers: effects(hang) })
    await register(engine, noop, {
      id: 'w',
      nodes: { s: 'core.conformance.side-effect', c: { type: 'core.subWorkflow', config: { workflowId: 'noop' } } },
    })
    const runId = await startRun(engine, 'w')
    expect(await told(engine, runId)).not.toContain('node.dispatched c')
    await clock.advance(2_000)
    expect(await told(engine, runId)).toContain('node.completed c')
  })

  it('L11: a slow follower sees every event although two hosts write the run', async () => {
    const { clock, host } = engineRig()
    const one = await host({ hostName: 'one' })
    const two = await host({ hostName: 'two' })
    await register(one, sleeper)
    const runId = await startRun(one, 'sleeper')
    const iterator = (await one.follow('t1', runId, 0, new AbortController().signal))![Symbol.asyncIterator]()
    const first = await iterator.next()
    const seen: number[] = first.done ? [] : first.value.map(event => event.sequence)
    for (const [engine, type] of [
      [one, 'pause'],
      [two, 'resume'],
      [two, 'pause'],
      [one, 'resume'],
      [two, 'cancel'],
    ] as const) {
      const command =
        type === 'pause'
          ? { type, drainPolicy: 'immediate' as const }
          : type === 'cancel'
            ? { type, by: 'p' }
            : { type }
      expect(await engine.command('t1', runId, command)).toMatchObject({ ok: true })
      await clock.advance(0)
    }
    for (let next = await iterator.next(); !next.done; next = await iterator.next())
      seen.push(...next.value.map(event => event.sequence))
    expect(seen).toEqual((await one.readEvents('t1', runId, 0))!.map(event => event.sequence))
  })

  it('a fence met by many commands at once makes one new identity, and a stopped host makes none', async () => {
    const { host, store } = engineRig()
    const registered: string[] = []
    const noting = new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...parameters: unknown[]) => {
          if (name === 'registerHost') registered.push(String(name))
          return value.apply(target, parameters)
        }
      },
    }) as Store
    const engine = await host({ store: noting })
    await register(engine, noop)
    await host()
    const request = { tenant: 't1', principal: 'p', workflowId: 'noop', inputs: {}, transport: 'rest' } as const
    const answers = await Promise.all(Array.from({ length: 50 }, () => engine.create(request)))
    expect(answers.every(answer => answer.ok)).toBe(true)
    expect(registered).toHaveLength(2)
    await engine.stop(0)
    expect(await engine.command('t1', 'any', { type: 'cancel', by: 'p' })).toMatchObject({
      refusal: { code: 'service_unavailable' },
    })
    expect(registered).toHaveLength(2)
  })
})

/** A store whose named call fails once, before it does anything. */
function failingOnce(
  store: Store,
  method: 'commit' | 'finishEffect',
  when: (commit: Commit) => boolean = () => true,
): Store {
  let failed = false
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        if (failed || name !== method || (method === 'commit' && !when(parameters[0] as Commit)))
          return value.apply(target, parameters)
        failed = true
        return Promise.reject(new StoreUnavailable('once'))
      }
    },
  })
}

/** A performer that notes the identity of every effect it is asked for. */
const journaling = (journal: string[], answer: () => Promise<EffectAnswer>): Performer => ({
  perform: ({ id }) => {
    journal.push(id)
    return answer()
  },
})

function count(target: Store, name: string | symbol, calls: string[]): unknown {
  const value = Reflect.get(target, name)
  if (typeof value !== 'function') return value
  return (...parameters: unknown[]) => {
    if (!['heartbeat', 'dueRuns', 'claimOrphans'].includes(String(name))) calls.push(String(name))
    return value.apply(target, parameters)
  }
}

/** A store whose process dies right after the named call has taken effect: nothing is answered any more. */
function failingAfter(store: Store, method: string): Store {
  let dead = false
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return async (...parameters: unknown[]) => {
        if (dead) return new Promise(() => undefined)
        const result = await value.apply(target, parameters)
        if (name !== method) return result
        dead = true
        return new Promise(() => undefined)
      }
    },
  })
}
