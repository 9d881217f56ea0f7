import type { GoalEffect } from '../../core/goal/effects.js'
import type { GoalEdits } from '../../core/goal/events.js'
import { BREAKER, type Completion, type Continuation, type GoalWork } from '../../core/goal/goal.js'
import type { GoalInput } from '../../core/goal/input.js'
import type { Goal, GoalState } from '../../core/goal/state.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { overQuota } from '../../core/quotas.js'
import { kindOfId, streamId, streamWorkflow } from '../../core/standing/stream.js'
import { sha256OfJson } from '../../digest.js'
import type {
  Answer,
  BegunByHand,
  CreateRun,
  GoalAdmin,
  GoalQuery,
  InspectedRun,
  MakeResponse,
  NewGoal,
} from '../api.js'
import type { RunQuery, RunRow } from '../ports/run-index.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'
import { nothingToFollow } from '../runtime/followers.js'
import { inspectedRun, type PendingWrite } from '../runtime/run-writer.js'
import { untimely } from '../schedules/horizon.js'
import type { StreamGround } from '../standing/standing.js'
import type { Put } from '../standing/stream-kind.js'
import type { StandingAnswer, StreamWriter } from '../standing/stream-writer.js'
import type { GoalDeps, GoalSettings } from './deps.js'
import { goalKind, statusesOf } from './goal-kind.js'
import { escalationOf } from './goal-runs.js'
import { contribution, requestFor } from './work.js'

type Writer = StreamWriter<GoalState, GoalInput, GoalEffect>

/** Makes room for goals in an engine, before it is started. */
export const createGoals = (
  ground: StreamGround,
  deps: Omit<GoalDeps, 'starter' | 'runs' | 'cache' | 'followers'>,
): GoalAdmin => {
  const { starter, runs, cache, followers } = ground
  const whole = { ...deps, starter, runs, cache, followers }
  return new Goals(
    ground.standing.open(goalKind(whole), { rests: !deps.settings.enabled }),
    whole,
    () => ground.standing.isAwake,
  )
}

class Goals implements GoalAdmin {
  constructor(
    private readonly writer: Writer,
    private readonly deps: GoalDeps,
    private readonly isAwake: () => boolean,
  ) {}

  async create(wanted: NewGoal, response?: (goal: Goal) => RememberedResponse): Promise<Answer<Goal>> {
    const input = await this.#creation(streamId('goal', this.deps.ids.run()), wanted)
    if ('code' in input) return { ok: false, refusal: input }
    return goalIn(await this.writer.create(input.goalId, wanted.owner.tenant, () => ({ input }), remembered(response)))
  }

  async ensure(name: string, wanted: NewGoal): Promise<Refusal | undefined> {
    const { tenant } = wanted.owner
    const goalId = streamId('goal', `project-${sha256OfJson([tenant, name]).slice(0, 32)}`)
    if (await this.find(tenant, goalId)) return undefined
    const input = await this.#creation(goalId, wanted)
    if ('code' in input) return input
    if (!this.isAwake()) return undefined
    const answer = await this.writer.ensure(goalId, tenant, () => ({ input }))
    return !answer.ok && 'refusal' in answer ? answer.refusal : undefined
  }

