import { type Refusal, refuse } from '../../core/problem.js'
import { overQuota, type QuotasOf } from '../../core/quotas.js'
import type { RunStatus } from '../../core/run/events.js'
import type { ScheduleInput } from '../../core/schedule/decide.js'
import type { ScheduleEffect } from '../../core/schedule/effects.js'
import type { OpenSchedule, ScheduleState } from '../../core/schedule/state.js'
import { streamId, streamWorkflow } from '../../core/standing/stream.js'
import type { Plan } from '../../core/workflow/plan.js'
import { schedulesOf, type ScheduleTrigger } from '../../core/workflow/triggers.js'
import { sha256OfJson } from '../../digest.js'
import type { Answer, Registrant, ScheduleAdmin, SchedulePage, ScheduleQuery, ScheduleShown } from '../api.js'
import type { Calendar } from '../ports/calendar.js'
import type { Clock } from '../ports/clock.js'
import type { Predicates } from '../ports/verification.js'
import type { Store } from '../ports/store.js'
import type { Plans } from '../plans/plans.js'
import type { StreamGround } from '../standing/standing.js'
import type { StandingAnswer, StreamWriter } from '../standing/stream-writer.js'
import { untimely } from './horizon.js'
import { scheduleKind } from './schedule-kind.js'

export type SchedulingOptions = {
  /** Whose runs the schedules of workflows start that are shared by all tenants. */
  readonly tenant: string
  /** How far away the first tick of a schedule may be. */
  readonly horizonMs: number
}

type Deps = {
  readonly calendar: Calendar
  readonly clock: Clock
  readonly predicates: Predicates
  readonly store: Pick<Store, 'readRun' | 'listRuns'>
  readonly plans: Pick<Plans, 'named'>
  readonly quotas: QuotasOf
}

/** Of those that are registered. */
const PRESENT: readonly RunStatus[] = ['pending', 'running', 'paused', 'completed']
const NO_SCHEDULE = refuse('not_found', 'No such schedule, or not visible to this key.')

/**
 * The schedules of workflows: they come with a workflow and go with it. Which one it is follows from whose it is, of which
 * workflow and which trigger, so two hosts that register the same workflow mean the same.
 */
export class Schedules implements ScheduleAdmin {
  readonly #standing: StreamGround['standing']
  readonly #writer: StreamWriter<ScheduleState, ScheduleInput, ScheduleEffect>

  constructor(
    private readonly deps: Deps,
    private readonly options: SchedulingOptions,
    { standing, starter }: Pick<StreamGround, 'standing' | 'starter'>,
  ) {
    this.#standing = standing
    this.#writer = standing.open(scheduleKind({ ...deps, starter }))
  }

  /** Why the schedules of a workflow cannot be kept here. */
  async refusalOf(tenant: string | null, { definition }: Plan): Promise<Refusal | undefined> {
    const triggers = schedulesOf(definition)
    for (const trigger of triggers) {
      const refusal = this.#unkept(tenant, trigger)
      if (refusal) return refusal
    }
    return triggers.length === 0 ? undefined : this.#overQuota(this.#owner(tenant), definition.id, triggers)
  }

