import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/engine/ports/store.js'
import { StoreUnavailable } from '../../../src/engine/ports/event-log.js'
import { crashPoints, SEED } from '../../support/crash-points.js'
import { storesForTests } from '../../model/journal/stores.js'
import { isThorough } from '../../support/thorough.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { type Story, tell, type Told } from './story.js'

const iterations = (maxLoopIterations: number) => ({ bounds: { maxLoopIterations } })
const CALL_NANO = 15_000
const EVERY_TEN_SECONDS = {
  kind: 'schedule',
  cron: '*/10 * * * * *',
  timezone: 'UTC',
  missed: { policy: 'once' },
  jitterMs: 0,
} as const
const BY_HOST = {
  check: 'host',
  verifierRef: null,
  probes: [{ probe_id: 'tests', type: 'command', command: ['make'], exit_code: 0, timeout_ms: 1_000 }],
} as const

const STORIES: readonly Story[] = [
  {
    name: 'never satisfied',
    goal: iterations,
    verdict: () => 'fail',
    ends: reserved => ({ final: 'bound-exceeded', reserved }),
  },
  {
    name: 'satisfied at the bound',
    goal: iterations,
    verdict: (nth, bound) => (nth >= bound ? 'pass' : 'fail'),
    ends: reserved => ({ final: 'satisfied', reserved }),
  },
  {
    name: 'escalated, and taken up again',
    goal: bound => ({ ...iterations(bound), breaker: 1 }),
    verdict: () => 'fail',
    look: async (host, goal) =>
      goal.mode.is === 'escalated' ? host.goals.command('t1', goal.goalId, 'resume') : undefined,
    ends: reserved => ({ final: 'bound-exceeded', reserved }),
  },
  {
    name: 'paused while it is judged, and taken up again',
    goal: iterations,
    verdict: () => 'fail',
    meanwhile: (host, goalId) => host.goals.command('t1', goalId, 'pause'),
    look: async (host, goal) =>
      goal.mode.is === 'paused' && goal.work.is === 'idle'
        ? host.goals.command('t1', goal.goalId, 'resume')
        : undefined,
    ends: reserved => ({ final: 'bound-exceeded', reserved }),
  },
  {
    name: 'abandoned while it is judged',
    goal: iterations,
    verdict: () => 'pass',
    meanwhile: (host, goalId) => host.goals.command('t1', goalId, 'abandon'),
    ends: () => ({ final: 'abandoned', reserved: 1 }),
  },
  {
    name: 'edited while it is judged',
    goal: iterations,
    verdict: () => 'fail',
    meanwhile: (host, goalId, nth) => host.goals.edit('t1', goalId, () => ({ objective: `objective ${nth}` })),
    ends: reserved => ({ final: 'bound-exceeded', reserved }),
  },
  {
    name: 'judged by the host, edited meanwhile, and satisfied at the bound',
    goal: bound => ({ ...iterations(bound), completion: BY_HOST }),
    verdict: (nth, bound) => (nth >= bound ? 'pass' : 'fail'),
    meanwhile: (host, goalId, nth) => host.goals.edit('t1', goalId, () => ({ objective: `objective ${nth}` })),
    ends: reserved => ({ final: 'satisfied', reserved }),
  },
  {
    name: 'held to its money',
    // A call of work and one of judging for each iteration, and the share of the judge.
    goal: bound => ({ bounds: { maxCostUsd: (bound * 4 * CALL_NANO * 100) / 1e9, maxLoopIterations: bound } }),
    verdict: () => 'fail',
    ends: () => ({ final: 'bound-exceeded' }),
  },
  {
    name: 'its time is over while it is judged',
    goal: bound => ({ bounds: { runTimeoutMs: 20_000, maxLoopIterations: bound } }),
    verdict: () => 'pass',
    meanwhile: async (_host, _goalId, _nth, { clock }) => clock.skip(30_000),
    ends: () => ({ final: 'bound-exceeded', reserved: 1 }),
  },
  {
    name: 'wanted by two hosts at once',
    goal: iterations,
    races: true,
    verdict: (nth, bound) => (nth >= bound ? 'pass' : 'fail'),
    ends: reserved => ({ final: 'satisfied', reserved }),
  },
  {
    name: 'on a schedule of two hosts',
    goal: bound => ({
      ...iterations(bound),
      continuation: { mode: 'schedule', armRef: null, arm: EVERY_TEN_SECONDS },
    }),
    races: true,
    verdict: () => 'fail',
    ends: reserved => ({ final: 'bound-exceeded', reserved }),
  },
  {
    name: 'held to its deadline',
    goal: bound => ({ bounds: { runTimeoutMs: bound * 30_000, maxLoopIterations: 10 } }),
    verdict: () => 'fail',
    ends: () => ({ final: 'bound-exceeded' }),
  },
]

