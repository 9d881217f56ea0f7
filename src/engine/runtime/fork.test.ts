import { describe, expect, it } from 'vitest'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'

const FLOW = {
  id: 'flow',
  nodes: {
    a: 'core.noop',
    d: { type: 'core.delay', config: { ms: 1_000 } },
    gate: 'core.approvalGate',
    z: 'core.noop',
  },
  edges: ['a > d', 'd > gate', 'gate > z'],
}

const ACCEPT = { type: 'resolve', nodeId: 'gate', value: { action: 'accept' }, by: 'ann', via: 'key' } as const

async function told() {
  const rig = engineRig()
  const engine = await rig.host()
  await register(engine, FLOW)
  const runId = await startRun(engine, 'flow')
  await rig.clock.advance(1_000)
  const answer = await engine.command('t1', runId, ACCEPT)
  expect(answer).toMatchObject({ ok: true, value: { status: 'completed' } })
  return { rig, engine, runId }
}

describe('fork', () => {
  it('replays a run in no time, equal to its source, and leaves the source alone', async () => {
    const { rig, engine, runId } = await told()
    const before = await rig.store.readEvents(runId, 0)
    for (let fromSeq = 0; fromSeq <= before.length; fromSeq += 1) {
      const fork = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq })
      if (!fork.ok) throw new Error('refused')
      expect(fork.value.status).toBe('completed')
      const log = await rig.store.readEvents(fork.value.runId, 0)
      expect(log.map(({ type }) => type)).toEqual(before.map(({ type }) => type))
      expect(log.map(({ at }) => at)).toEqual(before.map(({ at }) => at))
    }
    expect(await rig.store.readEvents(runId, 0)).toEqual(before)
  })

  it('branches off before the answer and asks again', async () => {
    const { engine, runId } = await told()
    const events = (await engine.readEvents('t1', runId, 0))!
    const suspended = events.findIndex(({ type }) => type === 'node.suspended')
    const fork = await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: suspended + 1 })
    if (!fork.ok) throw new Error('refused')
    expect(fork.value.status).toBe('waiting-approval')
    const answer = await engine.command('t1', fork.value.runId, { ...ACCEPT, value: { action: 'reject' } })
    expect(answer).toMatchObject({ ok: true, value: { status: 'failed' } })
    expect((await engine.inspect('t1', runId))?.status).toBe('completed')
  })

  it('goes on with a long replay after a restart, in several commits', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    const nodes = Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`n${i}`, 'core.noop']))
    const edges = Array.from({ length: 699 }, (_, i) => `n${i} > n${i + 1}`)
    await register(engine, { id: 'long', nodes, edges })
    const runId = await startRun(engine, 'long')
    await settled()
    const source = await rig.store.readEvents(runId, 0)
    expect(source.at(-1)?.type).toBe('run.completed')
    const fork = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 3 })
    if (!fork.ok) throw new Error('refused')
    expect(fork.value.status).toBe('running')
    const later = await rig.host({ hostName: 'host' })
    for (let i = 0; i < 20 && (await later.inspect('t1', fork.value.runId))?.status !== 'completed'; i += 1)
      await rig.clock.advance(1_000)
    const log = await rig.store.readEvents(fork.value.runId, 0)
    expect(log.map(({ type, nodeId, payload, cause }) => [type, nodeId, payload, cause])).toEqual(
      source.map(({ type, nodeId, payload, cause }) => [type, nodeId, payload, cause]),
    )
  })

  it('reads only what it needs of a long log: a kept state, and what came after', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    const nodes = {
      loop: { type: 'core.loop', config: { maxIterations: 1_500 } },
      b: 'core.noop',
      gate: 'core.approvalGate',
    }
    await register(engine, { id: 'long', nodes, edges: ['loop.body > b', 'b > loop', 'loop.done > gate'] })
    const runId = await startRun(engine, 'long')
    const source = await rig.store.readEvents(runId, 0)
    expect(source.length).toBeGreaterThan(5_000)
    const reads: number[] = []
    const counting = new Proxy(rig.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (name !== 'readEvents') return typeof value === 'function' ? value.bind(target) : value
        return async (...args: Parameters<typeof rig.store.readEvents>) => {
          const events = await target.readEvents(...args)
          reads.push(events.length)
          return events
        }
      },
    })
    const second = await rig.host({ hostName: 'second', store: counting })
    for (const mode of ['replay', 'branch'] as const) {
      const fork = await second.fork({ tenant: 't1', runId, mode, fromSeq: source.length })
      if (!fork.ok) throw new Error('refused')
      const log = await rig.store.readEvents(fork.value.runId, 0)
      expect(log.slice(0, source.length)).toEqual(source)
      expect(fork.value.status).toBe(mode === 'replay' ? 'failed' : 'waiting-approval')
    }
    expect((await second.inspect('t1', runId))?.status).toBe('waiting-approval')
    expect(Math.max(...reads)).toBeLessThan(2_000)
  })

  it.each([
    ['a sequence beyond the log', { fromSeq: 10_000 }, 'invalid_from_seq'],
    ['a foreign run', { tenant: 'other' }, 'not_found'],
    ['options that do not fit', { overlay: { configurable: { recursionLimit: -1 } }, fromSeq: 1 }, 'validation_error'],
  ])('refuses %s', async (_what, wrong, code) => {
    const { engine, runId } = await told()
    const answer = await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: 0, ...wrong })
    expect(answer).toMatchObject({ ok: false, refusal: { code } })
  })

  it('R-REPLAY-13 R-FORK-5 tells no subscriber of a replay, and every subscriber of a branch', async () => {
    const rig = engineRig()
    const announced: string[] = []
    const announcer = {
      deliveriesFor: ({ runId }: { runId: string }, events: readonly { type: string }[]) => {
        announced.push(...events.map(({ type }) => `${runId} ${type}`))
        return []
      },
      committed: () => undefined,
    }
    const engine = await rig.host({ announcer })
    await register(engine, { id: 'flow', nodes: { a: 'core.noop' } })
    const runId = await startRun(engine, 'flow')
    announced.length = 0
    const replay = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    expect(replay.ok && announced).toEqual([])
    await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: 1 })
    expect(announced).toHaveLength(4)
  })
})

