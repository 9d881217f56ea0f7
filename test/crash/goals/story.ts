import { cronCalendar } from '../../../src/calendar/cron-calendar.js'
import type { NewGoal } from '../../../src/engine/api.js'
import type { Goal } from '../../../src/core/goal/state.js'
import { checkGoal, type GoalFinding } from '../../../src/log-check/goal/check-goal.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { agentsDouble } from '../../../src/testing/agents.js'
import { engineRig, register, type Rig } from '../../../src/testing/engine-rig.js'
import { type GoalHost, goalsOn, MET, UNMET, wanted } from '../../../src/testing/goal-rig.js'
import { AGENT, agentFlow, answered } from '../../../src/testing/invocations.js'
import { ManualClock, settled } from '../../../src/testing/manual-clock.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { MortalHost } from '../../../src/testing/mortal-host.js'
import { goalStandards } from '../../../src/testing/goal-rig.js'
import { inspectorDouble } from '../../../src/testing/verification.js'

/** Where a process dies: before or after its n-th write. */
export type Death = { readonly at: number; readonly when: 'before' | 'after' }

/** What happens to a goal, told so that it comes to the same whoever hosts it and however often they die. */
export type Story = {
  readonly name: string
  readonly goal: (bound: number) => Partial<NewGoal>
  /** What its judge says of the n-th contributing run. */
  readonly verdict: (nth: number, bound: number) => 'pass' | 'fail'
  /** Done by somebody while the n-th contributing run is being judged, once for each of these. */
  readonly meanwhile?: (host: GoalHost, goalId: string, nth: number, rig: Rig) => Promise<unknown>
  /** A second host is there all the time, and wants to start the same runs. */
  readonly races?: true
  /** What somebody does who looks at it now and then, besides asking for runs. */
  readonly look?: (host: GoalHost, goal: Goal) => Promise<unknown>
  readonly ends: (bound: number) => { readonly final: string; readonly reserved?: number }
}

const step = agentFlow({ config: { resultVariable: 'got' } }, { id: 'step' })

/** A dollar for a million tokens: a call of 15 tokens costs 15,000 billionths. */
const PRICE = { input: 1, output: 1 }

export type Told = {
  readonly goal: Goal
  readonly writes: number
  readonly died: boolean
  readonly findings: readonly GoalFinding[]
  /** Runs in the store that say that they are the goal's, and did work for it. */
  readonly workers: number
  readonly spentNano: number
}

export type Telling = {
  readonly death?: Death | undefined
  /** Empty; in memory where absent. */
  readonly store?: Store
  readonly sabotage?: (store: Store) => Store
}

/** Tells a story to its end; hosts die where it is said, and the next one goes on. */
export async function tell(story: Story, bound: number, telling: Telling = {}): Promise<Told> {
  const { death, sabotage = (store: Store) => store } = telling
  const base = observed(sabotage(telling.store ?? new MemoryStore()))
  const rig = engineRig(base.store, undefined, new ManualClock(undefined, base.quiet))
  const world = {
    host: undefined as GoalHost | undefined,
    done: new Set<number>(),
    goalId: undefined as string | undefined,
  }
  const nthOf = async () => (await begunIn(rig, world.goalId)).filter(({ role }) => role === 'work').length
  const judged = async () => {
    const nth = await nthOf()
    if (story.meanwhile && world.host && world.goalId && !world.done.has(nth)) {
      await story.meanwhile(world.host, world.goalId, nth, rig)
      // A host that died before it answered has done nothing: the next one is asked again.
      world.done.add(nth)
    }
    return story.verdict(nth, bound)
  }
  const agents = agentsDouble({
    agents: { [AGENT]: { price: PRICE }, 'assay.verifier': { price: PRICE } },
    think: async ({ role }) => {
      if (role !== 'verifier') return { said: answered(`attempt ${await nthOf()}`) }
      return { said: answered((await judged()) === 'pass' ? MET : UNMET) }
    },
  })
  const inspector = inspectorDouble(async () => {
    const outcome = (await judged()) === 'pass' ? 'held' : 'failed'
    return [{ probeId: 'tests', dimension: 'goal', outcome, evidence: [] }]
  })
  const boot = async (hostName = 'host') => {
    const mortal = await new MortalHost(rig).boot(agents, { standards: goalStandards(), hostName })
    const goals = goalsOn(rig, mortal.engine, mortal.store, cronCalendar(), inspector)
    const host = { engine: mortal.engine, goals }
    world.host = host
    await register(host.engine, step)
    return { mortal, host }
  }
  const other = story.races ? await boot('other') : undefined
  let { mortal, host } = await boot()
  mortal.writes = []
  if (death) mortal.dieAt(death.at, death.when)
  let writes = 0
  let died = false
  for (let turn = 0; turn < 400; turn += 1) {
    if (mortal.isDead && !died) {
      died = true
      await rig.clock.advance(11_000)
      ;({ mortal, host } = await boot())
    }
    world.goalId ??= (await rig.store.listRuns({ tenant: 't1', workflowId: 'assay-goal', limit: 1 }))[0]?.runId
    if (world.goalId === undefined) orAbandoned(host.goals.create(wanted(story.goal(bound))))
    else {
      const goal = await within(host.goals.find('t1', world.goalId), base.quiet)
      if (goal?.phase === 'ended') break
      if (goal) orAbandoned(story.look?.(host, goal))
      if (goal?.mode.is === 'active' && goal.work.is === 'idle') orAbandoned(host.goals.run('t1', world.goalId))
      // Of all who ask at once, one has its run.
      if (other) orAbandoned(other.host.goals.run('t1', world.goalId))
    }
    await base.quiet()
    await rig.clock.advance(2_500)
    writes = mortal.writes.length
  }
  const goalId = world.goalId ?? ''
  const goal = await host.goals.find('t1', goalId)
  if (!goal) throw new Error(`${story.name}: there is no goal`)
  return { goal, writes, died, findings: await findingsIn(rig, goalId), ...(await accountOf(rig, goalId)) }
}

