import type { GoalWork } from '../core/goal/goal.js'
import type { Goal } from '../core/goal/state.js'
import type { Json, JsonObject } from '../core/json.js'
import { noQuotas } from '../core/quotas.js'
import type { GoalAdmin, NewGoal } from '../engine/api.js'
import type { Engine } from '../engine/runtime/engine.js'
import type { GoalSettings } from '../engine/goals/deps.js'
import { createGoals } from '../engine/goals/goals.js'
import type { Calendar } from '../engine/ports/calendar.js'
import { agentsDouble } from './agents.js'
import { type Rig, register } from './engine-rig.js'
import { boundGate } from './gates.js'
import { AGENT, answered } from './invocations.js'
import { settled } from './manual-clock.js'
import { inspectorDouble, predicatesDouble, standardsDouble } from './verification.js'
import type { Sketch } from './workflow.js'

/** What the verifiers of a goal's judge say, one judgement after the other; the last one stays. */
export type Verdicts = readonly ('pass' | 'fail' | 'none')[]

export const GOAL_GATE = boundGate({
  gate_id: 'done',
  position: { workflow_id: 'assay-goal-judge', phase_id: 'judge', placement: 'goal' },
  behaviour: { retries: 0 },
})

const NO_CALENDAR: Calendar = {
  hasZone: () => true,
  zones: () => [],
  ticks: () => ({ ticks: [], more: false, next: null }),
}

export const MET = { scores: { correctness: 10 }, findings: [] }
const EVIDENCE = { evidence_type: 'artifact_reference', ref: '/outputs', detail: 'it is not there' }
export const UNMET = {
  scores: { correctness: 1 },
  findings: [
    {
      dimension: 'correctness',
      classification: 'blocking',
      description: 'missing',
      evidence: [EVIDENCE],
    },
  ],
}

/** Agents of which the verifiers say what they are told to, and all others a thing of their own each time. */
export function judgingAgents(verdicts: Verdicts, result?: (nth: number) => Json) {
  let [judged, worked] = [0, 0]
  return agentsDouble({
    agents: { [AGENT]: {}, 'assay.verifier': {} },
    think: ({ role }) => {
      if (role !== 'verifier') return { said: answered(result?.(++worked) ?? `attempt ${++worked}`) }
      const verdict = verdicts[Math.min(judged, verdicts.length - 1)]
      judged += 1
      if (verdict === 'none') return { ok: false, code: 'provider_error', message: 'out of order', retryable: false }
      return { said: answered(verdict === 'pass' ? MET : UNMET) }
    },
  })
}

/** What the goals of tests run: the workflow `step`, which a test registers. */
const WORK: GoalWork = { workflowId: 'step', inputs: {} }

export const wanted = (more: Partial<NewGoal> = {}): NewGoal => ({
  owner: { tenant: 't1', principal: 'p' },
  objective: 'the checklist is complete',
  completion: { check: 'verifier', verifierRef: 'done' },
  continuation: { mode: 'manual', armRef: null, arm: { kind: 'manual' } },
  bounds: { maxLoopIterations: 3 },
  breaker: 0,
  work: WORK,
  ...more,
})

export const GOAL_SETTINGS: GoalSettings = {
  enabled: true,
  quotas: noQuotas,
  horizonMs: 366 * 86_400_000,
  redact: { text: text => text },
}

export const goalStandards = () => standardsDouble({ 'assay-goal-judge': [GOAL_GATE] })

/** Goals on an engine of the rig, which reaches the store as it is given. */
export function goalsOn(
  { clock, ids, store: own }: Rig,
  engine: Engine,
  store = own,
  calendar = NO_CALENDAR,
  inspector = inspectorDouble(),
  predicates = predicatesDouble(),
): GoalAdmin {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const filesLeft = () => async () => ({ is: 'unknown', why: 'nobody has files here' }) as const
  const standards = goalStandards()
  return createGoals(engine.ground, {
    store,
    clock,
    ids,
    log,
    standards,
    calendar,
    inspector,
    predicates,
    filesLeft,
    settings: GOAL_SETTINGS,
  })
}

/** A host with goals on the rig's store. */
export async function goalHost(
  rig: Rig,
  verdicts: Verdicts,
  {
    workflow,
    result,
    calendar,
    ...given
  }: Parameters<Rig['host']>[0] & {
    readonly workflow?: Sketch
    readonly result?: (nth: number) => Json
    readonly calendar?: Calendar
  } = {},
): Promise<GoalHost> {
  const engine = await rig.host({ agents: judgingAgents(verdicts, result), standards: goalStandards(), ...given })
  if (workflow) await register(engine, workflow)
  return { engine, goals: goalsOn(rig, engine, given.store, calendar, given.inspector, given.predicates) }
}

export type GoalHost = { readonly engine: Engine; readonly goals: GoalAdmin }

export async function made({ goals }: GoalHost, more: Partial<NewGoal> = {}): Promise<Goal> {
  const answer = await goals.create(wanted(more))
  if (!answer.ok) throw new Error('refusal' in answer ? answer.refusal.message : 'replayed')
  await settled()
  return answer.value
}

export async function ranOnce({ goals }: GoalHost, goalId: string): Promise<string | undefined> {
  const answer = await goals.run('t1', goalId)
  await settled()
  return answer?.ok ? answer.value.runId : undefined
}

/** The log of a goal, or of a run: types and what readers see. */
export async function toldIn(rig: Rig, id: string): Promise<{ type: string; payload: JsonObject; at: number }[]> {
  const events = await rig.store.readEvents(id, 0, 10_000)
  return events.map(({ type, payload, at }) => ({ type, payload: JSON.parse(payload) as JsonObject, at }))
}

export const stateOf = async ({ goals }: GoalHost, goalId: string): Promise<Goal> => {
  const goal = await goals.find('t1', goalId)
  if (!goal) throw new Error(`no goal ${goalId}`)
  return goal
}