const BOUNDS = [1, 2, 7]

function expectSound(story: Story, bound: number, told: Told): void {
  const { final, reserved } = story.ends(bound)
  const { goal } = told
  expect(told.findings).toEqual([])
  expect({ phase: goal.phase, mode: goal.mode }).toEqual({ phase: 'ended', mode: { is: 'closed', final } })
  if (reserved !== undefined) expect(goal.reserved).toBe(reserved)
  // Never a run over what was reserved, never an iteration without its run.
  expect(told.workers).toBe(goal.reserved)
  expect(goal.finished).toBe(goal.reserved)
  expect(goal.reserved).toBeLessThanOrEqual(goal.bounds.maxLoopIterations ?? Number.POSITIVE_INFINITY)
  // What runs were billed is what the goal has settled, and within its bound.
  expect(goal.spentNano).toBe(told.spentNano)
  if (goal.bounds.maxCostUsd !== undefined)
    expect(goal.spentNano + goal.heldNano).toBeLessThanOrEqual(Math.round(goal.bounds.maxCostUsd * 1e9))
}

/** Of all crash points so many are met: every one in a thorough run. */
const EVERY = isThorough ? 1 : 80

/** The same at the points of one story, in a store of each kind. */
async function swept(story: Story, bound: number, every: number, store = async () => new MemoryStore() as Store) {
  const whole = await tell(story, bound, { store: await store() })
  expectSound(story, bound, whole)
  let met = 0
  for (const death of crashPoints(whole.writes, every)) {
    const kept = await store()
    const told = await tell(story, bound, { death, store: kept })
    await kept.close()
    expect(told.died, `${death.when} ${death.at}`).toBe(true)
    met += 1
    try {
      expectSound(story, bound, told)
    } catch (error) {
      throw new Error(`seed ${SEED}, died ${death.when} write ${death.at} of ${whole.writes}`, { cause: error })
    }
  }
  return met
}

describe('a goal whose hosts die', () => {
  let met = 0

  for (const story of STORIES)
    for (const bound of BOUNDS)
      test(`R-GOAL-5 R-GOAL-6: ${story.name}, bound ${bound}: never a run or a cent over what was reserved`, async () => {
        met += await swept(story, bound, EVERY)
      }, 1_800_000)

  test('enough of these deaths have happened', () => {
    expect(met).toBeGreaterThan(isThorough ? 1_000 : 30)
  })

  test('a sabotage is noticed: the counter is written apart from the run, and once it is lost', async () => {
    const [story] = STORIES
    const told = await tell(story!, 2, { sabotage: countedApart })
    expect(() => expectSound(story!, 2, told)).toThrow()
  })
})

describe.each(['SQLite', 'PostgreSQL'] as const)('a goal whose hosts die, kept in %s', name => {
  const storeOf = storesForTests()
  const told = isThorough ? STORIES : STORIES.filter((_, i) => (i + SEED) % 4 === 0)
  let met = 0

  for (const story of told)
    test(`R-GOAL-5 R-GOAL-6: ${story.name}: never a run or a cent over what was reserved`, async () => {
      met += await swept(story, 2, isThorough ? 1 : 10_000, () => storeOf(name))
    }, 1_800_000)

  test('enough of these deaths have happened', () => {
    expect(met).toBeGreaterThan(isThorough ? 500 : told.length - 1)
  })
})

/** First the run, then what counts it; the second write is lost once. */
function countedApart(store: Store): Store {
  let isLost = false
  const commit: Store['commit'] = async given => {
    const counts = given.streams.filter(({ events }) => events.some(({ type }) => type === 'assay.stream.run.began'))
    if (isLost || counts.length === 0 || given.streams.length === 1) return store.commit(given)
    isLost = true
    const { deliveries: _, ...others } = given
    await store.commit({ ...others, streams: given.streams.filter(stream => !counts.includes(stream)) })
    throw new StoreUnavailable('the store is unavailable: the second write is lost')
  }
  return new Proxy(store, {
    get: (target, name) => (name === 'commit' ? commit : Reflect.get(target, name)?.bind?.(target)),
  })
}
