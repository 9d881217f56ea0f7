import { describe, expect, it } from 'vitest'
import { noQuotas, type QuotasOf, type TenantQuotas } from '../../core/quotas.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { CreateRun } from '../api.js'
import type { EffectAnswer, Performer } from '../ports/performer.js'
import type { Engine } from './engine.js'

const all =
  (given: Partial<TenantQuotas>): QuotasOf =>
  tenant => ({ ...noQuotas(tenant), ...given })

const effect: Sketch = { id: 'effect', nodes: { s: 'core.conformance.side-effect' } }
const sleeper: Sketch = { id: 'sleeper', nodes: { d: { type: 'core.delay', config: { ms: 5_000 } } } }
/** Calls itself three times, each time when the one before has come back. */
const bomb: Sketch = {
  id: 'bomb',
  nodes: Object.fromEntries(
    ['a', 'b', 'c'].map(id => [
      id,
      { type: 'core.subWorkflow', config: { workflowId: 'bomb', onChildFailure: 'absorb' } },
    ]),
  ),
}

const request = (tenant: string, workflowId: string): CreateRun => ({
  tenant,
  principal: 'p',
  workflowId,
  inputs: {},
  transport: 'rest',
})

async function share(engine: Engine, ...workflows: Sketch[]): Promise<void> {
  for (const workflow of workflows) expect(await engine.putWorkflow(null, sketch(workflow))).toMatchObject({ ok: true })
}

/** Effects that end when they are told to. */
function held() {
  const waiting: { readonly tenant: string; readonly end: (answer: EffectAnswer) => void }[] = []
  const begun: string[] = []
  const performer: Performer = {
    perform: ({ id }) => {
      const tenant = id.split('-')[0] as string
      begun.push(tenant)
      return new Promise(end => waiting.push({ tenant, end }))
    },
  }
  return { performer, begun, waiting }
}

const OVER = (quota: string, limit: number) => ({
  ok: false,
  refusal: { code: 'quota_exceeded', details: { scope: 'tenant', quota, limit, raisedBy: 'operator' } },
})

const outcome = async (engine: Engine, runId: string, tenant = 't1') => {
  const view = await engine.inspect(tenant, runId)
  return view?.state.phase === 'ended' ? view.state.outcome : undefined
}

type Outcome = Awaited<ReturnType<typeof outcome>>
const errorOf = (end: Outcome) => (end && 'error' in end ? end.error : undefined)

describe('effects of several tenants', () => {
  it('Q7 Q8: take turns where places are scarce, by weight, and no tenant has more than its share', async () => {
    const rig = engineRig()
    const quotas: QuotasOf = tenant => ({
      ...noQuotas(tenant),
      effectsAtOnce: 2,
      weight: tenant === 'c' ? 2 : 1,
    })
    const order: string[] = []
    const ends: (() => void)[] = []
    const performer: Performer = {
      perform: () => new Promise(end => ends.push(() => end({ ok: true, output: null }))),
    }
    const engine = await rig.host({
      quotas,
      maxConcurrentEffects: 3,
      performers: new Map([['conformance.side-effect', performer]]),
    })
    await share(engine, effect)
    const claimEffect = rig.store.claimEffect.bind(rig.store)
    rig.store.claimEffect = claim => {
      order.push(claim.tenant)
      return claimEffect(claim)
    }
    for (let i = 0; i < 6; i += 1) await engine.create(request('a', 'effect'))
    await settled()
    // A place is left although six wait.
    expect(order.join('')).toBe('aa')
    for (const tenant of ['b', 'b', 'b', 'c', 'c', 'c']) await engine.create(request(tenant, 'effect'))
    await settled()
    expect(order.join('')).toBe('aab')
    for (let i = 0; i < ends.length; i += 1) {
      ends[i]?.()
      await settled()
    }
    expect(order).toHaveLength(12)
    // Of the next turns c has two for each one of a and b.
    expect(order.slice(3, 7).toSorted().join('')).toBe('abcc')
    expect(order.slice(3).filter(tenant => tenant === 'b')).toHaveLength(2)
  })

  it('Q7: places come back from effects that fail, and from those of runs that are cancelled', async () => {
    const rig = engineRig()
    const { performer, waiting, begun } = held()
    const performers = new Map([['conformance.side-effect', performer]])
    const engine = await rig.host({ quotas: all({ effectsAtOnce: 1 }), maxConcurrentEffects: 2, performers })
    await share(engine, effect)
    const runIds: string[] = []
    for (let i = 0; i < 4; i += 1) runIds.push(await startRun(engine, 'effect', { tenant: 'a' }))
    expect(begun).toHaveLength(1)
    waiting[0]?.end({ ok: false, code: 'nope', message: 'no', retryable: false })
    await settled()
    expect(begun).toHaveLength(2)
    // One that is performed, and one that waits for its turn.
    await engine.command('a', runIds[1]!, { type: 'cancel', by: 'p' })
    await engine.command('a', runIds[2]!, { type: 'cancel', by: 'p' })
    waiting[1]?.end({ ok: false, code: 'aborted', message: 'no', retryable: true })
    await settled()
    expect(begun).toHaveLength(3)
    waiting[2]?.end({ ok: true, output: null })
    await settled()
    for (const runId of runIds) expect(await outcome(engine, runId, 'a')).toBeDefined()
  })

  it('Q8: weights reach the claims of what was left, and the search for what is due', async () => {
    const rig = engineRig()
    const seen: unknown[] = []
    const store = new Proxy(rig.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (name === 'dueRuns' || name === 'claimOrphans') seen.push([name, args[3]])
          return value.apply(target, args)
        }
      },
    })
    const weights = { others: 2, of: { a: 5 } }
    await rig.host({ store, weights })
    expect(seen).toEqual([
      ['claimOrphans', weights],
      ['dueRuns', weights],
    ])
  })
})

