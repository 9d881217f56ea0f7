import type { HandoffRecorded } from '../../../src/core/handoff/events.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Recorded } from '../../../src/core/run/events.js'

/**
 * What is true of every log, be it told live, after a crash, as a replay or as a branch:
 * L20 one decision per turn, counted without gaps; L21 the chain of every worker; L22 no decision below the floor is
 * carried out unseen; L26 a breach is the end. Each entry says what is broken, and where.
 */
export function brokenLaws(log: readonly Recorded[], floor: number): string[] {
  return [...turnLaws(log), ...chainLaws(log), ...floorLaws(log, floor), ...doubtLaws(log), ...breachLaws(log)]
}

type Of<Type extends Recorded['type']> = Extract<Recorded, { type: Type }>

const isOf =
  <Type extends Recorded['type']>(type: Type) =>
  (event: Recorded): event is Of<Type> =>
    event.type === type

const decidedIn = (log: readonly Recorded[]) => log.filter(isOf('runOrchestrator.decided'))

/** Where a branch begins is a remark on the log and comes between any two events. */
const after = (log: readonly Recorded[], sequence: number) =>
  log.slice(sequence + 1).filter(({ type }) => type !== 'assay.run.forked')

function turnLaws(log: readonly Recorded[]): string[] {
  const decided = decidedIn(log)
  const skipped = decided.filter(({ payload }, i) => payload.iteration !== i + 1)
  const changed = decided.filter(({ payload }) => payload.agentId !== decided[0]!.payload.agentId)
  const completed = log.filter(isOf('node.completed')).filter(({ nodeId }) => nodeId === 'lead')
  const starts = log.filter(({ type, nodeId }) => type === 'node.started' && nodeId === 'lead')
  const crowded = starts.filter(({ sequence }, i) => {
    const until = starts[i + 1]?.sequence ?? Number.POSITIVE_INFINITY
    return decided.filter(one => one.sequence > sequence && one.sequence < until).length > 1
  })
  const last = completed.findIndex(({ payload }) => payload.outputs.route === 'done')
  return [
    ...skipped.map(({ sequence, payload }) => `L20 ${sequence}: turn ${payload.iteration} is out of its order`),
    ...changed.map(({ sequence }) => `R-ORCH-3 ${sequence}: another orchestrator decides`),
    ...crowded.map(({ sequence }) => `L20 ${sequence}: a turn with more than one decision`),
    ...(completed.length > decided.length ? ['L20: a turn without a decision'] : []),
    ...(last >= 0 && decided.length > last + 1 ? ['R-ORCH-5: a decision after the loop was left'] : []),
  ]
}

type Step = Recorded & { readonly payload: Readonly<HandoffRecorded> }

const BEFORE: { readonly [phase: string]: readonly string[] } = {
  'dispatch.succeeded': ['dispatch.began'],
  'dispatch.failed': ['dispatch.began'],
  'child.completed': ['dispatch.succeeded'],
  'child.failed': ['dispatch.succeeded'],
  'child.cancelled': ['dispatch.succeeded'],
  'output.harvested': ['child.completed'],
}
const WITH_ERROR = ['dispatch.failed', 'child.failed', 'child.cancelled']
const WITHOUT_CHILD = ['dispatch.began', 'dispatch.failed']