  /** What is put to a new goal, or why there cannot be one. */
  async #creation(goalId: string, wanted: NewGoal): Promise<Extract<GoalInput, { type: 'CreateGoal' }> | Refusal> {
    const { settings } = this.deps
    const { owner, bounds, breaker = BREAKER, work = settings.run, ...texts } = wanted
    const { objective, completion, continuation } = keptOf(texts, settings.redact)
    const problem =
      (await this.#judgeProblem(owner.tenant, completion)) ??
      this.#armProblem(continuation, work) ??
      (await this.#overQuota(owner.tenant))
    if (problem) return problem
    return {
      type: 'CreateGoal',
      goalId,
      check: completion.check,
      mode: continuation.mode,
      bounds,
      breaker,
      owner,
      objective,
      completion,
      continuation,
      ...(work ? { work } : {}),
    }
  }

  async find(tenant: string, goalId: string): Promise<Goal | undefined> {
    if (kindOfId(goalId) !== 'goal') return undefined
    const found = await this.writer.inspect(tenant, goalId)
    return found?.state.phase === 'absent' ? undefined : found?.state
  }

  async list({ tenant, state, before, limit }: GoalQuery): Promise<readonly Goal[]> {
    const rows = await this.deps.store.listRuns({
      tenant,
      workflowId: streamWorkflow('goal'),
      limit,
      ...(state === undefined ? {} : { status: statusesOf(state) }),
      ...(before === undefined ? {} : { before }),
    })
    const goals: Goal[] = []
    for (const { runId } of rows) {
      const goal = await this.find(tenant, runId)
      if (goal) goals.push(goal)
    }
    return goals
  }

  /** The goals of a tenant that have not come to their end (Q10). */
  async #overQuota(tenant: string): Promise<Refusal | undefined> {
    const most = this.deps.settings.quotas(tenant).goals
    const kept = await this.deps.store.listRuns({
      tenant,
      workflowId: streamWorkflow('goal'),
      status: [...statusesOf('active'), ...statusesOf('escalated')],
      limit: Math.min(most, Number.MAX_SAFE_INTEGER),
    })
    return kept.length >= most ? overQuota('goals', most) : undefined
  }

  edit(
    tenant: string,
    goalId: string,
    edits: (goal: Goal) => GoalEdits | Refusal,
    response?: (goal: Goal) => RememberedResponse,
  ): Promise<Answer<Goal> | undefined> {
    const put = async (goal: Goal): Promise<Put<GoalInput> | Refusal> => {
      const wanted = edits(goal)
      if ('code' in wanted) return wanted
      const kept = keptOf(wanted, this.deps.settings.redact)
      const problem =
        (kept.completion && (await this.#judgeProblem(tenant, kept.completion))) ??
        (kept.continuation && this.#armProblem(kept.continuation, kept.work ?? goal.runs))
      return problem ?? { input: { type: 'EditGoal', ...kept } }
    }
    return this.#put(tenant, goalId, put, response)
  }

  async command(
    tenant: string,
    goalId: string,
    command: 'pause' | 'resume' | 'abandon',
    response?: (goal: Goal) => RememberedResponse,
  ): Promise<Answer<Goal> | undefined> {
    const refusal = command === 'resume' ? await this.#stillAsked(tenant, goalId) : undefined
    if (refusal) return { ok: false, refusal }
    const types = { pause: 'PauseGoal', resume: 'ResumeGoal', abandon: 'AbandonGoal' } as const
    return this.#put(tenant, goalId, () => ({ input: { type: types[command] } }), response)
  }

  async run(
    tenant: string,
    goalId: string,
    response?: (begun: BegunByHand) => RememberedResponse,
  ): Promise<Answer<BegunByHand> | undefined> {
    const make = (goal: Goal) =>
      goal.runs
        ? contribution(this.deps, goal, requestFor(goal, goal.runs), { by: 'hand' })
        : refuse('goal_without_work', NO_WORK, { goalId })
    const render = response && ((goal: Goal, { runId }: InspectedRun) => response({ goal, runId }))
    const begun = await this.#begin(tenant, goalId, make, render)
    return begun?.ok ? { ok: true, value: { goal: begun.value.goal, runId: begun.value.run.runId } } : begun
  }

  async contribute(goalId: string, request: CreateRun, response?: MakeResponse): Promise<Answer<InspectedRun>> {
    const make = (goal: Goal) => contribution(this.deps, goal, request, { by: 'name' })
    const render = response && ((_: Goal, run: InspectedRun) => response(run))
    const begun = await this.#begin(request.tenant, goalId, make, render)
    if (begun === undefined) return { ok: false, refusal: unknownGoal(goalId) }
    return begun.ok ? { ok: true, value: begun.value.run } : begun
  }

  /** A contributing run, and the answer about it that is remembered in the commit that begins it. */
  async #begin(
    tenant: string,
    goalId: string,
    make: (goal: Goal) => Put<GoalInput> | Refusal | Promise<Put<GoalInput> | Refusal>,
    response: ((goal: Goal, run: InspectedRun) => RememberedResponse) | undefined,
  ): Promise<Answer<{ readonly goal: Goal; readonly run: InspectedRun }> | undefined> {
    if (kindOfId(goalId) !== 'goal') return undefined
    let made: PendingWrite | undefined
    const put = async ({ state }: { readonly state: GoalState }) => {
      const asked = state.phase === 'absent' ? undefined : await make(state)
      made = asked && !('code' in asked) ? asked.born?.[0] : undefined
      return asked
    }
    const render =
      response && (({ state }: { readonly state: GoalState }) => response(state as Goal, inspectedRun(made!.loaded)))
    const answer = await this.writer.submit(goalId, { tenant, put }, render)
    if (!answer?.ok) return answer
    const [begun] = answer.born
    if (!begun || answer.value.state.phase === 'absent') return { ok: false, refusal: notBegun(goalId) }
    return { ok: true, value: { goal: answer.value.state, run: inspectedRun(begun.loaded) } }
  }

  async #put(
    tenant: string,
    goalId: string,
    make: (goal: Goal) => Put<GoalInput> | Refusal | Promise<Put<GoalInput> | Refusal>,
    response?: (goal: Goal) => RememberedResponse,
  ): Promise<Answer<Goal> | undefined> {
    if (kindOfId(goalId) !== 'goal') return undefined
    const put = ({ state }: { readonly state: GoalState }) => (state.phase === 'absent' ? undefined : make(state))
    const answer = await this.writer.submit(goalId, { tenant, put }, remembered(response))
    return answer && goalIn(answer)
  }

  /** A goal is taken up again when somebody has answered what it was escalated for (R-GOAL-7). */
  async #stillAsked(tenant: string, goalId: string): Promise<Refusal | undefined> {
    const goal = await this.find(tenant, goalId)
    if (goal?.mode.is !== 'escalated' || goal.work.is !== 'working') return undefined
    const { runId } = goal.work
    if (!(await escalationOf(this.deps, runId))) return undefined
    const message = `run ${runId} of this goal still waits for an answer; answer its interrupt, or cancel the run, and resume the goal then`
    return refuse('goal_not_active', message, { goalId, state: 'escalated', runId })
  }

