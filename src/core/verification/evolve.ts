import { NOTHING_SPENT, plus } from '../budget/budget.js'
import { handedTo, type WorkerState } from '../handoff/state.js'
import { failure } from '../problem.js'
import type { Recorded } from '../run/events.js'
import type { NodeState } from '../run/state.js'
import { gatingIn, type OnGate, type OnWorkers, type Reviewed, reviewed } from '../run/waiting.js'
import { callIn, occurrenceOf, placeOfSlot, slotOf } from './attempt.js'
import { costOfAttempt } from './cost.js'
import type { GateFact } from './events.js'
import { labelTold } from './label.js'
import type { AttemptMade, Cost, Gated, Slot, Staged, VerificationAttempt, VerifierState } from './state.js'
import { judgedIn } from './tally.js'

type Of<Type extends GateFact['type']> = Extract<Recorded, { type: Type }>
export type GateEvent = Of<GateFact['type']>

const TYPES: ReadonlySet<string> = new Set<GateFact['type']>([
  'assay.result.staged',
  'dws.verification.started',
  'assay.verifier.began',
  'assay.verifier.started',
  'assay.verifier.ended',
  'assay.verification.held',
  'assay.verification.resumed',
  'assay.verification.confirming',
  'dws.verification.finding_issued',
  'dws.verification.verdict_rendered',
  'agent.verified',
  'assay.rework.began',
  'assay.result.withheld',
])

export const isGateEvent = (event: Recorded): event is GateEvent => TYPES.has(event.type)

/** Folds an event of a gate into the node whose result it judges. */
export function evolveReview(before: Reviewed, event: GateEvent): Reviewed {
  if (event.type === 'dws.verification.started')
    return event.secret ? { ...before, hold: { is: 'voting', gating: begun(event, event.secret) } } : before
  const gating = gatingIn(before)
  if (gating) return judging(before, gating, event)
  if (event.type !== 'assay.verification.held' && event.type !== 'assay.verification.resumed') return before
  const { attempt, round } = event.payload
  const due = event.type === 'assay.verification.held' ? { dueAt: event.at + event.payload.retryInMs } : {}
  return { ...before, hold: { is: 'inspecting', attempt, round, ...due } }
}

/** The same while a gate is at work. */
function judging(before: Reviewed, gating: VerificationAttempt, event: GateEvent): Reviewed {
  switch (event.type) {
    case 'assay.verification.held':
      if (event.payload.proceeds) return passed(before, gating)
      return { ...before, hold: { is: 'held', gating, dueAt: event.at + event.payload.retryInMs } }
    case 'assay.verification.resumed':
      return { ...before, hold: { is: 'voting', gating: resumed(gating) } }
    case 'assay.verification.confirming':
      return { ...before, hold: { is: 'voting', gating: confirming(gating, event) } }
    case 'assay.verifier.began':
    case 'assay.verifier.started':
    case 'assay.verifier.ended':
      return regating(before, judged(gating, event))
    case 'dws.verification.verdict_rendered':
      // Nothing waits for the word of a gate that does not block.
      return event.payload.proceeds
        ? passed(noted(before, event), gating)
        : regating(noted(before, event), {
            ...gating,
            rendered: Number(event.payload.resultArtifactId.slice('art-'.length)),
          })
    case 'agent.verified':
      if (!event.secret) return before
      if (before.on === 'gate' && before.point === 'none') return passed(surely(before, event), gating)
      return event.payload.verdict === 'pass' ? passed(before, gating) : before
    case 'assay.result.withheld':
      return event.secret && before.on === 'workers' ? withheld(before, event, event.secret.worker) : before
    default:
      return before
  }
}

/** The same stage of the review, with what the gate has come to since. */
const regating = (before: Reviewed, gating: VerificationAttempt): Reviewed =>
  before.hold && 'gating' in before.hold ? { ...before, hold: { ...before.hold, gating } } : before

type StagedSecret = NonNullable<Of<'assay.result.staged'>['secret']>

export const stagedBy = (
  { targetRef: target }: Of<'assay.result.staged'>['payload'],
  { subject, result }: StagedSecret,
): Staged => ({ target, subject, result, cleared: [] })

/** What is known of an agent's result besides the result itself. */
export const resultOf = ({ confidence, edited }: StagedSecret) => ({
  ...(confidence === undefined ? {} : { confidence }),
  ...(edited ? { edited } : {}),
})

