import fc from 'fast-check'
import { expect, it } from 'vitest'
import { UnverifiedMerge } from '../../../../src/engine/ports/event-log.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import { MemoryStore } from '../../../../src/store/memory/memory-store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import * as g from '../gate-fixtures.js'
import '../../../support/seed.js'

const COMMITTED = { kind: 'committed' }

/** Logs that try to merge, at their last event, what has no pass. Gate `g` stands at each of the points. */
const attacks = (point: g.Point): Record<string, g.Loose[]> => ({
  'nothing staged': [g.judged('pass'), g.merge(point)],
  'nothing at all': [g.merge(point)],
  'no verdict': [g.staged(point), g.merge(point)],
  'a fail': [g.staged(point), g.judged('fail'), g.merge(point)],
  'a revise': [g.staged(point), g.judged('revise'), g.merge(point)],
  'a pass of another gate': [g.staged(point), g.judged('pass', { gateId: 'other' }), g.merge(point)],
  'a pass over another target': [g.staged(point), g.judged('pass', { target: 'other' }), g.merge(point)],
  'a pass over another result': [g.staged(point), g.judged('pass', { resultHash: 'other' }), g.merge(point)],
  'a pass that a newer fail overrules': [g.staged(point), g.judged('pass'), g.judged('fail'), g.merge(point)],
  'a pass that is older than the staging': [g.judged('pass'), g.staged(point), g.merge(point)],
  'a pass over what another result has replaced': [
    g.staged(point),
    g.judged('pass'),
    g.staged(point, { resultHash: 'newer' }),
    g.merge(point),
  ],
  'a staging by a gate that does not block': [g.staged(point, { blocking: false }), g.judged('pass'), g.merge(point)],
  'a staging that is merged nowhere': [g.staged('none'), g.judged('pass'), g.merge(point)],
  'a staging for another point': [
    g.staged(point === 'node' ? 'run' : 'node', { nodeId: 'n1' }),
    g.judged('pass'),
    g.merge(point),
  ],
  'a staging by another gate': [g.staged(point, { gateId: 'other' }), g.judged('pass'), g.merge(point)],
  'a verdict that is no gate’s': [
    g.staged(point),
    sequence => ({ ...g.judged('pass')(sequence), secret: null }),
    g.merge(point),
  ],
})

const MORE_ATTACKS: Record<string, { point: g.Point; log: g.Loose[] }> = {
  'a harvest of another child': { point: 'harvest', log: [staging('other'), pass('other'), g.merge('harvest')] },
  'a harvest of nobody': {
    point: 'harvest',
    log: [staging('t'), pass('t'), g.harvest({ childRunId: undefined })],
  },
  'the same harvest twice': {
    point: 'harvest',
    log: [staging('t'), pass('t'), g.merge('harvest'), g.merge('harvest')],
  },
  'the result of another node': {
    point: 'node',
    log: [g.staged('node', { nodeId: 'n2' }), g.judged('pass'), g.merge('node')],
  },
  'the same node twice': { point: 'node', log: [g.staged('node'), g.judged('pass'), g.merge('node'), g.merge('node')] },
}

function staging(target: string): g.Loose {
  return g.staged('harvest', { target })
}

function pass(target: string): g.Loose {
  return g.judged('pass', { target })
}

