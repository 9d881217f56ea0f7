import type { Static, TSchema } from 'typebox'
import { scheduleArmOf, scheduleArmProblems } from '../arm/schedule-document.js'
import { isObject, type Json, type JsonObject, own } from '../json.js'
import { type Refusal, refuse } from '../problem.js'
import { firstFew } from '../schema/first-few.js'
import { type Document, type FurtherRules, readAs } from '../schema/problems.js'
import type { Probe } from '../verification/gate.js'
import type { GoalEdits } from './events.js'
import {
  BREAKER,
  type Completion,
  type Continuation,
  type GoalBounds,
  type GoalWork,
  OFFERED_MODES,
  type OfferedMode,
} from './goal.js'
import { GoalEditSchema, GoalSchema, type GoalWorkWritten } from './goal-schema.js'
import type { Goal } from './state.js'

/** Reads what somebody wants of a goal. Everything is checked here that can be told without looking at the host. */

export type GoalDocument = {
  readonly objective: string
  readonly completion: Completion
  readonly continuation: Continuation
  readonly bounds: GoalBounds
  readonly breaker: number
  readonly work?: GoalWork
}

/** What is to change; what is absent stays. */
export type GoalChanges = Omit<GoalEdits, 'continuation'> & {
  readonly continuation?: Omit<Continuation, 'arm'>
  readonly arm?: Continuation['arm']
}

/** Knows what probes there are; where a document comes from says which of them it may have. */
export type ReadProbes = (written: Json, field: string) => Document<readonly Probe[]>

type Written = Static<typeof GoalSchema>
type EditWritten = Static<typeof GoalEditSchema>
type ArmWritten = Parameters<typeof scheduleArmOf>[0]

/** `code` is `goal_invalid` (422), and `validation_error` (400) for a mode that is not offered (R-GOAL-20). */
export function readGoal(raw: JsonObject, readProbes: ReadProbes): GoalDocument | Refusal {
  const written = read<Written>(GoalSchema, raw, OWNED_AT_CREATION, boundsProblems)
  if ('code' in written) return written
  const { objective, completion, continuation, bounds, assay = {} } = written
  const { run, judge } = assay
  const probes = judge?.probes && readProbes(judge.probes, 'assay.judge')
  if (probes && !probes.ok) return invalid(probes.problems)
  const whole = continuationOf(asMode(continuation), armOf(assay.arm))
  if ('code' in whole) return whole
  return {
    objective,
    completion: { ...completionOf(completion), ...(probes ? { probes: probes.value } : {}) },
    continuation: whole,
    bounds,
    breaker: judge?.escalateAfterSame ?? BREAKER,
    ...(run ? { work: workOf(run) } : {}),
  }
}

export function readGoalEdit(raw: JsonObject): GoalChanges | Refusal {
  const written = read<EditWritten>(GoalEditSchema, raw, OWNED, somethingProblems)
  if ('code' in written) return written
  const { objective, completion, continuation, assay: { run, arm } = {} } = written
  const given = armOf(arm)
  return {
    ...(objective === undefined ? {} : { objective }),
    ...(completion ? { completion: completionOf(completion) } : {}),
    ...(continuation ? { continuation: asMode(continuation) } : {}),
    ...(given ? { arm: given } : {}),
    ...(run ? { work: workOf(run) } : {}),
  }
}

/** What a goal becomes by these changes: an arm that is not named is the one it has, where that fits the mode. */
export function editsOf(goal: Goal, { continuation, arm, ...rest }: GoalChanges): GoalEdits | Refusal {
  const others = withProbes(goal, rest)
  if (continuation === undefined && arm === undefined) return others
  const wanted = continuation ?? goal.continuation
  const had = goal.arm.arm.kind === wanted.mode && wanted.mode !== 'manual' ? goal.arm.arm : undefined
  const whole = continuationOf(wanted, arm ?? had)
  return 'code' in whole ? whole : { ...others, continuation: whole }
}

/** What the host judges by is fixed when a goal is made, and kept for as long as it is the host that judges. */
function withProbes<Edits extends Pick<GoalEdits, 'completion'>>(goal: Goal, edits: Edits): Edits {
  const { completion } = edits
  const { probes } = goal.completion
  return completion?.check === 'host' && probes ? { ...edits, completion: { ...completion, probes } } : edits
}

function read<T>(
  schema: TSchema,
  raw: JsonObject,
  owned: { readonly [name: string]: string },
  rules: FurtherRules<T>,
): T | Refusal {
  const told = firstFew(Object.keys(raw), name => {
    const why = own(owned, name)
    return why === undefined ? [] : [`${name} ${why}`]
  })
  if (told.length > 0) return invalid(told)
  const meant = misnamedBounds(raw)
  if (meant.length > 0) return invalid(meant)
  const document = readAs<T>(schema, raw, value => [
    ...rules(value),
    // As it was written: what is filled in contradicts nothing.
    ...assayProblems(raw as unknown as Pick<Written, 'assay'>),
  ])
  if (!document.ok) return invalid(document.problems)
  const mode = (document.value as { continuation?: { mode: string } }).continuation?.mode
  return mode === undefined || isOffered(mode) ? document.value : notOffered(mode)
}