  async runsOf(goalId: string, query: RunQuery & { readonly tenant: string }): Promise<RunRow[]> {
    const goal = await this.find(query.tenant, goalId)
    const rows: RunRow[] = []
    for (const runId of goal?.contributing.toReversed() ?? []) {
      if (rows.length >= query.limit) break
      if (query.before !== undefined && runId >= query.before) continue
      const row = await this.deps.store.readRun(query.tenant, runId)
      if (row && isAskedFor(row, query)) rows.push(row)
    }
    return rows
  }

  async readEvents(...[tenant, goalId, ...range]: Parameters<GoalAdmin['readEvents']>) {
    return (await this.find(tenant, goalId)) && this.deps.store.readEvents(goalId, ...range)
  }

  async follow(tenant: string, goalId: string, from: number, signal: AbortSignal) {
    const goal = await this.find(tenant, goalId)
    if (goal === undefined) return undefined
    const isHeard = goal.phase === 'ended' && from >= goal.next
    return isHeard ? nothingToFollow() : this.deps.followers.follow(goalId, from, signal)
  }

  /** A way to go on by itself needs something to run, and times that this host can keep. */
  #armProblem({ mode, arm }: Continuation, work: GoalWork | undefined): Refusal | undefined {
    if (arm.kind === 'manual') return undefined
    if (work === undefined)
      return refuse('goal_without_work', `${NO_RUN_OF_ITS_OWN} "${mode}"; ${SAY_WHAT}`, { field: 'assay.run' })
    if (arm.kind !== 'schedule') return undefined
    return untimely(this.deps, this.deps.settings.horizonMs, arm, { field: 'assay.arm', otherwise: 'goal_invalid' })
  }

  /** R-GOAL-2: the judge has to be there. Whether it still is when it is needed, its goal finds out then. */
  async #judgeProblem(tenant: string, { check, verifierRef, probes = [] }: Completion): Promise<Refusal | undefined> {
    const field = 'completion.verifierRef'
    if (check === 'host') {
      if (verifierRef !== null) return refuse('goal_invalid', HOST_NAMES_NONE, { field })
      return probes.length > 0 ? undefined : refuse('goal_invalid', NO_PROBES, { field: 'assay.judge.probes' })
    }
    if (probes.length > 0) return refuse('goal_invalid', PROBES_OF_HOST, { field: 'assay.judge.probes' })
    if (verifierRef === null) return refuse('goal_invalid', `${field} is missing; ${NAME_A_GATE}`, { field })
    const bound = await this.deps.standards.gate(tenant, verifierRef)
    if (bound === undefined) return refuse('goal_invalid', `${field} names no gate; ${NAME_A_GATE}`, { field })
    if (bound.gate.position.placement === 'goal') return undefined
    const message = `${field} names a gate whose position.placement is "${bound.gate.position.placement}"; ${NAME_A_GATE}`
    return refuse('goal_invalid', message, { field })
  }
}