export function gateContract(open: () => Promise<Opened>): void {
  const opened = async () => {
    const { store } = await open()
    return { store, hostId: await f.host(store) }
  }

  it('S10 merges what its gate has passed, at each point, in one commit or one by one', async () => {
    const { store, hostId } = await opened()
    for (const point of g.POINTS) {
      const log = [g.staged(point), g.judged('pass'), g.merge(point)]
      for (const way of ['together', 'oneByOne'] as const) {
        const run = await g.gatedRun(store, hostId, [g.gatedPoint(point)])
        await run[way](...log)
        expect(await run.length()).toBe(5)
      }
      const whole = { events: g.placed(0, [f.event, ...log]), status: 'completed' } as const
      await f.created(store, hostId, whole, { gated: [g.gatedPoint(point)] })
    }
  })

  it('S10 refuses every merge without a pass over exactly that result, and writes nothing of its commit', async () => {
    const { store, hostId } = await opened()
    const all = [
      ...g.POINTS.flatMap(point => Object.entries(attacks(point)).map(([name, log]) => ({ name, point, log }))),
      ...Object.entries(MORE_ATTACKS).map(([name, attack]) => ({ name, ...attack })),
    ]
    let refused = 0
    const refuse = async (name: string, commit: Promise<unknown>) => {
      await expect(commit, name).rejects.toBeInstanceOf(UnverifiedMerge)
      refused += 1
    }
    for (const { name, point, log } of all) {
      const gated = [g.gatedPoint(point)]
      const [together, stepwise] = [await g.gatedRun(store, hostId, gated), await g.gatedRun(store, hostId, gated)]
      await refuse(name, together.together(...log))
      expect(await store.readEvents(together.runId, 0)).toEqual(f.events(0, 2))
      await stepwise.oneByOne(...log.slice(0, -1))
      await refuse(name, stepwise.together(log.at(-1)!))
      expect(await stepwise.length()).toBe(1 + log.length)
      // What was refused has left nothing behind that would stop a legal merge.
      await stepwise.together(g.staged(point), g.judged('pass'), g.merge(point))

      const stream = f.creation(f.id('run'), { events: g.placed(0, [f.event, ...log]) }, { gated })
      await refuse(name, store.commit(f.commit(hostId, [stream])))
      expect(await store.readRun(null, stream.runId)).toBeUndefined()
    }
    expect(refused).toBe(3 * all.length)
    expect(all.length).toBeGreaterThan(50)
  })

  it('S10 takes no verdict of another run, however alike they are', async () => {
    const { store, hostId } = await opened()
    for (const point of g.POINTS) {
      const gated = [g.gatedPoint(point)]
      const [passed, other] = [await g.gatedRun(store, hostId, gated), await g.gatedRun(store, hostId, gated)]
      await passed.together(g.staged(point), g.judged('pass'))
      await other.together(g.staged(point))
      await expect(other.together(g.merge(point))).rejects.toBeInstanceOf(UnverifiedMerge)
      await passed.together(g.merge(point))
    }
  })

  it('S10 takes a pass after a fail, and the result that was done again', async () => {
    const { store, hostId } = await opened()
    const run = await g.gatedRun(store, hostId, [g.gatedPoint('node')])
    const again = { target: 't2', resultHash: 'h2', attempt: 2 }
    await run.together(g.staged('node'), g.judged('revise'), g.staged('node', again), g.judged('fail', again))
    await run.together(g.judged('pass', again), g.merge('node', { resultHash: 'h2' }))
    await run.together(g.staged('node'), g.judged('pass'), g.merge('node'))
    expect(await run.length()).toBe(11)
  })

  it('S10 asks every gate at a point', async () => {
    const { store, hostId } = await opened()
    for (const point of g.POINTS) {
      const gated = ['g', 'g2'].map(gateId => g.gatedPoint(point, { gateId }))
      const run = await g.gatedRun(store, hostId, gated)
      const second = { gateId: 'g2' }
      await run.together(g.staged(point), g.judged('pass'), g.staged(point, second), g.judged('fail', second))
      await expect(run.together(g.merge(point))).rejects.toBeInstanceOf(UnverifiedMerge)
      await run.together(g.judged('pass', second), g.merge(point))
    }
  })

  it('S10 stops nothing but merges, and those only where a gate stands', async () => {
    const { store, hostId } = await opened()
    const gated = [
      g.gatedPoint('harvest', { workerId: 'w' }),
      g.gatedPoint('node', { nodeId: 'n2' }),
      g.gatedPoint('run', { gateId: 'g2' }),
    ]
    const free = [
      g.merge('node'),
      g.harvest({ workerId: 'another' }),
      g.harvest({}, 'n3'),
      g.harvest({ phase: 'child.failed', error: { message: '\u0000 \ud800 \udfff' } }),
      g.harvest({ phase: 'child.completed' }),
    ]
    const run = await g.gatedRun(store, hostId, gated)
    await run.together(...free)
    await run.oneByOne(...free)
    for (const bad of [g.harvest(), g.merge('run')]) {
      await expect(run.together(bad)).rejects.toBeInstanceOf(UnverifiedMerge)
    }
    await run.together(sequence => f.terminal(sequence, 'run.failed'))
    const without = await f.created(store, hostId)
    await g.writing(store, hostId, without).together(...g.POINTS.map(point => g.merge(point)))
  })

  it('S10 reads past what people write: a reason may hold any text', async () => {
    const { store, hostId } = await opened()
    const why = { text: '\u0000 \\u0000 \ud800 \udfff 😀 "', gateId: 'other', deep: [[['x']]] }
    for (const point of g.POINTS) {
      const run = await g.gatedRun(store, hostId, [g.gatedPoint(point)])
      await run.together(g.staged(point), g.judged('pass', { why }), g.merge(point))
    }
  })

  it('S10 spares the commits beside it, and takes the streams of its own commit with it', async () => {
    const { store, hostId } = await opened()
    const [bad, beside] = [await g.gatedRun(store, hostId, [g.gatedPoint('node')]), await f.created(store, hostId)]
    const merging = f.extension(bad.runId, 2, { events: g.placed(2, [g.merge('node')]) })
    const commits = Array.from({ length: 20 }, (_, i) =>
      i === 10
        ? store.commit(f.commit(hostId, [f.extension(beside, 2), merging], { wakes: [beside] }))
        : f.created(store, hostId),
    )
    const results = await Promise.allSettled(commits)
    const failed = results.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(failed).toEqual([expect.any(UnverifiedMerge)])
    expect(await store.readRun(null, beside)).toMatchObject({ length: 2, wakeAt: null })
    expect(await bad.length()).toBe(2)
  })

  it('S2 S4 answers a stale merge as a conflict, and a repeated one as committed', async () => {
    const { store, hostId } = await opened()
    const run = await g.gatedRun(store, hostId, [g.gatedPoint('node')])
    const stale = f.extension(run.runId, 3, { events: g.placed(3, [g.merge('node')]) })
    expect(await store.commit(f.commit(hostId, [stale]))).toEqual({ kind: 'conflict', runId: run.runId })
    const events = g.placed(2, [g.staged('node'), g.judged('pass'), g.merge('node')])
    const append = f.commit(hostId, [f.extension(run.runId, 2, { events })])
    expect(await store.commit(append)).toEqual(COMMITTED)
    expect(await store.commit(append)).toEqual(COMMITTED)
    expect(await run.length()).toBe(5)
  })

  it('S9 S10 a fork has what was staged, judged and merged before its cut, and its own gates', async () => {
    const { store, hostId } = await opened()
    for (const point of ['harvest', 'node'] as const) {
      const gated = [g.gatedPoint(point)]
      const source = await g.gatedRun(store, hostId, gated)
      // 2 staged, 3 passed, 4 merged; then it fails, which its forks know nothing of.
      await source.together(g.staged(point), g.judged('pass'), g.merge(point), g.judged('fail'))
      const forkAt = async (at: number, over: object = { gated }, from = source.runId) => {
        const stream = f.fork(f.id('fork'), from, at, [], { run: over })
        expect(await store.commit(f.commit(hostId, [stream]))).toEqual(COMMITTED)
        return { runId: stream.runId, ...g.writing(store, hostId, stream.runId) }
      }
      for (const at of [2, 3, 5, 6]) {
        await expect((await forkAt(at)).together(g.merge(point)), `${at}`).rejects.toBeInstanceOf(UnverifiedMerge)
      }
      const judgedFork = await forkAt(4)
      const second = await forkAt(4, { gated }, judgedFork.runId)
      for (const run of [judgedFork, second]) {
        await run.together(g.merge(point))
        await expect(run.together(g.merge(point))).rejects.toBeInstanceOf(UnverifiedMerge)
        await run.together(g.staged(point), g.judged('pass'), g.merge(point))
      }
      await (await forkAt(2, { gated: [] })).together(g.merge(point))
      await (await forkAt(3)).together(g.judged('pass'), g.merge(point))

      const own = g.placed(4, [g.merge(point), g.merge(point)])
      const eager = f.fork(f.id('fork'), source.runId, 4, own, { run: { gated } })
      await expect(store.commit(f.commit(hostId, [eager]))).rejects.toBeInstanceOf(UnverifiedMerge)
      expect(await store.readRun(null, eager.runId)).toBeUndefined()
    }
  })

  it('S10 decides like the reference store under random logs', async () => {
    const { store, hostId } = await opened()
    const seen = { merged: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(random, { minLength: 1, maxLength: 2 }), { minLength: 20, maxLength: 20 }),
        async commits => {
          const model = new MemoryStore()
          const both = [await program(store, hostId), await program(model, await f.host(model))]
          for (const events of commits) {
            const [answer, expected] = await Promise.all(both.map(run => run.write(events)))
            expect(answer).toBe(expected)
            if (events.some(({ merges }) => merges)) seen[answer === 'committed' ? 'merged' : 'refused'] += 1
          }
          expect(await both[0]!.rows()).toEqual(await both[1]!.rows())
        },
      ),
      { numRuns: 40 },
    )
    expect(seen.merged).toBeGreaterThan(10)
    expect(seen.refused).toBeGreaterThan(10)
  })
}