function begun(
  { payload, sequence }: Of<'dws.verification.started'>,
  secret: NonNullable<Of<'dws.verification.started'>['secret']>,
): VerificationAttempt {
  const { worker, gate, evidence, licence, effectiveVotes, subject, context } = secret
  const { contextHash } = payload
  return {
    started: sequence,
    gate,
    ...(worker === undefined ? {} : { worker }),
    attempt: payload.attempt,
    target: payload.targetRef,
    subject,
    resultHash: payload.resultHash,
    dimensions: payload.criteria,
    evidence,
    ...(licence ? { licence } : {}),
    ...(effectiveVotes === undefined ? {} : { effectiveVotes }),
    round: 1,
    firstRound: 1,
    verifiers: Array.from({ length: payload.verifiers }, () => IDLE),
    ...(context ? { context } : {}),
    ...(contextHash === undefined ? {} : { contextHash }),
  }
}

const IDLE: VerifierState = { is: 'idle' }

/** R-DWS-36: those that gave no vote are asked again; votes stand. */
function resumed(gating: VerificationAttempt): VerificationAttempt {
  const verifiers = gating.verifiers.map(judge => (judge.is === 'faulted' ? IDLE : judge))
  return { ...gating, verifiers, round: gating.round + 1 }
}

/** The votes of the targeted round stand; others are asked for what it has left out. */
const confirming = (
  gating: VerificationAttempt,
  { payload: { criteria, round, verifiers } }: Of<'assay.verification.confirming'>,
): VerificationAttempt => ({
  ...gating,
  targeted: { dimensions: gating.dimensions, verifiers: gating.verifiers },
  dimensions: criteria,
  round,
  firstRound: round,
  verifiers: Array.from({ length: verifiers }, () => IDLE),
})

function judged(
  gating: VerificationAttempt,
  event: Of<'assay.verifier.began' | 'assay.verifier.started' | 'assay.verifier.ended'>,
) {
  const { verifier } = event.payload
  const verifiers = gating.verifiers.map((each, k) => (k === verifier ? judgeAfter(each, event) : each))
  const spent = event.type === 'assay.verifier.ended' ? event.secret?.spent : undefined
  return { ...gating, verifiers, ...(spent ? { spent: plus(gating.spent ?? NOTHING_SPENT, spent) } : {}) }
}

function judgeAfter(
  before: VerifierState,
  event: Of<'assay.verifier.began' | 'assay.verifier.started' | 'assay.verifier.ended'>,
): VerifierState {
  switch (event.type) {
    case 'assay.verifier.began':
      return { is: 'starting', began: event.sequence, ...(event.secret?.grant ? { grant: event.secret.grant } : {}) }
    case 'assay.verifier.started':
      return before.is === 'starting' ? { ...before, is: 'running', childRunId: event.payload.childRunId } : before
    case 'assay.verifier.ended': {
      const { agentId, fault = 'no_vote', childRunId } = event.payload
      const { vote, weight = 1, unchecked, findings } = event.secret ?? {}
      if (vote) return { is: 'voted', vote }
      const said = { ...(unchecked ? { unchecked } : {}), ...(findings ? { findings } : {}) }
      const run = childRunId === undefined ? {} : { childRunId }
      return { is: 'faulted', fault: { agentId, weight, code: fault, ...run, ...said } }
    }
  }
}

/** The gate lets the result pass; whatever stands behind it has its turn. */
function passed(before: Reviewed, { gate, worker }: VerificationAttempt): Reviewed {
  const { hold: _, ...node } = before
  if (node.on === 'gate') return { ...node, staged: { ...node.staged, cleared: [...node.staged.cleared, gate] } }
  const clear = (state: WorkerState, k: number): WorkerState =>
    k === worker && state.is === 'completed' ? { ...state, cleared: [...(state.cleared ?? []), gate] } : state
  return { ...node, workers: node.workers.map(clear) }
}

/** How sure the judge of a goal is of its verdict. */
const surely = (before: Trial, { payload: { confidence } }: Of<'agent.verified'>): Trial =>
  before.judged && confidence !== undefined ? { ...before, judged: { ...before.judged, confidence } } : before

type Trial = Extract<OnGate, { readonly point: 'none' }>

/** A trial is there for what its gate says. */
function noted(before: Reviewed, { payload }: Of<'dws.verification.verdict_rendered'>): Reviewed {
  if (before.on !== 'gate' || before.point !== 'none') return before
  return { ...before, judged: { verdict: payload.dwsVerdict, artifactId: payload.resultArtifactId } }
}

/** What the worker brought stays where it is; whoever handed the work over hears that it failed. */
function withheld(before: OnWorkers, { payload }: Of<'assay.result.withheld'>, worker: number): OnWorkers {
  const { hold: _, ...node } = before
  const { gateId, attempt, criteriaFailed, criteria, targetRef, verdict } = payload
  const told =
    verdict === 'fail'
      ? `gave up after ${attempt} attempt${attempt === 1 ? '' : 's'}: ${criteriaFailed} of ${criteria} criteria not met`
      : `sent back: ${criteriaFailed} of ${criteria} criteria not met`
  const error = failure('verification_failed', `gate "${gateId}" ${told}`, {
    retryable: false,
    details: { gateId, attempt, verdict, criteriaFailed, criteria },
  })
  const fail = (state: WorkerState, k: number): WorkerState =>
    k === worker ? { is: 'done', status: 'failed', childRunId: targetRef, error } : state
  return { ...node, workers: node.workers.map(fail) }
}

