import { type Static, Type } from 'typebox'
import { STATEMENT_KINDS, type Subject } from '../audit/statement.js'
import { MOST_ITERATIONS } from '../core/goal/goal.js'
import { type Json, sameJson } from '../core/json.js'
import { patternOf } from '../core/names.js'
import { Closed, ListOf, May, OneOf, Whole } from '../core/schema/kinds.js'

/**
 * What a certificate says of a goal, and nothing else: ids, times, words of a list, whole numbers. It is made of what the goal's
 * log has reserved: what was used, and what is possible at worst from that moment on. Money is in billionths of a dollar.
 */

export const CERTIFICATE_KIND = STATEMENT_KINDS.goalCertificate

/** Of the whole text. */
export const MAX_CERTIFICATE_BYTES = 64 * 1024

const Name = Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]{1,512}$' })
const RunId = Type.String({ pattern: patternOf('runId') })
const At = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$' })
const Count = Whole(0)

export const GoalCertificate = Closed({
  issuer: Closed({ hostId: Type.String({ pattern: patternOf('hostId') }), assay: Name, issuedAt: At }),
  goal: Closed({
    goalId: RunId,
    tenant: Name,
    createdAt: At,
    state: OneOf(['active', 'escalated', 'satisfied', 'abandoned', 'bound-exceeded']),
    /** Of a final closing. */
    closedAt: May(At),
  }),
  log: Closed({ events: Whole(1), head: Type.String({ pattern: '^(2\\.)?[A-Za-z0-9_-]{43}$' }) }),
  bounds: Closed({ maxLoopIterations: May(Whole(1)), deadline: May(At), maxCostNanoUsd: May(Count) }),
  used: Closed({
    /** Contributing runs that were ever begun, and those of them that have ended. */
    runs: Count,
    finished: Count,
    judgeRuns: Count,
    /** What ended runs took; what nobody knows the cost of counts as taken. */
    costNanoUsd: Count,
    lastBeganAt: May(At),
  }),
  /** Runs that have begun and not ended, and the most that each may still take. */
  open: ListOf(Closed({ runId: RunId, role: OneOf(['work', 'judge']), grantNanoUsd: May(Count) }), 0, 100),
  /** From this moment on, at worst. Null where nothing bounds it. */
  possible: Closed({
    /** Contributing runs that may still begin. */
    runs: Count,
    costNanoUsd: Type.Union([Count, Type.Null()]),
    /** Nothing begins at or after it. */
    beginsUntil: Type.Union([At, Type.Null()]),
  }),
})
export type GoalCertificate = Static<typeof GoalCertificate>

const grantsOf = ({ open }: Pick<GoalCertificate, 'open'>): number =>
  open.reduce((sum, { grantNanoUsd = 0 }) => sum + grantNanoUsd, 0)

const isFinal = ({ goal }: Pick<GoalCertificate, 'goal'>): boolean =>
  goal.state !== 'active' && goal.state !== 'escalated'

/** What is possible at worst, by what is bounded, used and under way. An escalated goal may be taken up again. */
export function possibleIn(told: Omit<GoalCertificate, 'possible' | 'issuer' | 'log'>): GoalCertificate['possible'] {
  const { bounds, used, goal } = told
  const { maxLoopIterations = MOST_ITERATIONS, maxCostNanoUsd, deadline } = bounds
  const left = maxCostNanoUsd === undefined ? null : Math.max(0, maxCostNanoUsd - used.costNanoUsd)
  if (isFinal(told))
    return { runs: 0, costNanoUsd: left === null ? null : grantsOf(told), beginsUntil: goal.closedAt ?? null }
  return { runs: Math.max(0, maxLoopIterations - used.runs), costNanoUsd: left, beginsUntil: deadline ?? null }
}

/**
 * What is wrong with what it says, by itself.
 *
 *  T1  No more contributing runs were begun than allowed, and as many are open as have not ended.
 *  T2  What was taken, and what open runs may take, is within the bound of money; under one, every open run has a grant.
 *  T3  Nothing began at the deadline or after it, nor after a final closing.
 *  T4  What is possible at worst follows from the rest.
 *  T5  The statement is about the log of this goal, and about nothing else.
 */
export function certificateContradictions(told: GoalCertificate, subject: readonly Subject[]): string[] {
  const { bounds, used, open, goal, possible } = told
  const { maxLoopIterations = MOST_ITERATIONS, maxCostNanoUsd, deadline } = bounds
  const working = open.filter(({ role }) => role === 'work').length
  const ends = [deadline, goal.closedAt].filter(at => at !== undefined)
  const { lastBeganAt } = used
  const isOver = maxCostNanoUsd !== undefined && used.costNanoUsd + grantsOf(told) > maxCostNanoUsd
  const lacks = maxCostNanoUsd !== undefined && open.some(({ grantNanoUsd }) => grantNanoUsd === undefined)
  const late = lastBeganAt !== undefined && (lastBeganAt >= (deadline ?? '~') || ends.some(at => lastBeganAt > at))
  const same = sameJson(possible, possibleIn(told))
  const about = sameJson(subject as Json, certificateSubjects(told) as Json)
  return [
    ...(used.runs > maxLoopIterations ? [`T1: ${used.runs} runs were begun of ${maxLoopIterations}`] : []),
    ...(used.runs - used.finished === working ? [] : ['T1: runs that have not ended are not the open ones']),
    ...(isOver ? ['T2: more money was taken and granted than there is'] : []),
    ...(lacks ? ['T2: an open run has no grant'] : []),
    ...(late ? ['T3: a run began when nothing might begin any more'] : []),
    ...(isFinal(told) === (goal.closedAt !== undefined)
      ? []
      : ['T3: it is closed finally, and not said when, or the other way']),
    ...(same ? [] : ['T4: what is possible does not follow from what is bounded and used']),
    ...(about ? [] : ['T5: the statement is about something else']),
  ]
}

export const certificateSubjects = ({ goal, log }: Pick<GoalCertificate, 'goal' | 'log'>): Subject[] => [
  { name: `goal/${goal.goalId}/log`, digest: { assayChain: log.head } },
]