type Random = { readonly merges: boolean; readonly event: g.Loose }

const point = fc.constantFrom('harvest' as const, 'node' as const)
const verdict = fc.constantFrom('pass' as const, 'pass' as const, 'fail' as const)
const label = fc.constantFrom('verified', 'verified', 'verified', 'verified', 'verified in part')
/** Mostly the same one, so that now and then all of it fits together. */
const subject = fc.record({
  target: fc.constantFrom('t', 't', 't', 't', 'u'),
  resultHash: fc.constantFrom('h', 'h', 'h', 'h', 'i'),
})

const random: fc.Arbitrary<Random> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(point, subject).map(([at, over]) => ({ merges: false, event: g.staged(at, over) })),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(verdict, subject, label).map(([how, over, label]) => ({
      merges: false,
      event: g.judged(how, how === 'pass' ? { ...over, label } : over),
    })),
  },
  {
    weight: 4,
    arbitrary: subject.map(({ target, resultHash }) => ({
      merges: true,
      event: g.harvest({ childRunId: target }, 'n1', { resultHash }),
    })),
  },
  {
    weight: 4,
    arbitrary: subject.map(({ resultHash }) => ({ merges: true, event: g.merge('node', { resultHash }) })),
  },
  { weight: 1, arbitrary: fc.constantFrom(...g.MADE).map(type => ({ merges: false, event: g.made(type) })) },
)

async function program(store: Store, hostId: string) {
  const { runId, together } = await g.gatedRun(store, hostId, [g.gatedPoint('harvest'), g.gatedPoint('node')])
  return {
    rows: () => store.readGateRows(runId),
    write: (events: readonly Random[]) =>
      together(...events.map(({ event }) => event)).then(
        ({ kind }) => kind,
        (error: Error) => error.name,
      ),
  }
}
