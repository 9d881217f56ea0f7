import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.js'
import { WORK_LIMITS } from '../../core/work-limits.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { LIMITS } from '../../testing/limits.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import { NO_TURNS } from '../../timing/turns.js'
import type { Commit } from '../ports/event-log.js'
import type { Performer, TranscriptEvent } from '../ports/performer.js'
import type { Store } from '../ports/store.js'

const worker: Sketch = {
  id: 'worker',
  nodes: { a: 'core.noop' },
  variables: [{ name: 'answer', type: 'string', defaultValue: 'done' }],
}
const sleeper: Sketch = { id: 'sleeper', nodes: { d: { type: 'core.delay', config: { ms: 5_000 } } } }

const orchestrated = (supervisor: object, dispatch: object = {}): Sketch => ({
  id: 'boss',
  nodes: {
    sup: { type: 'core.orchestrator.supervisor', config: supervisor as never },
    disp: { type: 'core.dispatch', config: dispatch as never },
  },
  edges: ['sup > disp', 'disp > sup'],
  variables: [{ name: 'result', type: 'string' }],
})

const turns = (count: number, ...workers: string[]) => ({
  rules: [
    { when: `iteration <= ${count}`, decide: { kind: 'next-worker', nextWorkerIds: workers } },
    { decide: { kind: 'terminate', reason: 'goal-reached' } },
  ],
})