describe('what a tenant may have', () => {
  it('Q3: so many unfinished runs, over restarts too, until one of them ends', async () => {
    const rig = engineRig()
    const quotas = all({ activeRuns: 2 })
    const first = await rig.host({ quotas })
    await share(first, sleeper, { id: 'noop', nodes: { a: 'core.noop' } })
    const runId = await startRun(first, 'sleeper', { tenant: 'a' })
    await first.stop(0)
    const engine = await rig.host({ quotas })
    await startRun(engine, 'sleeper', { tenant: 'a' })
    expect(await engine.create(request('a', 'sleeper'))).toMatchObject(OVER('activeRuns', 2))
    expect(await engine.create(request('b', 'sleeper'))).toMatchObject({ ok: true })
    expect(await engine.create(request('a', 'noop'))).toMatchObject({ ok: true })
    const fork = { tenant: 'a', runId, mode: 'branch' as const, fromSeq: 1 }
    expect(await engine.fork(fork)).toMatchObject(OVER('activeRuns', 2))
    await engine.command('a', runId, { type: 'cancel', by: 'p' })
    expect(await engine.create(request('a', 'sleeper'))).toMatchObject({ ok: true })
    expect(await engine.create(request('a', 'sleeper'))).toMatchObject(OVER('activeRuns', 2))
    expect(await rig.store.usageOf('a')).toMatchObject({ activeRuns: 2 })
  })

  it('Q3: children are started up to twice as many, so that what was let in can finish, and then refused', async () => {
    const rig = engineRig()
    const engine = await rig.host({ quotas: all({ activeRuns: 1 }) })
    const nested: Sketch = {
      id: 'nested',
      nodes: { c: { type: 'core.subWorkflow', config: { workflowId: 'sleeper' } } },
    }
    const deeper: Sketch = {
      id: 'deeper',
      nodes: { c: { type: 'core.subWorkflow', config: { workflowId: 'nested' } } },
    }
    await register(engine, sleeper, nested, deeper)
    const fine = await startRun(engine, 'nested')
    await rig.clock.advance(6_000)
    expect(await outcome(engine, fine)).toMatchObject({ status: 'completed' })
    const tooMany = await startRun(engine, 'deeper')
    await rig.clock.advance(6_000)
    expect(await outcome(engine, tooMany)).toMatchObject({ status: 'failed' })
    const [child] = await engine.childrenOf(tooMany, 10)
    const end = await outcome(engine, child?.runId ?? '')
    expect(errorOf(end)).toMatchObject({ code: 'too_many_runs', details: { quota: 'activeRuns', limit: 1 } })
  })

  it.each([1, 5, 40])(
    'Q4: a workflow that calls itself has %i runs below it and not one more',
    async childrenPerRoot => {
      const rig = engineRig()
      const engine = await rig.host({ quotas: all({ childrenPerRoot }) })
      await register(engine, bomb)
      const root = await startRun(engine, 'bomb')
      await rig.clock.advance(60_000)
      const runs = await engine.list({ tenant: 't1', limit: 1_000 })
      expect(runs).toHaveLength(childrenPerRoot + 1)
      expect(runs.filter(run => run.endedAt === null)).toEqual([])
      const ends = await Promise.all(runs.map(run => outcome(engine, run.runId)))
      const refused = ends.filter(end => errorOf(end)?.code === 'child_quota_exceeded')
      expect(refused.length).toBeGreaterThan(0)
      expect(errorOf(refused[0])).toMatchObject({ details: { quota: 'childrenPerRoot', limit: childrenPerRoot } })
      expect(errorOf(refused[0])?.message).toMatch(/operates this host can raise it with quotas\.childrenPerRoot/)
      // Another root has a family of its own.
      const other = await startRun(engine, 'bomb')
      await rig.clock.advance(60_000)
      expect(other).not.toBe(root)
      expect(await engine.list({ tenant: 't1', limit: 1_000 })).toHaveLength(2 * (childrenPerRoot + 1))
    },
  )

  it('Q4: of several workers at once as many are started as there is room for, whether in one commit or in several', async () => {
    for (const workerId of ['worker', 'sleeper']) {
      const rig = engineRig()
      const engine = await rig.host({ quotas: all({ childrenPerRoot: 2 }) })
      const boss: Sketch = {
        id: 'boss',
        nodes: {
          sup: {
            type: 'core.orchestrator.supervisor',
            config: {
              rules: [
                { when: 'iteration <= 1', decide: { kind: 'next-worker', nextWorkerIds: Array(4).fill(workerId) } },
                { decide: { kind: 'terminate', reason: 'goal-reached' } },
              ],
            },
          },
          disp: { type: 'core.dispatch', config: { fanOutPolicy: 'parallel' } },
        },
        edges: ['sup > disp', 'disp > sup'],
      }
      await register(engine, { id: 'worker', nodes: { a: 'core.noop' } }, sleeper, boss)
      // Once with plans that are known, once without.
      for (let i = 1; i <= 2; i += 1) {
        const runId = await startRun(engine, 'boss')
        await rig.clock.advance(30_000)
        expect(await engine.childrenOf(runId, 10), `${workerId} ${i}`).toHaveLength(2)
        expect(await outcome(engine, runId)).toBeDefined()
        const events = (await engine.readEvents('t1', runId, 0)) ?? []
        expect(events.filter(({ payload }) => payload.includes('child_quota_exceeded')).length).toBeGreaterThan(0)
      }
    }
  })

  it('Q5: runs nest as deep as the quota of their tenant says, and never deeper than the host allows', async () => {
    for (const [childDepth, deepest] of [
      [2, 2],
      [100, 8],
    ] as const) {
      const rig = engineRig()
      const engine = await rig.host({ quotas: all({ childDepth, childrenPerRoot: 50 }) })
      const one: Sketch = { id: 'one', nodes: { c: { type: 'core.subWorkflow', config: { workflowId: 'one' } } } }
      await register(engine, one)
      await startRun(engine, 'one')
      await rig.clock.advance(10_000)
      expect(await engine.list({ tenant: 't1', limit: 100 })).toHaveLength(deepest + 1)
    }
  })

  it('Q6: who has as many bytes as its quota begins nothing new; what is under way is written to its end', async () => {
    const rig = engineRig()
    const full = new Set<string>()
    const quotas: QuotasOf = tenant => ({ ...noQuotas(tenant), ...(full.has(tenant) ? { storedBytes: 1 } : {}) })
    const engine = await rig.host({ quotas })
    const family: Sketch = {
      id: 'family',
      nodes: {
        c: { type: 'core.subWorkflow', config: { workflowId: 'sleeper' } },
        d: { type: 'core.subWorkflow', config: { workflowId: 'sleeper' } },
      },
      edges: ['c > d'],
    }
    await share(engine, sleeper, family)
    const runId = await startRun(engine, 'family', { tenant: 'a' })
    full.add('a')
    const fork = { tenant: 'a', runId, mode: 'branch' as const, fromSeq: 1 }
    expect(await engine.create(request('a', 'sleeper'))).toMatchObject(OVER('storedBytes', 1))
    expect(await engine.fork(fork)).toMatchObject(OVER('storedBytes', 1))
    expect(await engine.create(request('b', 'sleeper'))).toMatchObject({ ok: true })
    await rig.clock.advance(20_000)
    expect(await outcome(engine, runId, 'a')).toMatchObject({ status: 'completed' })
    full.clear()
    expect(await engine.create(request('a', 'sleeper'))).toMatchObject({ ok: true })
  })
})