/** What a place's gate has said, after this. */
export function evolveSlots(gated: Gated, told: NodeState, event: GateEvent): Gated['slots'] {
  if (
    event.type !== 'dws.verification.verdict_rendered' &&
    event.type !== 'agent.verified' &&
    !(event.type === 'assay.verification.held' && event.payload.proceeds)
  )
    return gated.slots
  const { gates, slots } = gated
  const node = reviewed(told)
  const gating = gatingIn(node)
  const bound = gating && gates[gating.gate]
  if (!node || !bound || (node.on === 'gate' && node.point === 'none')) return slots
  const worker = workerIn(node, gating)
  const point = node.on === 'gate' ? node.point : 'harvest'
  const call = callIn(node)
  const key = slotOf(bound.gate.gate_id, event.nodeId, { point, ...worker, ...call })
  const known = slots[key]
  const { target } = gating
  const cost = costOfAttempt(gated, placeOfSlot(key), gating)
  const before: Slot = {
    ...known,
    gateId: bound.gate.gate_id,
    nodeId: event.nodeId,
    ...(worker === undefined ? {} : { workerId: worker.workerId }),
    ...(call === undefined ? {} : { returned: gating.subject }),
    ...(point === 'run' ? { atExit: true } : {}),
    since: node.since,
    target,
    criteria: judgedIn(gating),
    attempts: known?.attempts ?? [],
  }
  if (event.type === 'dws.verification.verdict_rendered') {
    if (!event.secret) return slots
    const { standing, failed } = event.secret
    const made = { ...standing, resultHash: event.payload.resultHash, failed, cost }
    return { ...slots, [key]: { ...before, attempts: [...before.attempts, made] } }
  }
  // What became of it without anybody's judgement was an attempt, too.
  const made = before.attempts.length < gating.attempt ? [...before.attempts, unjudged(gating, cost)] : before.attempts
  if (event.type !== 'agent.verified') return { ...slots, [key]: { ...before, attempts: made } }
  // R-VERIFY-21: the latest verdict is the one that counts.
  const { verdict, criteria: judgedBy = [] } = event.payload
  const attempts = verdict === 'revise' ? sentBack(made) : made
  const failed = verdict === 'pass' ? [] : (attempts.at(-1)?.failed ?? [])
  const criteria = failed.length > 0 ? failed : judgedBy
  const { label: _, ...others } = before
  const label = labelTold(event.payload, event.secret?.label)
  return { ...slots, [key]: { ...others, attempts, verdict, criteria, ...(label ? { label } : {}) } }
}

/** Marks the latest attempt as sent back: another one follows. */
const sentBack = (made: readonly AttemptMade[]): AttemptMade[] =>
  made.map((attempt, k) => (k === made.length - 1 ? { ...attempt, isSentBack: true } : attempt))

const unjudged = ({ attempt, resultHash }: VerificationAttempt, cost: Cost): AttemptMade => ({
  attempt,
  blocking: 0,
  score: 0,
  resultHash,
  failed: [],
  cost,
  isUnjudged: true,
})

/** Which of the node's workers it is about, if it is about one. */
export const workerIn = (node: Reviewed, { worker }: VerificationAttempt) =>
  node.on === 'workers' && worker !== undefined
    ? { workerId: handedTo(node, worker), occurrence: occurrenceOf(node.wait.workers, worker) }
    : undefined

/**
 * A node that begins its work anew begins its attempts anew, unless it was told to do the same work again: then its
 * attempts are used up all the same (R-DWS-22). What was said of it before still stands.
 */
export function renewSlots(slots: Slots, nodeId: string): Slots {
  if (!Object.values(slots).some(slot => isOf(slot, nodeId))) return slots
  const renewed = Object.entries(slots).map(([key, slot]) => [
    key,
    isOf(slot, nodeId) ? { ...slot, attempts: [] } : slot,
  ])
  return Object.fromEntries(renewed)
}

type Slots = Gated['slots']

const isOf = (slot: Slot, nodeId: string): boolean =>
  slot.nodeId === nodeId && slot.attempts.length > 0 && !slot.atExit && slot.verdict !== 'revise'

/** Verifiers belong to the run that started them: whoever branches off it starts its own. */
export const orphanedVerifiers = (gating: VerificationAttempt): VerificationAttempt => ({
  ...gating,
  verifiers: gating.verifiers.map(judge => {
    if (judge.is !== 'running') return judge
    const { began, grant } = judge
    return { is: 'starting', began, ...(grant ? { grant } : {}) }
  }),
})
