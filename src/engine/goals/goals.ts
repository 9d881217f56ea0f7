import type { GoalEffect } from '../../core/goal/effects.js'
import type { GoalEdits } from '../../core/goal/events.js'
import { BREAKER, type Completion } from '../../core/goal/goal.js'
import type { GoalInput } from '../../core/goal/input.js'
import type { Goal, GoalState } from '../../core/goal/state.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { kindOfId, streamId, streamWorkflow } from '../../core/standing/stream.js'
import type { Answer, CreateRun, GoalAdmin, GoalQuery, InspectedRun, NewGoal } from '../api.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'
import { inspectedRun } from '../runtime/run-writer.js'
import type { StreamGround } from '../standing/standing.js'
import type { Put } from '../standing/stream-kind.js'
import type { StandingAnswer, StreamWriter } from '../standing/stream-writer.js'
import type { GoalDeps } from './deps.js'
import { goalKind, statusesOf } from './goal-kind.js'
import { escalationOf } from './goal-runs.js'
import { contribution, requestFor } from './work.js'

type Writer = StreamWriter<GoalState, GoalInput, GoalEffect>

/** Makes room for goals in an engine, before it is started. */
export const createGoals = (ground: StreamGround, deps: Omit<GoalDeps, 'starter' | 'runs' | 'cache'>): GoalAdmin => {
  const { starter, runs, cache } = ground
  const whole = { ...deps, starter, runs, cache }
  return new Goals(ground.standing.open(goalKind(whole)), whole)
}

class Goals implements GoalAdmin {
  constructor(
    private readonly writer: Writer,
    private readonly deps: GoalDeps,
  ) {}

  async create(wanted: NewGoal, response?: (goal: Goal) => RememberedResponse): Promise<Answer<Goal>> {
    const { owner, completion, continuation, bounds, breaker = BREAKER, ...others } = wanted
    const problem = await this.#judgeProblem(owner.tenant, completion)
    if (problem) return { ok: false, refusal: problem }
    const goalId = streamId('goal', this.deps.ids.run())
    const input = {
      type: 'CreateGoal' as const,
      goalId,
      check: completion.check,
      mode: continuation.mode,
      bounds,
      breaker,
      owner,
      completion,
      continuation,
      ...others,
    }
    return goalIn(await this.writer.create(goalId, owner.tenant, () => ({ input }), remembered(response)))
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

  async edit(tenant: string, goalId: string, edits: GoalEdits): Promise<Answer<Goal> | undefined> {
    const problem = edits.completion && (await this.#judgeProblem(tenant, edits.completion))
    if (problem) return { ok: false, refusal: problem }
    return this.#put(tenant, goalId, { type: 'EditGoal', ...edits })
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
    return this.#put(tenant, goalId, { type: types[command] }, response)
  }

  async run(tenant: string, goalId: string): Promise<Answer<{ goal: Goal; runId: string }> | undefined> {
    const answer = await this.#begin(tenant, goalId, goal =>
      goal.runs
        ? contribution(this.deps, goal, requestFor(goal, goal.runs), { by: 'hand' })
        : refuse('goal_without_work', NO_WORK, { goalId }),
    )
    const [begun] = answer?.ok ? answer.born : []
    if (!answer?.ok) return answer
    if (!begun || answer.value.state.phase === 'absent') return { ok: false, refusal: notBegun(goalId) }
    return { ok: true, value: { goal: answer.value.state, runId: begun.append.runId } }
  }

  async contribute(goalId: string, request: CreateRun): Promise<Answer<InspectedRun>> {
    const answer = await this.#begin(request.tenant, goalId, goal =>
      contribution(this.deps, goal, request, { by: 'name' }),
    )
    if (answer === undefined) return { ok: false, refusal: unknownGoal(goalId) }
    if (!answer.ok) return answer
    const [begun] = answer.born
    return begun ? { ok: true, value: inspectedRun(begun.loaded) } : { ok: false, refusal: notBegun(goalId) }
  }

  async #begin(
    tenant: string,
    goalId: string,
    make: (goal: Goal) => Put<GoalInput> | Refusal | Promise<Put<GoalInput> | Refusal>,
  ): Promise<StandingAnswer<GoalState> | undefined> {
    if (kindOfId(goalId) !== 'goal') return undefined
    const put = ({ state }: { readonly state: GoalState }) => (state.phase === 'absent' ? undefined : make(state))
    return this.writer.submit(goalId, { tenant, put })
  }

  async #put(
    tenant: string,
    goalId: string,
    input: GoalInput,
    response?: (goal: Goal) => RememberedResponse,
  ): Promise<Answer<Goal> | undefined> {
    if (kindOfId(goalId) !== 'goal') return undefined
    const answer = await this.writer.submit(goalId, { tenant, put: () => ({ input }) }, remembered(response))
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

const unknownGoal = (goalId: string): Refusal =>
  refuse('goal_invalid', `metadata.goalId "${goalId}" names no goal; see GET /v1/goals`, { field: 'metadata.goalId' })

const notBegun = (goalId: string): Refusal =>
  refuse('goal_busy', 'the goal has changed meanwhile, and no run was begun; try again', { goalId })

function goalIn(answer: StandingAnswer<GoalState>): Answer<Goal> {
  if (!answer.ok) return answer
  const { state } = answer.value
  if (state.phase === 'absent') throw new Error(`stream ${answer.value.streamId} holds no goal`)
  return { ok: true, value: state }
}

const remembered = (response: ((goal: Goal) => RememberedResponse) | undefined) =>
  response && (({ state }: { readonly state: GoalState }) => response(state as Goal))
