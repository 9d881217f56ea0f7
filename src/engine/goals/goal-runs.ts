import type { GoalEscalation } from '../../core/goal/events.js'
import type { GoalInput, Said } from '../../core/goal/input.js'
import { escalationIn, isJudgeable, waitingBelow } from '../../core/goal/run-outcome.js'
import type { Goal, OpenRun } from '../../core/goal/state.js'
import type { Ended } from '../../core/run/state.js'
import type { VerificationRecord } from '../../core/verification/record.js'
import { GOAL_JUDGE_NODE } from '../../core/workflow/nodes/judge.js'
import { planNodeOf } from '../../core/workflow/plan.js'
import { sha256OfJson } from '../../digest.js'
import { decode } from '../log/encode.js'
import { sequenceOf } from '../queries/artifacts.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import type { Put } from '../standing/stream-kind.js'
import type { GoalDeps } from './deps.js'

/** How deep somebody who is asked is looked for. */
const MOST_DEPTH = 16

/** Looks what has become of a run of the goal: its end, and its waiting for someone, wake the goal in the same commit. */
export async function watchGoalRun(deps: GoalDeps, goal: Goal, run: OpenRun): Promise<Put<GoalInput> | undefined> {
  const loaded = await runOf(deps, run.runId)
  if (loaded?.state.phase === 'ended') return { input: await endedInput(deps, loaded, loaded.state, run) }
  const mayEscalate = run.role === 'work' && goal.work.is === 'working' && goal.mode.is !== 'escalated'
  const found = mayEscalate ? await escalationOf(deps, run.runId) : undefined
  return found && { input: { type: 'RunEscalates', runId: run.runId, ...found } }
}

/** Passes a stop on to a run. Its own end reports back through watching it. */
export async function stopGoalRun({ runs }: GoalDeps, { runId }: OpenRun): Promise<undefined> {
  await runs.submit(runId, { type: 'CancelRun', by: 'host', reason: 'goal-stopped' })
}

const runOf = ({ runs, cache }: GoalDeps, runId: string): Promise<LoadedRun | undefined> => {
  const slot = cache.enter(runId)
  return slot.runExclusive(() => runs.load(slot))
}

/** Why somebody is asked by a run, or by one below it, where that stops a goal. */
export async function escalationOf(
  deps: GoalDeps,
  runId: string,
  depth = 0,
): Promise<{ reason: GoalEscalation; depth: number } | undefined> {
  const loaded = await runOf(deps, runId)
  if (loaded?.state.phase !== 'active') return undefined
  const reason = escalationIn(loaded.rules.plan, loaded.state)
  if (reason !== undefined) return { reason, depth }
  if (depth >= MOST_DEPTH) return undefined
  for (const childRunId of waitingBelow(loaded.state)) {
    const below = await escalationOf(deps, childRunId, depth + 1)
    if (below) return below
  }
  return undefined
}

async function endedInput(
  deps: GoalDeps,
  loaded: LoadedRun,
  state: Ended,
  { role, runId }: OpenRun,
): Promise<GoalInput> {
  const { outcome, spend, held } = state
  const told = {
    type: 'RunEnded' as const,
    runId,
    outcome: outcome.status,
    spentNano: spend?.costNano ?? 0,
    heldNano: held?.costNano ?? 0,
  }
  if (role === 'judge') return { ...told, said: await saidBy(deps, loaded, state) }
  return { ...told, judgeable: isJudgeable(state), fingerprint: fingerprintOf(state) }
}

/** Of what has come of a run: the same result, or the same failure, has the same. */
function fingerprintOf({ outcome }: Ended): string {
  if (outcome.status === 'completed') return sha256OfJson(['completed', outcome.outputs])
  return sha256OfJson(outcome.status === 'failed' ? ['failed', outcome.error.code] : ['cancelled'])
}

/** A judge that failed, or could not decide, has said nothing. */
async function saidBy(deps: GoalDeps, { runId, rules }: LoadedRun, { outcome, nodes }: Ended): Promise<Said> {
  const at = planNodeOf(rules.plan, GOAL_JUDGE_NODE)?.index
  const node = at === undefined ? undefined : nodes[at]
  if (outcome.status !== 'completed' || node?.is !== 'completed') return { verdict: 'none' }
  const { verdict, artifactId, confidence } = node.outputs
  if (verdict !== 'pass' && verdict !== 'conditional_pass' && verdict !== 'fail') return { verdict: 'none' }
  const record = typeof artifactId === 'string' ? await judgeRecord(deps, runId, artifactId) : undefined
  return {
    // R-DWS-37
    verdict: verdict === 'fail' ? 'fail' : 'pass',
    ...(typeof confidence === 'number' ? { confidence } : {}),
    ...(record ? { score: scoreOf(record) } : {}),
    ...(typeof artifactId === 'string' ? { record: { runId, artifactId } } : {}),
  }
}

/** Everything that a judge has found. */
export async function judgeRecord(
  { store }: Pick<GoalDeps, 'store'>,
  runId: string,
  artifactId: string,
): Promise<VerificationRecord | undefined> {
  const sequence = sequenceOf(artifactId)
  const [row] = sequence === undefined ? [] : await store.readEvents(runId, sequence, 1)
  const event = row && decode(runId, row)
  if (event?.type !== 'artifact.created' || !event.secret) return undefined
  return event.secret.content as unknown as VerificationRecord
}

/** How much of what the gate asks was met, from 0 to 1. */
function scoreOf({ criteria }: VerificationRecord): number {
  if (criteria.length === 0) return 0
  return criteria.filter(({ passed }) => passed).length / criteria.length
}