  /** Its first time has to be near enough; and what a heartbeat looks at, something that it may look at. */
  #unkept(tenant: string | null, { triggerId, arm }: ScheduleTrigger): Refusal | undefined {
    const field = `triggers["${triggerId}"].config`
    if (arm.kind === 'schedule')
      return untimely(this.deps, this.options.horizonMs, arm, { field, otherwise: 'validation_error' })
    const origin = tenant === null ? 'project' : 'api'
    const read = this.deps.predicates.complete(arm.predicate, { field, over: 'world', origin, home: HOME })
    return read.ok ? undefined : refuse('validation_error', read.problems[0]!, { field, problems: [...read.problems] })
  }

  async #overQuota(tenant: string, workflowId: string, triggers: readonly ScheduleTrigger[]) {
    const most = this.deps.quotas(tenant).schedules
    const kept = await this.deps.store.listRuns({
      tenant,
      workflowId: streamWorkflow('schedule'),
      status: PRESENT,
      limit: Math.min(most + 1, Number.MAX_SAFE_INTEGER),
    })
    const known = new Set(kept.map(({ runId }) => runId))
    const added = triggers.filter(({ triggerId }) => !known.has(idOf(tenant, workflowId, triggerId)))
    return kept.length + added.length > most && added.length > 0 ? overQuota('schedules', most) : undefined
  }

  /**
   * Brings the schedules in line with what is registered now; `before` is what was, under the same name. A host that is made
   * only to look through a project keeps none.
   */
  async follow(
    tenant: string | null,
    workflowId: string,
    before: Plan | undefined,
    by: Registrant | undefined,
  ): Promise<void> {
    if (!this.#standing.isAwake) return
    const owner = this.#owner(tenant)
    const plan = await this.deps.plans.named(owner, workflowId)
    const triggers = plan ? schedulesOf(plan.definition) : []
    for (const { triggerId, arm, inputs } of triggers) {
      const scheduleId = idOf(owner, workflowId, triggerId)
      const work = { workflowId, triggerId, inputs, principal: 'project', ...by }
      const input = { type: 'Register', scheduleId, tenant: owner, work, arm } as const
      await this.#writer.ensure(scheduleId, owner, () => ({ input }))
    }
    const kept = triggers.map(({ triggerId }) => triggerId)
    for (const { triggerId } of before ? schedulesOf(before.definition) : [])
      if (!kept.includes(triggerId))
        await this.#writer.submit(idOf(owner, workflowId, triggerId), { put: () => ({ input: { type: 'Remove' } }) })
  }

  /** What is registered for this tenant now. */
  registered(tenant: string | null, workflowId: string): Promise<Plan | undefined> {
    return this.deps.plans.named(this.#owner(tenant), workflowId)
  }

  async list(tenant: string, { limit, before }: ScheduleQuery): Promise<SchedulePage> {
    // One more than asked for tells whether there is a next page.
    const query = { tenant, workflowId: streamWorkflow('schedule'), status: PRESENT, limit: limit + 1 }
    const rows = await this.deps.store.listRuns(before === undefined ? query : { ...query, before })
    const page = rows.slice(0, limit)
    const schedules: ScheduleShown[] = []
    for (const { runId } of page) {
      const one = await this.get(tenant, runId)
      if (one && one.state !== 'removed') schedules.push(one)
    }
    return { schedules, next: rows.length > limit ? page.at(-1)!.runId : null }
  }

  async get(tenant: string, scheduleId: string): Promise<ScheduleShown | undefined> {
    const loaded = await this.#writer.inspect(tenant, scheduleId)
    return loaded?.state.phase === 'open' ? shownOf(loaded.state) : undefined
  }

  pause = (tenant: string, scheduleId: string) => this.#command(tenant, scheduleId, 'Pause')
  resume = (tenant: string, scheduleId: string) => this.#command(tenant, scheduleId, 'Resume')
  run = (tenant: string, scheduleId: string) => this.#command(tenant, scheduleId, 'RunNow')

  async #command(
    tenant: string,
    scheduleId: string,
    type: 'Pause' | 'Resume' | 'RunNow',
  ): Promise<Answer<ScheduleShown>> {
    const answer = await this.#writer.submit(scheduleId, { tenant, put: () => ({ input: { type } }) })
    return answer === undefined ? { ok: false, refusal: NO_SCHEDULE } : shownIn(answer)
  }

  #owner(tenant: string | null): string {
    return tenant ?? this.options.tenant
  }
}

function shownIn(answer: StandingAnswer<ScheduleState>): Answer<ScheduleShown> {
  if (!answer.ok) return answer
  const { state } = answer.value
  return state.phase === 'absent' ? { ok: false, refusal: NO_SCHEDULE } : { ok: true, value: shownOf(state) }
}

const HOME = { what: 'workflow', folder: 'workflows/' }

const idOf = (tenant: string, workflowId: string, triggerId: string): string =>
  streamId('schedule', sha256OfJson([tenant, workflowId, triggerId]).slice(0, 32))

function shownOf({ scheduleId, work, arm, run, begun, latest, held }: OpenSchedule): ScheduleShown {
  const { workflowId, triggerId } = work
  const { at } = arm
  if (arm.arm.kind !== 'schedule' && arm.arm.kind !== 'heartbeat')
    throw new Error(`schedule ${scheduleId} has an arm that is none`)
  return {
    scheduleId,
    workflowId,
    triggerId,
    arm: arm.arm,
    state: at.phase === 'disarmed' ? 'removed' : at.phase === 'paused' || at.phase === 'spent' ? at.phase : 'armed',
    holds: arm.holds,
    next: at.phase === 'set' ? { tick: at.tick, dueAt: at.dueAt } : null,
    run,
    begun,
    latest,
    held,
  }
}