describe('waiting for someone', () => {
  it('a parent mirrors a child that waits, and goes on with it', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await register(engine, { id: 'child', nodes: { gate: 'core.approvalGate' } })
    await register(engine, {
      id: 'mother',
      nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'child' } } },
    })
    await register(engine, {
      id: 'granny',
      nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'mother' } } },
    })
    const runId = await startRun(engine, 'granny')
    await settled()
    expect((await engine.inspect('t1', runId))?.status).toBe('waiting-approval')
    const child = (await engine.list({ tenant: 't1', workflowId: 'child', limit: 1 }))[0]!
    await engine.command('t1', child.runId, ACCEPT)
    await settled()
    expect((await engine.inspect('t1', runId))?.status).toBe('completed')
  })

  it('has one winner among fifty answers, on two hosts', async () => {
    const rig = engineRig()
    const hosts = [await rig.host({ hostName: 'a' }), await rig.host({ hostName: 'b' })]
    await register(hosts[0]!, { id: 'flow', nodes: { gate: 'core.approvalGate' } })
    const runId = await startRun(hosts[0]!, 'flow')
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => hosts[i % 2]!.command('t1', runId, { ...ACCEPT, by: `p${i}` })),
    )
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1)
    const codes = answers.flatMap(answer => ('refusal' in answer ? [answer.refusal.code] : []))
    expect(new Set(codes)).toEqual(new Set(['interrupt_already_resolved']))
  })
})

describe('an answer', () => {
  it('closes the question it was given to, never the next one', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    const nodes = { loop: { type: 'core.loop', config: { maxIterations: 3 } }, gate: 'core.approvalGate' }
    await register(engine, { id: 'flow', nodes, edges: ['loop.body > gate', 'gate > loop'] })
    const runId = await startRun(engine, 'flow')
    const answers = await Promise.all([1, 2, 3].map(() => engine.command('t1', runId, ACCEPT)))
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1)
    expect((await engine.inspect('t1', runId))?.status).toBe('waiting-approval')
  })

  it('is judged by the rules before the author’s schema, which sees only what was said', async () => {
    const rig = engineRig()
    const seen: unknown[] = []
    const schemas = {
      inspect: async () => undefined,
      check: async (_schema: unknown, value: unknown) => {
        seen.push(value)
        return 'must be something else'
      },
      violation: async () => undefined,
      close: async () => undefined,
    }
    const engine = await rig.host({ schemas })
    const config = { resumeSchema: { type: 'object' }, approversList: ['ann'] }
    await register(engine, { id: 'flow', nodes: { gate: { type: 'core.approvalGate', config } } })
    const runId = await startRun(engine, 'flow')
    const foreign = await engine.command('t1', runId, { ...ACCEPT, by: 'eve' })
    expect(foreign).toMatchObject({ ok: false, refusal: { code: 'forbidden' } })
    expect(seen).toEqual([])
    const answer = await engine.command('t1', runId, { ...ACCEPT, value: { action: 'accept', voter: 'x' } })
    expect(answer).toMatchObject({ ok: false, refusal: { code: 'validation_error' } })
    expect(seen).toEqual([{ action: 'accept' }])
  })
})
