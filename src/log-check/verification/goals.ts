import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { chainsIn, phaseOf } from '../handoff/chains.js'
import { behindMask } from '../interrupt/questions.js'
import { get, show } from '../json.js'
import { attemptsThatHandOut, hasCompleted, type NodeAttempt, nodeAttemptOf } from '../node/node-attempts.js'
import { turnsOf } from '../orchestrator/turns.js'
import { placeOf, verificationAttemptsOf } from './verification-attempts.js'

/** Whether a run has reached what it was for. */
export const goalRules: readonly Rule[] = [
  {
    id: 'L25',
    title: 'A run whose orchestrator ended it with a criterion that is not met has not reached its goal',
    source: 'agents R-VERIFY-19, RELIABILITY L25',
    checks: eachRun((run, say) => {
      const end = run.events.find(({ type }) => type === 'run.completed')
      if (end?.payload.goalSatisfied === true && criteriaOf(run)?.some(isMissed))
        say('a give-up counts as success', end)
    }),
  },
  {
    id: 'L25a',
    title:
      'A run that completes says whether it has reached its goal, if anybody has said anything about that: only when every criterion is met and nothing was left with a verdict that is no pass',
    source: 'agents R-VERIFY-12, R-VERIFY-19, §11.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const end = run.events.find(({ type }) => type === 'run.completed')
      if (end === undefined) return
      const due = isReached(run, end)
      // Without the secrets a reader cannot see which worker gave up.
      if (end.payload.goalSatisfied === false && run.events.every(({ raw }) => raw.secret === undefined)) return
      if (end.payload.goalSatisfied !== due)
        say(`goalSatisfied is ${show(end.payload.goalSatisfied)}, not ${show(due)}`, end)
    }),
  },
]

const isMissed = (criterion: unknown): boolean => get(criterion, 'met') === false

/** Of the decision that ended the orchestrator's loop, as it was carried out. */
function criteriaOf(run: RunLog): readonly unknown[] | undefined {
  const last = turnsOf(run).findLast(({ nodeAttempt }) => hasCompleted(nodeAttempt))
  if (last?.nodeAttempt.end === undefined) return undefined
  const decision = get(behindMask(last.nodeAttempt.end, 'outputs'), 'decision') ?? last.decision
  const criteria = get(decision, 'kind') === 'terminate' ? get(decision, 'successCriteria') : undefined
  return Array.isArray(criteria) ? criteria : undefined
}

type Standing = {
  /** Gate, node and worker. */
  readonly work: string
  readonly verdict: unknown
  /** Where the work began. */
  readonly since: number
}

/** Undefined where there was no gate, or where work is missing altogether. */
function isReached(run: RunLog, { sequence }: LoggedEvent): boolean | undefined {
  const criteria = criteriaOf(run)
  const latest = new Map<string, Standing>()
  let isPassed = false
  for (const verification of verificationAttemptsOf(run)) {
    const { node, gateId, point, started, verdicts } = verification
    const verdict = verdicts.findLast(event => event.sequence < sequence)?.payload.verdict
    if (verdict === undefined) continue
    isPassed ||= point === 'run' && verdict === 'pass'
    // The gates at the exit have let the run end.
    if (point === 'run') continue
    const work = `${gateId}/${node}/${String(started.payload.workerId)}`
    const since = nodeAttemptOf(run, started)?.start.sequence ?? 0
    latest.set(`${placeOf(run, verification)}/${gateId}`, { work, verdict, since })
  }
  const all = [...latest.values()]
  // The same worker may have succeeded when the work was handed to it again.
  const isMadeUp = ({ work, since }: Standing) =>
    all.some(other => other.verdict === 'pass' && other.work === work && other.since > since)
  if (all.some(standing => standing.verdict !== 'pass' && !isMadeUp(standing)) || hasGivenUp(run)) return false
  if (criteria !== undefined) return !criteria.some(isMissed)
  return (isPassed || all.some(({ verdict }) => verdict === 'pass')) && !isWorkMissing(run) ? true : undefined
}

const lastRounds = (run: RunLog): NodeAttempt[] => [
  ...new Map(
    attemptsThatHandOut(run)
      .filter(hasCompleted)
      .map(nodeAttempt => [nodeAttempt.node, nodeAttempt]),
  ).values(),
]

/** A worker says itself that it has not reached its goal, and has not made up for that since. */
function hasGivenUp(run: RunLog): boolean {
  const latest = new Map<string, boolean>()
  for (const nodeAttempt of attemptsThatHandOut(run)) {
    const seen: unknown[] = []
    for (const { workerId, events } of chainsIn(run, nodeAttempt)) {
      const ended = events.find(event => phaseOf(event) === 'child.completed')
      const place = `${nodeAttempt.node}/${workerId}/${seen.filter(other => other === workerId).length}`
      seen.push(workerId)
      if (ended !== undefined) latest.set(place, get(ended.raw.secret, 'goalSatisfied') === false)
    }
  }
  return [...latest.values()].includes(true)
}

/** A worker failed, or what it brought was not accepted, and the run went on without it. */
const isWorkMissing = (run: RunLog): boolean =>
  lastRounds(run).some(({ end }) =>
    ['failed', 'cancelled'].includes(String(get(get(end?.payload, 'outputs'), 'childStatus'))),
  )
