import { type Static, type TSchema, Type } from 'typebox'
import type { Arm } from '../../core/arm/arm.js'
import { leftNano, usdOfNano } from '../../core/goal/money.js'
import { deadlineOf, type Goal, type Verdict, type Work } from '../../core/goal/state.js'
import type { JsonObject } from '../../core/json.js'
import { OneOf } from '../../core/schema/kinds.js'
import { Timestamp } from '../ids.js'

const OrNull = <Schema extends TSchema>(schema: Schema, more: { readonly description?: string } = {}) =>
  Type.Union([schema, Type.Null()], more)

const Amount = Type.Number({ minimum: 0 })

/** What this host knows of a goal beyond the protocol's Goal, which has no room for it. */
export const GoalDetailsAnswer = Type.Object({
  goalId: Type.String(),
  version: Type.Integer({ description: 'Rises when what is judged is edited; an older verdict decides nothing' }),
  paused: Type.Boolean(),
  work: OneOf(['idle', 'held', 'working', 'judging'], {
    description: 'What it is at: `held` until something that could not be begun is tried again',
  }),
  heldUntil: OrNull(Timestamp),
  iterations: Type.Object({
    reserved: Type.Integer({ minimum: 0, description: 'What `bounds.maxLoopIterations` is held against' }),
    finished: Type.Integer({ minimum: 0, description: '`progress.iterations`' }),
    left: OrNull(Type.Integer({ minimum: 0 })),
  }),
  deadline: OrNull(Timestamp),
  spend: Type.Object({
    spentUsd: Amount,
    heldUsd: Type.Number({ minimum: 0, description: 'Of ended runs, of which nobody knows whether it was spent' }),
    leftUsd: OrNull(Amount, { description: 'Less what open runs were granted; null without maxCostUsd' }),
  }),
  openRuns: Type.Array(
    Type.Object({
      runId: Type.String(),
      role: OneOf(['work', 'judge']),
      grantUsd: OrNull(Amount, { description: 'The most it may spend' }),
      stopping: Type.Boolean(),
    }),
  ),
  next: Type.Object({
    tick: OrNull(Timestamp),
    dueAt: OrNull(Timestamp, { description: 'The tick, with its jitter' }),
    owed: Type.Integer({ minimum: 0, description: 'Ticks that have come and are to have a run' }),
  }),
  escalation: OrNull(
    Type.Object({
      reason: Type.String(),
      runId: Type.Optional(Type.String()),
      depth: Type.Optional(Type.Integer({ minimum: 0, description: 'How many runs below it somebody is asked' })),
    }),
  ),
  verdict: OrNull(
    Type.Object({
      runId: Type.String(),
      satisfied: Type.Boolean(),
      score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'How much of what is asked was met' })),
      verification: OrNull(Type.Object({ runId: Type.String(), artifactId: Type.String() })),
    }),
    { description: 'The latest' },
  ),
  best: OrNull(
    Type.Object({
      runId: Type.String(),
      score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'How much of what is asked was met' })),
      verified: Type.Boolean({ description: 'Whether the judge was satisfied with it' }),
      verification: OrNull(Type.Object({ runId: Type.String(), artifactId: Type.String() })),
    }),
    { description: 'The best attempt so far' },
  ),
  assay: Type.Object({
    run: OrNull(Type.Unsafe<JsonObject>({ type: 'object' })),
    arm: OrNull(Type.Unsafe<JsonObject>({ type: 'object' })),
    judge: Type.Object({
      escalateAfterSame: Type.Integer({ minimum: 0 }),
      probes: Type.Optional(Type.Array(Type.Unsafe<JsonObject>({ type: 'object' }))),
    }),
  }),
})
export type GoalDetailsAnswer = Static<typeof GoalDetailsAnswer>

const iso = (at: number): string => new Date(at).toISOString()

export function renderGoalDetails(goal: Goal): GoalDetailsAnswer {
  const { bounds, reserved, finished, mode, arm, best, runs } = goal
  const deadline = deadlineOf(goal)
  const left = leftNano(goal)
  return {
    goalId: goal.goalId,
    version: goal.version,
    paused: mode.is === 'paused',
    work: goal.work.is,
    heldUntil: heldUntil(goal.work),
    iterations: {
      reserved,
      finished,
      left: bounds.maxLoopIterations === undefined ? null : Math.max(0, bounds.maxLoopIterations - reserved),
    },
    deadline: Number.isFinite(deadline) ? iso(deadline) : null,
    spend: {
      spentUsd: usdOfNano(goal.spentNano),
      heldUsd: usdOfNano(goal.heldNano),
      leftUsd: Number.isFinite(left) ? usdOfNano(left) : null,
    },
    openRuns: goal.open.map(({ runId, role, grantNano, isStopping = false }) => ({
      runId,
      role,
      grantUsd: grantNano === undefined ? null : usdOfNano(grantNano),
      stopping: isStopping,
    })),
    next: {
      tick: arm.at.phase === 'set' ? iso(arm.at.tick) : null,
      dueAt: arm.at.phase === 'set' ? iso(arm.at.dueAt) : null,
      owed: arm.owed.length,
    },
    escalation: mode.is === 'escalated' ? mode.why : null,
    verdict: goal.verdict && { ...foundIn(goal.verdict), satisfied: goal.verdict.satisfied },
    best: best && { ...foundIn(best), verified: best.satisfied },
    assay: {
      run: (runs as JsonObject | undefined) ?? null,
      arm: renderArm(arm.arm),
      judge: {
        escalateAfterSame: goal.breaker,
        ...(goal.completion.probes ? { probes: [...goal.completion.probes] as unknown as JsonObject[] } : undefined),
      },
    },
  }
}

function heldUntil(work: Work): string | null {
  if (work.is === 'held') return iso(work.until)
  return work.is === 'judging' && work.judge.is === 'held' ? iso(work.judge.until) : null
}

const foundIn = ({ runId, score, record }: Verdict) => ({
  runId,
  ...(score === undefined ? undefined : { score }),
  verification: record ? { runId: record.runId, artifactId: record.artifactId } : null,
})

/** As `assay.arm` is written. */
function renderArm(arm: Arm): JsonObject | null {
  if (arm.kind !== 'schedule') return null
  const { cron, timezone, missed, jitterMs } = arm
  return {
    cron,
    timezone,
    missed: missed.policy,
    ...(missed.policy === 'all' ? { maxMissed: missed.most } : undefined),
    jitterSeconds: jitterMs / 1_000,
  }
}