const isOffered = (mode: string): mode is OfferedMode => (OFFERED_MODES as readonly string[]).includes(mode)

const notOffered = (mode: string): Refusal =>
  refuse(
    'validation_error',
    `continuation.mode is "${mode}", which this host does not offer; use one of ${OFFERED_MODES.join(', ')} (agents.goals.continuation of GET /.well-known/openwop).`,
    { field: 'continuation.mode', allowed: [...OFFERED_MODES] },
  )

/** All that is wrong; the message says the first of it. */
function invalid(problems: readonly string[]): Refusal {
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more: see details.problems)` : ''
  const field = /^[\w.[\]]+/.exec(problems[0] ?? '')?.[0]
  return refuse('goal_invalid', `${problems[0]}${more}.`, { ...(field === undefined ? {} : { field }), problems })
}

/** R-GOAL-3: what the host says of a goal is nobody's to set. */
const TOLD = {
  id: 'is given by the host; leave it out',
  state: 'follows from what the judge says and from what becomes of the goal, and cannot be set; leave it out',
  progress: 'is counted by the host and cannot be set; leave it out',
  lastVerdict: "is the judge's and cannot be set; leave it out",
  createdAt: 'is set by the host; leave it out',
  updatedAt: 'is set by the host; leave it out',
}
const OWNED_AT_CREATION = { ...TOLD, owner: 'is whoever the key belongs to that makes the goal; leave it out' }
const OWNED = {
  ...TOLD,
  owner: 'is whoever made the goal, and does not change; leave it out',
  bounds: 'are fixed when a goal is made, so that nobody can raise them; make another goal, or leave them out',
}

/** What other hosts and other parts of the protocol call the bounds. */
const MEANT: { readonly [name: string]: keyof GoalBounds } = {
  maxIterations: 'maxLoopIterations',
  iterations: 'maxLoopIterations',
  maxLoops: 'maxLoopIterations',
  maxRuns: 'maxLoopIterations',
  maxTurns: 'maxLoopIterations',
  timeoutMs: 'runTimeoutMs',
  maxDurationMs: 'runTimeoutMs',
  deadlineMs: 'runTimeoutMs',
  timeout: 'runTimeoutMs',
  maxCost: 'maxCostUsd',
  costUsd: 'maxCostUsd',
  budgetUsd: 'maxCostUsd',
  maxBudgetUsd: 'maxCostUsd',
  maxBudgetCostUsd: 'maxCostUsd',
}

function misnamedBounds({ bounds }: JsonObject): string[] {
  if (!isObject(bounds)) return []
  return firstFew(Object.keys(bounds), name => {
    const meant = own(MEANT, name)
    return meant === undefined ? [] : [`bounds.${name} is not a known field; did you mean bounds.${meant}?`]
  })
}

/** R-GOAL-4. */
const boundsProblems = ({ bounds }: Written): string[] =>
  Object.keys(bounds).length > 0
    ? []
    : ['bounds is empty; give at least one of maxLoopIterations, runTimeoutMs, maxCostUsd']

const somethingProblems = ({ assay = {}, ...others }: EditWritten): string[] =>
  Object.keys({ ...assay, ...others }).length > 0
    ? []
    : ['the request changes nothing; give objective, completion, continuation, assay.run or assay.arm']

const assayProblems = ({ assay: { arm } = {} }: Pick<Written, 'assay'>): string[] =>
  arm ? scheduleArmProblems(arm, 'assay.arm') : []

export const workOf = ({ workflowId, agentId, inputs = {} }: GoalWorkWritten): GoalWork =>
  workflowId === undefined ? { agentId: agentId as string, inputs } : { workflowId, inputs }

const completionOf = ({ check, verifierRef }: Written['completion']): Completion => ({
  check,
  verifierRef: (verifierRef as string | null | undefined) ?? null,
})

const asMode = (continuation: Written['continuation']): Omit<Continuation, 'arm'> => ({
  mode: continuation?.mode ?? 'manual',
  armRef: (continuation?.armRef as string | null | undefined) ?? null,
})

const armOf = (written: object | undefined) => written && scheduleArmOf(written as ArmWritten)

function continuationOf(
  { mode, armRef }: Omit<Continuation, 'arm'>,
  arm: Continuation['arm'] | undefined,
): Continuation | Refusal {
  if (mode === 'manual')
    return arm === undefined
      ? { mode, armRef, arm: { kind: 'manual' } }
      : invalid(['assay.arm is for continuation.mode "schedule", and this goal is started by hand; leave it out'])
  if (arm !== undefined) return { mode, armRef, arm }
  return invalid([
    `assay.arm is missing, which says when; give {"cron": "0 9 * * MON-FRI"}, or set continuation.mode to "manual"`,
  ])
}
