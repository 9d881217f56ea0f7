import { eachRun, type Fields, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { chainsIn, phaseOf } from '../handoff/chains.js'
import { behindMask } from '../interrupt/questions.js'
import { get, list, show } from '../json.js'
import { attemptsThatHandOut, hasCompleted, type NodeAttempt, nodeAttemptOf } from '../node/node-attempts.js'
import { turnsOf } from '../orchestrator/turns.js'
import {
  gatesOf,
  placeOf,
  positionOf,
  REWORK,
  type VerificationAttempt,
  verificationAttemptsOf,
} from './verification-attempts.js'

/** Whether a run has reached what it was for. */
export const goalRules: readonly Rule[] = [
  {
    id: 'L25',
    title: 'A run whose orchestrator ended it with a criterion that is not met has not reached its goal',
    source: 'agents R-VERIFY-19',
    checks: eachRun((run, say) => {
      const end = run.events.find(({ type }) => type === 'run.completed')
      if (end?.payload.goalSatisfied === true && criteriaOf(run)?.some(isMissed))
        say('a give-up counts as success', end)
    }),
  },
  {
    id: 'L25a',
    title:
      'A run that completes says that it has reached its goal where somebody said so and nothing stands against it, that it has not where something does, and nothing otherwise',
    source: 'agents R-VERIFY-12, R-VERIFY-19, §11.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const end = run.events.find(({ type }) => type === 'run.completed')
      if (end === undefined) return
      const due = isReached(run, end, !isBefore(run, 3))
      // Without the secrets a reader cannot see which worker gave up.
      if (end.payload.goalSatisfied === false && run.events.every(({ raw }) => raw.secret === undefined)) return
      // Nor which gates there are.
      const isUnknown = gatesOf(run) === undefined && standingsAt(run, end, true).length > 0 && due === undefined
      // A run that began under older rules may have ended under these.
      const isOlds = isBefore(run, 3) && end.payload.goalSatisfied === isReached(run, end, true)
      if (end.payload.goalSatisfied !== due && !isOlds && !(isUnknown && end.payload.goalSatisfied === true))
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
  readonly gateId: string | undefined
  /** Where the work began. */
  readonly since: number
  readonly blocking: boolean
  readonly verdict: unknown
  /** Nothing is left of it to hold against the run. */
  readonly isGood: boolean
  /** Of what a tool has brought: where it did. */
  readonly returned: number | undefined
}

/** docs/contract/verification.md, goalSatisfied. */
function isReached(run: RunLog, end: LoggedEvent, isNew: boolean): boolean | undefined {
  const criteria = criteriaOf(run)
  const all = standingsAt(run, end, isNew)
  // The same worker may have succeeded when the work was handed to it again.
  const isMadeUp = (standing: Standing) =>
    all.some(
      other =>
        other.isGood && other.work === standing.work && (other.since > standing.since || isInstead(other, standing)),
    )
  if (all.some(standing => !standing.isGood && !isMadeUp(standing)) || hasGivenUp(run, isNew)) return false
  if (criteria !== undefined && (criteria.length > 0 || !isNew)) return !criteria.some(isMissed)
  if (isWorkMissing(run)) return undefined
  if (!isNew) return all.some(({ verdict }) => verdict === 'pass') ? true : undefined
  // A gate over a tool says nothing of what is made of what the tool brings.
  const blocking = (gatesOf(run) ?? []).filter(
    gate => get(gate.gate_behaviour, 'blocking') !== false && positionOf(gate, 'tool_name') === undefined,
  )
  const hasPassed = (gate: Fields) => {
    const own = all.filter(({ gateId }) => gateId === gate.gate_id)
    return own.length > 0 && own.every(({ isGood }) => isGood)
  }
  const isSaid = turnsOf(run).length === 0 && blocking.length > 0 && blocking.every(hasPassed)
  return isSaid ? true : undefined
}

/** A result of a tool that was never given to the agent, and a later one of the same tool in its place. */
const isInstead = (other: Standing, { verdict, returned, since }: Standing): boolean =>
  verdict !== 'pass' && returned !== undefined && other.since === since && (other.returned ?? 0) > returned

/** Where the agent whose tool it was has begun: a node that does its work again begins anew. */
const agentBegan = (run: RunLog, { node, started }: VerificationAttempt): number =>
  run.events.findLast(
    ({ type, node: id, sequence, payload }) =>
      id === node &&
      sequence < started.sequence &&
      (type === 'node.started' || (type === REWORK && payload.point === 'node')),
  )?.sequence ?? 0

/** What was said last of each piece of work. */
function standingsAt(run: RunLog, { sequence }: LoggedEvent, isNew: boolean): Standing[] {
  const latest = new Map<string, Standing>()
  for (const verification of verificationAttemptsOf(run)) {
    const { node, gateId, point, started, verdicts, blocking } = verification
    const last = verdicts.findLast(event => event.sequence < sequence)
    if (last === undefined) continue
    const { verdict } = last.payload
    // A run that its exit has sent back does not end with that.
    if (point === 'run' && verdict !== 'pass') continue
    const isTools = point === 'tool'
    const work = `${gateId}/${node}/${String(started.payload.workerId)}`
    const began = isTools ? agentBegan(run, verification) : (nodeAttemptOf(run, started)?.start.sequence ?? 0)
    const since = point === 'run' ? 0 : began
    const isGood = verdict === 'pass' && !(isNew && isCompromised(verification, last))
    const returned = isTools ? started.sequence : undefined
    latest.set(`${placeOf(run, verification)}/${gateId}`, { work, gateId, since, blocking, verdict, isGood, returned })
  }
  return [...latest.values()]
}

/** Let through without a pass, or with a part of it. */
function isCompromised({ rendered, blocking }: VerificationAttempt, { payload }: LoggedEvent): boolean {
  if (!blocking) return false
  const keys = list(payload.criteria)
  if (keys.includes('human-override') || keys.includes('human-accepted')) return false
  const { label, judged } = rendered?.payload ?? {}
  return label === 'forced' || label === 'verified in part' || judged === 'part'
}

const lastRounds = (run: RunLog): NodeAttempt[] => [
  ...new Map(
    attemptsThatHandOut(run)
      .filter(hasCompleted)
      .map(nodeAttempt => [nodeAttempt.node, nodeAttempt]),
  ).values(),
]

const ENDS: readonly string[] = ['child.completed', 'child.failed']

const isGiveUp = ({ payload: { error } }: LoggedEvent): boolean =>
  [get(error, 'code'), get(get(error, 'details'), 'childError')].includes('verification_failed')

/** A worker, or one below it, has not reached its goal, and has not made up for that since. */
function hasGivenUp(run: RunLog, isNew: boolean): boolean {
  const latest = new Map<string, boolean>()
  for (const nodeAttempt of attemptsThatHandOut(run)) {
    const seen: unknown[] = []
    for (const { workerId, events } of chainsIn(run, nodeAttempt)) {
      const ended = events.find(event => ENDS.includes(phaseOf(event) ?? ''))
      const place = `${nodeAttempt.node}/${workerId}/${seen.filter(other => other === workerId).length}`
      seen.push(workerId)
      if (ended === undefined) continue
      if (phaseOf(ended) === 'child.completed') latest.set(place, get(ended.raw.secret, 'goalSatisfied') === false)
      else if (isNew && isGiveUp(ended)) latest.set(place, true)
    }
  }
  return [...latest.values()].includes(true)
}

/** A worker failed, or what it brought was not accepted, and the run went on without it. */
const isWorkMissing = (run: RunLog): boolean =>
  lastRounds(run).some(({ end }) =>
    ['failed', 'cancelled'].includes(String(get(get(end?.payload, 'outputs'), 'childStatus'))),
  )