/** The store, and the commits that went through it. */
function watched(store: Store): { store: Store; commits: Commit[] } {
  const commits: Commit[] = []
  const seen = new Proxy(store, {
    get: (target, name) => {
      if (name === 'commit')
        return (commit: Commit) => {
          commits.push(commit)
          return target.commit(commit)
        }
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { store: seen, commits }
}

describe('a run and its children', () => {
  it('R-HANDOFF-4: a child is created in the commit that tells dispatch.succeeded, and one that ends at once is harvested there', async () => {
    const rig = engineRig()
    const { store, commits } = watched(rig.store)
    const engine = await rig.host({ store })
    await register(engine, worker, orchestrated(turns(1, 'worker'), { outputMapping: { result: 'answer' } }))
    await startRun(engine, 'boss')
    commits.length = 0
    const runId = await startRun(engine, 'boss')
    expect(commits.map(({ streams }) => streams.length)).toEqual([2])
    expect(commits[0]?.wakes).toEqual([])
    const view = await engine.inspect('t1', runId)
    expect(view).toMatchObject({ status: 'completed', state: { variables: { result: 'done' } } })
    const phases = (await rig.store.readEvents(runId, 0)).flatMap(({ type, payload }) =>
      type === 'core.workflowChain.event' ? [JSON.parse(payload).phase] : [],
    )
    expect(phases).toEqual(['dispatch.began', 'dispatch.succeeded', 'child.completed', 'output.harvested'])
  })

  it('a long loop is carried by several commits, none of them large', async () => {
    const rig = engineRig()
    const { store, commits } = watched(rig.store)
    const engine = await rig.host({ store })
    await register(engine, worker, orchestrated(turns(300, 'worker')))
    const runId = await startRun(engine, 'boss')
    for (let i = 0; i < 200 && (await engine.inspect('t1', runId))?.status !== 'completed'; i += 1)
      await rig.clock.advance(1)
    expect(await engine.inspect('t1', runId)).toMatchObject({ status: 'completed' })
    const sizes = commits.map(({ streams }) => streams.reduce((sum, { events }) => sum + events.length, 0))
    expect(Math.max(...sizes)).toBeLessThan(1_200)
    expect(await rig.store.childrenOf(runId, 1_000)).toHaveLength(300)
  })

  it('so are workers with much to tell', async () => {
    const rig = engineRig()
    const { store, commits } = watched(rig.store)
    const engine = await rig.host({ store })
    const busy: Sketch = {
      id: 'busy',
      nodes: { loop: { type: 'core.loop', config: { maxIterations: 100 } }, n: 'core.noop' },
      edges: ['loop.body > n', 'n > loop'],
    }
    await register(engine, busy, orchestrated(turns(1, ...Array(10).fill('busy')), { fanOutPolicy: 'parallel' }))
    await startRun(engine, 'boss')
    const runId = await startRun(engine, 'boss')
    await rig.clock.advance(1)
    expect(await engine.inspect('t1', runId)).toMatchObject({ status: 'completed' })
    const sizes = commits.map(({ streams }) => streams.reduce((sum, { events }) => sum + events.length, 0))
    expect(Math.max(...sizes)).toBeLessThan(1_200)
  })

  it('W2: so are workers that take long to begin: a commit carries no more than a decision may take', async () => {
    const rig = engineRig()
    const { store, commits } = watched(rig.store)
    const spent: number[] = []
    const counting = { ...NO_TURNS, spent: (_tenant: string, steps: number) => void spent.push(steps) }
    const engine = await rig.host({ store, turns: counting })
    const expression = '[1, 2].all(i, variables.long.size() > 0)'
    const slow: Sketch = {
      id: 'slow',
      nodes: { a: { type: 'core.identity', inputs: { v: { type: 'expression', expression } } } },
      variables: [{ name: 'long', type: 'string', defaultValue: 'x'.repeat(200_000) }],
    }
    await register(engine, slow, orchestrated(turns(1, ...Array(12).fill('slow')), { fanOutPolicy: 'parallel' }))
    await startRun(engine, 'boss')
    commits.length = 0
    spent.length = 0
    const runId = await startRun(engine, 'boss')
    await rig.clock.advance(1)
    expect(await engine.inspect('t1', runId)).toMatchObject({ status: 'completed' })
    expect(await rig.store.childrenOf(runId, 100)).toHaveLength(12)
    // A child's first decision, and what its parent makes of it, may go over by as much as one decision takes.
    expect(Math.max(...spent)).toBeLessThan(2 * WORK_LIMITS.decision)
    expect(Math.max(...spent)).toBeGreaterThan(100_000)
    expect(commits.length).toBeGreaterThan(1)
  })

  it('a host that is full starts no child, and the supervisor is told why', async () => {
    const rig = engineRig()
    const engine = await rig.host({ maxActiveRuns: 2 })
    const dispatch = { fanOutPolicy: 'parallel' }
    await register(engine, sleeper, orchestrated(turns(1, ...Array(6).fill('sleeper')), dispatch))
    const runId = await startRun(engine, 'boss')
    expect(await rig.store.childrenOf(runId, 100)).toHaveLength(3)
    await rig.clock.advance(6_000)
    expect(await engine.inspect('t1', runId)).toMatchObject({
      status: 'completed',
      state: { orchestrator: { workers: expect.arrayContaining([expect.objectContaining({ status: 'failed' })]) } },
    })
    const failed = (await rig.store.readEvents(runId, 0)).filter(({ payload }) => payload.includes('dispatch.failed'))
    expect(failed.map(({ payload }) => JSON.parse(payload).error.code)).toEqual(Array(3).fill('too_many_runs'))
  })

  it('a child is not born when its parent has run out of time meanwhile', async () => {
    const rig = engineRig()
    const held: { release: () => void } = { release: () => undefined }
    const { store } = watched(rig.store)
    const slow = new Proxy(store, {
      get: (target, name) => {
        if (name === 'getWorkflow')
          return async (tenant: string, id: string) => {
            if (id === 'sleeper') await new Promise<void>(resolve => (held.release = resolve))
            return target.getWorkflow(tenant, id)
          }
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const engine = await rig.host({ store: slow })
    await register(engine, sleeper, orchestrated(turns(1, 'sleeper')))
    const runId = await startRun(engine, 'boss', { configurable: { runTimeoutMs: 1_000 } })
    rig.clock.skip(2_000)
    held.release()
    await rig.clock.advance(1)
    expect(await engine.inspect('t1', runId)).toMatchObject({ state: { outcome: { error: { code: 'run_timeout' } } } })
    expect(await rig.store.childrenOf(runId, 10)).toEqual([])
  })

  it('R-ATTEST-6: a child may do at most what its parent may', async () => {
    const { host, store } = engineRig()
    const engine = await host()
    const scoped = (id: string, workflowId: string, principalScope: string[]): Sketch => ({
      id,
      nodes: { s: { type: 'core.subWorkflow', config: { workflowId, outputAttestation: { principalScope } } } },
    })
    await register(engine, worker, scoped('middle', 'worker', ['b', 'c']), scoped('top', 'middle', ['a', 'b']))
    const top = await startRun(engine, 'top')
    const [middle] = await store.childrenOf(top, 10)
    const [bottom] = await store.childrenOf(middle!.runId, 10)
    const scopeOf = async (runId: string) =>
      JSON.parse((await store.readEvents(runId, 0, 1))[0]!.payload).principalScope
    expect([await scopeOf(top), await scopeOf(middle!.runId), await scopeOf(bottom!.runId)]).toEqual([
      undefined,
      ['a', 'b'],
      ['b'],
    ])
  })

  it('R-ATTEST-1: the checksum is over the canonical form of what is harvested, whatever the order of its keys', async () => {
    const checksums: string[] = []
    for (const value of [
      { b: 1, a: [2] },
      { a: [2], b: 1 },
    ]) {
      const { host, store } = engineRig()
      const engine = await host()
      await register(
        engine,
        { ...worker, variables: [{ name: 'answer', type: 'object', defaultValue: value }] },
        orchestrated(turns(1, 'worker'), {
          outputMapping: { result: 'answer' },
          outputAttestation: { checksum: true },
        }),
      )
      const runId = await startRun(engine, 'boss')
      const harvested = (await store.readEvents(runId, 0)).find(({ payload }) => payload.includes('output.harvested'))
      const { attestation } = JSON.parse(harvested!.payload)
      expect(attestation).toMatchObject({ algorithm: 'sha256', checksum: expect.stringMatching(/^[0-9a-f]{64}$/) })
      checksums.push(attestation.checksum)
    }
    expect(checksums[0]).toBe(checksums[1])
  })
})

describe('a supervisor whose decisions come from outside', () => {
  const deciding = (decisions: readonly Json[]) => {
    const calls: { input: Json; transcript: readonly TranscriptEvent[] | undefined }[] = []
    const performer: Performer = {
      perform: async ({ input, transcript }) => {
        calls.push({ input, transcript })
        return { ok: true, output: decisions[calls.length - 1] ?? { kind: 'terminate' } }
      },
    }
    return { calls, performers: new Map([['planner', performer]]) }
  }

  it('R-STATE-5 R-STATE-7: sees the turn, what the workers brought, and the latest events up to its own start', async () => {
    const { calls, performers } = deciding([{ kind: 'next-worker', nextWorkerIds: ['worker'] }])
    const rig = engineRig()
    const engine = await rig.host({ performers, limits: { ...LIMITS, transcriptWindow: 4 } })
    await register(engine, worker, orchestrated({ provider: 'planner' }, { outputMapping: { result: 'answer' } }))
    const runId = await startRun(engine, 'boss')
    expect(await engine.inspect('t1', runId)).toMatchObject({ status: 'completed' })
    expect(calls.map(({ input }) => input)).toMatchObject([
      { iteration: 1, workers: [], answer: null },
      { iteration: 2, workers: [{ workerId: 'worker', status: 'completed' }], variables: { result: 'done' } },
    ])
    expect(calls[0]?.transcript?.map(({ type }) => type)).toEqual(['run.started'])
    expect(calls[1]?.transcript).toHaveLength(4)
    expect(calls[1]?.transcript?.at(-1)).toMatchObject({ type: 'node.completed', nodeId: 'disp' })
  })

  it('R-ORCH-7: a replay calls no supervisor and starts no child, and tells the same', async () => {
    const { calls, performers } = deciding([{ kind: 'next-worker', nextWorkerIds: ['worker'] }])
    const rig = engineRig()
    const engine = await rig.host({ performers })
    await register(engine, worker, orchestrated({ provider: 'planner' }, { outputMapping: { result: 'answer' } }))
    const runId = await startRun(engine, 'boss')
    const called = calls.length
    const forked = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    if (!forked.ok) throw new Error('the fork was refused')
    await rig.clock.advance(1)
    const facts = async (id: string) =>
      (await rig.store.readEvents(id, 0)).map(({ type, nodeId, payload, cause }) => [type, nodeId, payload, cause])
    expect(await facts(forked.value.runId)).toEqual(await facts(runId))
    expect(calls).toHaveLength(called)
    expect(await rig.store.childrenOf(forked.value.runId, 10)).toEqual([])
  })

  it('R-ORCH-3: a decision of another agent is refused, and nothing follows from it', async () => {
    const foreign = { agentId: 'someone.else', decision: { kind: 'terminate' } }
    const { performers } = deciding([foreign])
    const rig = engineRig()
    const engine = await rig.host({ performers })
    await register(engine, worker, orchestrated({ provider: 'planner' }))
    const runId = await startRun(engine, 'boss')
    expect(await engine.inspect('t1', runId)).toMatchObject({
      state: { outcome: { error: { code: 'validation_error' } } },
    })
    expect((await rig.store.readEvents(runId, 0)).map(({ type }) => type)).not.toContain('runOrchestrator.decided')
  })

  it('a supervisor that names nobody here is refused when it is registered', async () => {
    const engine = await engineRig().host()
    const answer = register(engine, orchestrated({ provider: 'planner' }))
    await expect(answer).rejects.toThrow('config.provider "planner" is not configured on this host')
  })
})

describe('R-LIVE-29: what a run starts', () => {
  const MOTHER = { id: 'mother', nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'child' } } } }

  it('is of its tenant', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    await register(engine, { id: 'child', nodes: { a: 'core.noop' } }, MOTHER)
    await startRun(engine, 'mother')
    const runs = await rig.store.listRuns({ tenant: null, limit: 10 })
    expect(runs.map(({ tenant }) => tenant)).toEqual(['t1', 't1'])
  })

  it('is no workflow of another', async () => {
    const rig = engineRig()
    const engine = await rig.host()
    const child = await engine.putWorkflow('t2', sketch({ id: 'child', nodes: { a: 'core.noop' } }))
    expect(child.ok).toBe(true)
    await register(engine, MOTHER)
    const runId = await startRun(engine, 'mother')
    expect((await engine.inspect('t1', runId))?.status).toBe('failed')
    expect(await rig.store.listRuns({ tenant: 't2', limit: 10 })).toEqual([])
  })
})
