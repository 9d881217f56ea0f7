import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Store } from '../../../../src/engine/ports/store.js'
import { MemoryStore } from '../../../../src/store/memory/memory-store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import '../../../support/seed.js'

type Step = (store: Store) => Promise<unknown>

const RUNS = ['r0', 'r1', 'r2', 'r3']
const HOSTS = ['h0', 'h1', 'h2']

/** Random programs give the same answers, step by step, as the reference implementation. */
export function modelContract(open: () => Promise<Opened>): void {
  it('behaves like the reference store under random programs', async () => {
    const { store } = await open()
    const sweeper = await f.host(store)
    const seen = new Set<string>()
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async makers => {
        round += 1
        const model = new MemoryStore()
        // Chance alone seldom finishes an effect and then asks for it again, so every program ends with that.
        const steps = [...makers, ...finishedEffect].map(make => make(`p${round}_`))
        for (const [name, hostId] of HOSTS.entries()) {
          const host = {
            hostId: `p${round}_${hostId}`,
            hostName: `p${round}_n${name}`,
            leaseMs: f.HOUR,
            now: Date.now(),
          }
          for (const one of [store, model]) await one.registerHost(host)
        }
        try {
          for (const run of steps) {
            const answer = await run(store)
            expect(answer).toEqual(await run(model))
            if (answer instanceof Object && 'kind' in answer) seen.add(String(answer.kind))
          }
        } finally {
          // Leave nothing to claim for the next program.
          for (const hostId of HOSTS) await store.releaseHost(`p${round}_${hostId}`)
          await store.claimOrphans(sweeper, f.T0, 1000)
        }
      }),
      { numRuns: 100 },
    )
    const possible = ['committed', 'conflict', 'fenced', 'response-exists', 'scope-active', 'rejected']
    expect([...possible, 'claimed', 'done', 'in-flight'].filter(kind => !seen.has(kind))).toEqual([])
  })
}

const finishedEffect: readonly ((p: string) => Step)[] = [
  p => store => store.claimEffect(f.claim(`${p}h0`, { id: `${p}last` })),
  p => store => store.finishEffect(`${p}last`, `${p}h0`, 'done'),
  p => store => store.claimEffect(f.claim(`${p}h0`, { id: `${p}last` })),
]

const host = fc.constantFrom(...HOSTS)
const run = fc.constantFrom(...RUNS)
const effect = fc.constantFrom('e0', 'e1')
const tenant = fc.constantFrom('t0', 't1')
const cacheKey = fc.constantFrom('a'.repeat(64), 'b'.repeat(64))
/** Mostly right; the rest is what the checks are for. */
const off = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(-1, 1) })

const append = fc.record({
  host,
  run,
  off,
  epoch: fc.option(off),
  count: fc.integer({ min: 1, max: 2 }),
  ends: fc.nat(3).map(n => n === 0),
  wakeAt: fc.option(fc.integer({ min: 0, max: 100 })),
  wakes: fc.subarray(RUNS),
  scope: fc.option(fc.constantFrom('s0', 's1')),
  exclusive: fc.boolean(),
  response: fc.option(fc.constantFrom('k0', 'k1'), { freq: 2 }),
  appendId: fc.integer({ min: 0, max: 3 }),
})

const step: fc.Arbitrary<(p: string) => Step> = fc.oneof(
  { weight: 8, arbitrary: append.map(spec => (p: string) => doCommit(p, spec)) },
  { weight: 1, arbitrary: host.map(id => (p: string) => (store: Store) => store.releaseHost(p + id)) },
  {
    weight: 2,
    arbitrary: fc.tuple(host, fc.integer({ min: 0, max: 100 })).map(
      ([id, now]) =>
        (p: string) =>
        (store: Store) =>
          store.claimOrphans(p + id, now, 10),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(host, run).map(([id, runId]) => (p: string) => async (store: Store) => ({
      due: await store.dueRuns(p + id, 50, 10),
      run: await store.readRun(null, p + runId),
      events: await store.readEvents(p + runId, 0),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(host, effect, tenant, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 3 })).map(
      ([id, effect, tenant, attempt, at]) =>
        (p: string) =>
        (store: Store) =>
          store.claimEffect(f.claim(p + id, { id: p + effect, tenant: p + tenant, attempt, at: f.T0 + at })),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(host, effect, fc.option(cacheKey)).map(
      ([id, effect, key]) =>
        (p: string) =>
        (store: Store) =>
          store.finishEffect(p + effect, p + id, id, key ?? undefined),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(host, effect).map(
      ([id, effect]) =>
        (p: string) =>
        (store: Store) =>
          store.releaseEffect(p + effect, p + id),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(effect, tenant, cacheKey)
      .map(([effect, tenant, key]) => (p: string) => async (store: Store) => ({
        outcome: await store.readEffect(p + effect),
        answer: await store.findAnswer(p + tenant, key),
      })),
  },
)

type Spec = typeof append extends fc.Arbitrary<infer T> ? T : never

function doCommit(p: string, spec: Spec): Step {
  const runId = p + spec.run
  return async store => {
    const row = await store.readRun(null, runId)
    const expected = Math.max(0, (row?.length ?? 0) + spec.off)
    const events = f.events(expected, spec.count)
    if (spec.ends) events.push(f.terminal(expected + spec.count))
    const epoch = spec.epoch === null ? null : (row?.epoch ?? 1) + spec.epoch
    const common = { events, epoch, wakeAt: spec.wakeAt, status: 'running' } as const
    const scoped = { scopeId: spec.scope && p + spec.scope, exclusiveScope: spec.exclusive }
    const stream = expected === 0 ? f.creation(runId, common, scoped) : f.extension(runId, expected, common)
    const commit = f.commit(p + spec.host, [stream], {
      appendId: `${p}${spec.appendId}`,
      wakes: spec.wakes.map(id => p + id),
      ...(spec.response === null ? {} : { response: f.response({ key: p + spec.response, body: runId }) }),
    })
    return store.commit(commit).catch(() => ({ kind: 'rejected' }))
  }
}