const NAME_A_GATE = 'name a gate of this tenant whose position.placement is "goal" (POST /v1/host/assay/gates)'
const NO_PROBES =
  'assay.judge.probes is missing, and with completion.check "host" the host judges by its probes; give at least one, all of which must hold'
const PROBES_OF_HOST =
  'assay.judge.probes is for completion.check "host"; set that, or put the probes into the gate that completion.verifierRef names'
const HOST_NAMES_NONE =
  'completion.verifierRef names a gate, and with completion.check "host" none judges; remove it, or set check to "verifier"'
const NO_WORK =
  'this goal says nothing that could be run; give it assay.run with PATCH, or start a run that names it in metadata.goalId'

const NO_RUN_OF_ITS_OWN = 'assay.run is missing, and nothing could be run by continuation.mode'
const SAY_WHAT =
  'give assay.run {workflowId or agentId, inputs}, let goals.run be configured, or set the mode to "manual"'

const unknownGoal = (goalId: string): Refusal =>
  refuse('goal_invalid', `metadata.goalId "${goalId}" names no goal; see GET /v1/goals`, { field: 'metadata.goalId' })

const notBegun = (goalId: string): Refusal =>
  refuse('goal_busy', 'the goal has changed meanwhile, and no run was begun; try again', { goalId })

const isAskedFor = (
  { status, workflowId, parentRunId, tags }: RunRow,
  { status: statuses, workflowId: workflow, parentRunId: parent, tag }: RunQuery,
): boolean =>
  (statuses === undefined || statuses.includes(status)) &&
  (workflow === undefined || workflow === workflowId) &&
  (parent === undefined || parent === parentRunId) &&
  (tag === undefined || tags.includes(tag))

/** R-GOAL-9: what is written of a goal is kept without secrets. */
function keptOf<Texts extends Partial<Pick<NewGoal, 'objective' | 'continuation'>>>(
  texts: Texts,
  { text }: GoalSettings['redact'],
): Texts {
  const { objective, continuation } = texts
  return {
    ...texts,
    ...(objective === undefined ? {} : { objective: text(objective) }),
    ...(continuation
      ? { continuation: { ...continuation, armRef: continuation.armRef && text(continuation.armRef) } }
      : {}),
  }
}

function goalIn(answer: StandingAnswer<GoalState>): Answer<Goal> {
  if (!answer.ok) return answer
  const { state } = answer.value
  if (state.phase === 'absent') throw new Error(`stream ${answer.value.streamId} holds no goal`)
  return { ok: true, value: state }
}

const remembered = (response: ((goal: Goal) => RememberedResponse) | undefined) =>
  response && (({ state }: { readonly state: GoalState }) => response(state as Goal))