/** A store, and the moment at which nothing is asked of it any more: the clock goes on only then. */
function observed(store: Store): { store: Store; quiet: () => Promise<void> } {
  let underWay = 0
  const counted = new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'onHint') return value?.bind?.(target) ?? value
      return async (...parameters: unknown[]) => {
        underWay += 1
        try {
          return await value.apply(target, parameters)
        } finally {
          underWay -= 1
        }
      }
    },
  }) as Store
  const quiet = async () => {
    for (let still = 0; still < 2; still = underWay === 0 ? still + 1 : 0) await settled()
  }
  return { store: counted, quiet }
}

/** A call of a process that has died never answers. */
const within = <T>(work: Promise<T>, quiet: () => Promise<void>): Promise<T | undefined> =>
  Promise.race([
    work,
    quiet()
      .then(quiet)
      .then(() => undefined),
  ])

/** What is asked of a process that dies is asked again of the next one. */
function orAbandoned(work: Promise<unknown> | undefined): void {
  work?.catch(error => {
    if (!/unavailable|stopped/.test(String(error))) throw error
  })
}

async function begunIn(rig: Rig, goalId: string | undefined) {
  const events = goalId === undefined ? [] : await rig.store.readEvents(goalId, 0, 10_000)
  return events
    .filter(({ type }) => type === 'assay.stream.run.began')
    .map(({ payload }) => JSON.parse(payload) as { role: string; runId: string })
}

async function findingsIn(rig: Rig, goalId: string): Promise<readonly GoalFinding[]> {
  const rows = await rig.store.readEvents(goalId, 0, 10_000)
  return checkGoal(
    rows.map(({ sequence, type, at, payload, secret }) => ({
      sequence,
      type,
      at,
      payload: JSON.parse(payload),
      secret: secret === null ? undefined : JSON.parse(secret),
    })),
  )
}

/** Counted from the runs themselves, whatever the goal says. */
async function accountOf(rig: Rig, goalId: string): Promise<{ workers: number; spentNano: number }> {
  let [workers, spentNano] = [0, 0]
  for (const { runId, workflowId } of await rig.store.listRuns({ tenant: 't1', limit: 1_000 })) {
    const events = await rig.store.readEvents(runId, 0, 10_000)
    const started = events[0]?.type === 'run.started' ? JSON.parse(events[0].payload) : {}
    if (workflowId === 'step' && started.stream === goalId) workers += 1
    for (const { type, payload } of events)
      if (type === 'provider.usage') spentNano += Math.round((JSON.parse(payload).costEstimateUsd ?? 0) * 1e9)
  }
  return { workers, spentNano }
}