function chainLaws(log: readonly Recorded[]): string[] {
  const steps = log.filter(isOf('core.workflowChain.event')) as readonly Step[]
  const forks = log.filter(isOf('assay.run.forked')).map(({ sequence }) => sequence)
  const followed = new Map<number, number>()
  return steps.flatMap(step => {
    const { sequence, cause = -1, nodeId } = step
    const { phase, workerId, childRunId, error, harvestedKeys } = step.payload
    const source = log[cause]
    const wrong = (what: string) => [`L21 ${sequence} ${phase}: ${what}`]
    const problems = [
      ...(WITHOUT_CHILD.includes(phase) === (childRunId === undefined) ? [] : wrong('childRunId')),
      ...(WITH_ERROR.includes(phase) === (error !== undefined) ? [] : wrong('error')),
      ...((phase === 'output.harvested') === (harvestedKeys !== undefined) ? [] : wrong('harvestedKeys')),
    ]
    if (phase === 'dispatch.began') {
      const expected = nodeId === 'hand' ? 'runOrchestrator.decided' : 'node.started'
      return source?.type === expected ? problems : [...problems, ...wrong(`is due to ${source?.type}`)]
    }
    const before = steps.find(other => other.sequence === cause)
    if (!before || !BEFORE[phase]!.includes(before.payload.phase) || before.payload.workerId !== workerId)
      return [...problems, ...wrong(`does not follow ${before?.payload.phase} of ${before?.payload.workerId}`)]
    // A branch starts children of its own for the work that was under way.
    const earlier = followed.get(cause)
    const again = earlier !== undefined && !forks.some(fork => fork > earlier && fork < sequence)
    followed.set(cause, sequence)
    return again ? [...problems, ...wrong(`follows ${cause} a second time`)] : problems
  })
}

/** What a person has ratified is not doubted again. */
function floorLaws(log: readonly Recorded[], floor: number): string[] {
  return decidedIn(log).flatMap(({ sequence, cause, payload: { decision } }) => {
    const carriesOut = decision.kind === 'next-worker' || decision.kind === 'terminate'
    const ratified = log[cause ?? -1]?.type === 'interrupt.resolved'
    const doubtful = carriesOut && !ratified && decision.confidence !== undefined && decision.confidence < floor
    const [next] = after(log, sequence)
    if (next === undefined) return []
    const escalated = next.type === 'core.workflowChain.confidence-escalated'
    return escalated === doubtful ? [] : [`L22 ${sequence}: ${doubtful ? 'not ' : ''}escalated`]
  })
}

function doubtLaws(log: readonly Recorded[]): string[] {
  const escalated = log.filter(isOf('core.workflowChain.confidence-escalated'))
  return escalated.flatMap(({ sequence, cause, payload }) => {
    const { confidence, floor, originalDecision, workerId } = payload
    const wrong = (what: string) => [`L22 ${sequence}: ${what}`]
    const decided = log[cause ?? -1]
    const question = log.slice(sequence).find(({ type }) => type === 'interrupt.requested')
    const answer = log.slice(sequence).find(({ type }) => type === 'interrupt.resolved')
    const step = log.find(event => event.type === 'core.workflowChain.event' && event.cause === cause)
    const named = originalDecision.kind === 'next-worker' ? originalDecision.nextWorkerIds[0] : undefined
    return [
      ...(decided?.type === 'runOrchestrator.decided' ? [] : wrong('is not due to a decision')),
      ...(floor >= 0.5 && floor <= 1 && confidence < floor ? [] : wrong(`${confidence} is not below ${floor}`)),
      ...((originalDecision as JsonObject).confidence === confidence ? [] : wrong('another confidence')),
      ...(question === undefined || question.cause === sequence ? [] : wrong('is followed by another question')),
      ...(step === undefined || (answer && answer.sequence < step.sequence) ? [] : wrong('was carried out unseen')),
      ...(workerId === named ? [] : wrong('names another worker')),
    ]
  })
}

const CODES = ['run_timeout', 'loop_limit_exceeded', 'recursion_limit_exceeded']

function breachLaws(log: readonly Recorded[]): string[] {
  return log.filter(isOf('cap.breached')).flatMap(({ sequence, payload }) => {
    const { kind, limit, observed, nodeId } = payload
    const [next, ...more] = after(log, sequence)
    const wrong = (what: string) => [`L26 ${sequence}: ${what}`]
    const beyond = kind === 'loop-iterations' && nodeId === 'lead' && decidedIn(log).length > limit
    return [
      ...(next?.type === 'run.failed' && CODES.includes(next.payload.error.code) ? [] : wrong('is not the end')),
      ...(more.length === 0 ? [] : wrong('is followed by more than the end')),
      ...(kind !== 'loop-iterations' || observed === limit + 1 ? [] : wrong(`${observed} of ${limit}`)),
      ...(beyond ? wrong('a turn beyond the bound') : []),
    ]
  })
}
