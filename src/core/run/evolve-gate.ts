import { NOTHING_SPENT, plus } from '../agent/budget.js'
import { failure } from '../problem.js'
import type { Recorded } from './event.js'
import type { GateFact } from './gate-event.js'
import { occurrenceOf, slotOf, type Waiting } from './gating.js'
import type { AttemptMade, Gating, JudgeState, NodeState, Slot, Told, WorkerState } from './state.js'

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
  'dws.verification.finding_issued',
  'dws.verification.verdict_rendered',
  'agent.verified',
  'assay.rework.began',
  'assay.result.withheld',
])

export const isGateEvent = (event: Recorded): event is GateEvent => TYPES.has(event.type)

/** Folds an event of a gate into the node whose result it judges. */
export function evolveGating(before: Waiting, event: GateEvent): NodeState {
  const { gating } = before
  switch (event.type) {
    case 'assay.result.staged': {
      const { point, targetRef } = event.payload
      return event.secret ? { ...before, staged: stagedBy(event, point, targetRef) } : before
    }
    case 'dws.verification.started':
      return event.secret ? { ...without(before, 'inspection'), gating: begun(event, event.secret) } : before
    case 'assay.verification.held': {
      const { attempt, round, retryInMs, proceeds } = event.payload
      if (gating && proceeds) return passed(before, gating)
      const dueAt = event.at + retryInMs
      if (gating) return { ...before, gating: { ...gating, dueAt } }
      return { ...before, inspection: { attempt, round, dueAt } }
    }
    case 'assay.verification.resumed':
      if (gating) return { ...before, gating: resumed(gating) }
      return { ...before, inspection: { attempt: event.payload.attempt, round: event.payload.round } }
    case 'assay.verifier.began':
    case 'assay.verifier.started':
    case 'assay.verifier.ended':
      return gating ? { ...before, gating: judged(gating, event) } : before
    case 'dws.verification.verdict_rendered':
      if (!gating) return before
      // Nothing waits for the word of a gate that does not block.
      return event.payload.proceeds
        ? passed(noted(before, event), gating)
        : { ...before, gating: { ...gating, rendered: Number(event.payload.resultArtifactId.slice('art-'.length)) } }
    case 'agent.verified':
      return gating && event.secret && event.payload.verdict === 'pass' ? passed(before, gating) : before
    case 'assay.result.withheld':
      return event.secret ? withheld(before, event, event.secret.worker) : before
    default:
      return before
  }
}

export const stagedBy = (
  { sequence, secret }: Of<'assay.result.staged'>,
  point: 'node' | 'run' | 'none',
  target: string,
) => ({ at: sequence, point, target, cleared: [], ...secret! })

function begun(
  { payload, sequence }: Of<'dws.verification.started'>,
  { worker, gate, evidence, licence, effectiveVotes, subject }: NonNullable<Of<'dws.verification.started'>['secret']>,
): Gating {
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
    judges: Array.from({ length: payload.verifiers }, () => IDLE),
  }
}

const IDLE: JudgeState = { is: 'idle' }

/** R-DWS-36: those that gave no vote are asked again; votes stand. */
function resumed(gating: Gating): Gating {
  const { dueAt: _, ...others } = gating
  const judges = gating.judges.map(judge => (judge.is === 'faulted' ? IDLE : judge))
  return { ...others, judges, round: gating.round + 1 }
}

function judged(gating: Gating, event: Of<'assay.verifier.began' | 'assay.verifier.started' | 'assay.verifier.ended'>) {
  const { verifier } = event.payload
  const judges = gating.judges.map((judge, k) => (k === verifier ? judgeAfter(judge, event) : judge))
  const spent = event.type === 'assay.verifier.ended' ? event.secret?.spent : undefined
  return { ...gating, judges, ...(spent ? { spent: plus(gating.spent ?? NOTHING_SPENT, spent) } : {}) }
}

function judgeAfter(
  before: JudgeState,
  event: Of<'assay.verifier.began' | 'assay.verifier.started' | 'assay.verifier.ended'>,
): JudgeState {
  switch (event.type) {
    case 'assay.verifier.began':
      return { is: 'starting', began: event.sequence, ...(event.secret?.grant ? { grant: event.secret.grant } : {}) }
    case 'assay.verifier.started':
      return before.is === 'starting' ? { ...before, is: 'running', childRunId: event.payload.childRunId } : before
    case 'assay.verifier.ended': {
      const { agentId, fault = 'no_vote', childRunId } = event.payload
      if (event.secret?.vote) return { is: 'voted', vote: event.secret.vote }
      const run = childRunId === undefined ? {} : { childRunId }
      return { is: 'faulted', fault: { agentId, weight: event.secret?.weight ?? 1, code: fault, ...run } }
    }
  }
}

/** The gate lets the result pass; whatever stands behind it has its turn. */
export function passed(before: Waiting, { gate, worker }: Gating): Waiting {
  const { gating: _, ...node } = before
  if (worker === undefined)
    return node.staged ? { ...node, staged: { ...node.staged, cleared: [...node.staged.cleared, gate] } } : node
  const clear = (state: WorkerState, k: number): WorkerState =>
    k === worker && state.is === 'completed' ? { ...state, cleared: [...(state.cleared ?? []), gate] } : state
  return { ...node, workers: (node.workers ?? []).map(clear) }
}

/** A trial is there for what its gate says. */
function noted(before: Waiting, { payload }: Of<'dws.verification.verdict_rendered'>): Waiting {
  if (before.staged?.point !== 'none') return before
  const judged = { verdict: payload.dwsVerdict, artifactId: payload.resultArtifactId }
  return { ...before, staged: { ...before.staged, judged } }
}

/** What the worker brought stays where it is; whoever handed the work over hears that it failed. */
function withheld(before: Waiting, { payload }: Of<'assay.result.withheld'>, worker: number): Waiting {
  const { gating: _, ...node } = before
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
  return { ...node, workers: (node.workers ?? []).map(fail) }
}

/** What a place's gate has said, after this. */
export function evolveSlots(state: Told, node: NodeState | undefined, event: GateEvent): Told['slots'] {
  if (
    event.type !== 'dws.verification.verdict_rendered' &&
    event.type !== 'agent.verified' &&
    !(event.type === 'assay.verification.held' && event.payload.proceeds)
  )
    return state.slots
  const gating = node?.is === 'waiting' ? node.gating : undefined
  const bound = gating && state.gates?.[gating.gate]
  if (!gating || !bound || node?.is !== 'waiting' || node.staged?.point === 'none') return state.slots
  const worker = workerIn(node, gating)
  const point = worker === undefined ? (node.staged?.point ?? 'node') : 'harvest'
  const key = slotOf(bound.gate.gate_id, event.nodeId, { point, ...worker })
  const known = state.slots?.[key]
  const { target } = gating
  const before: Slot = {
    ...known,
    gateId: bound.gate.gate_id,
    nodeId: event.nodeId,
    ...(worker === undefined ? {} : { workerId: worker.workerId }),
    ...(point === 'run' ? { atExit: true } : {}),
    since: node.since,
    target,
    criteria: gating.dimensions,
    attempts: known?.attempts ?? [],
  }
  if (event.type === 'dws.verification.verdict_rendered') {
    if (!event.secret) return state.slots
    const made = { ...event.secret.standing, resultHash: event.payload.resultHash, failed: event.secret.failed }
    return { ...state.slots, [key]: { ...before, attempts: [...before.attempts, made] } }
  }
  // What became of it without anybody's judgement was an attempt, too.
  const made = before.attempts.length < gating.attempt ? [...before.attempts, unjudged(gating)] : before.attempts
  if (event.type !== 'agent.verified') return { ...state.slots, [key]: { ...before, attempts: made } }
  // R-VERIFY-21: the latest verdict is the one that counts.
  const { verdict, criteria: judgedBy = [] } = event.payload
  const attempts = verdict === 'revise' ? [...made.slice(0, -1), { ...made.at(-1)!, isSentBack: true as const }] : made
  const failed = verdict === 'pass' ? [] : (attempts.at(-1)?.failed ?? [])
  const criteria = failed.length > 0 ? failed : judgedBy
  return { ...state.slots, [key]: { ...before, attempts, verdict, criteria } }
}

const unjudged = ({ attempt, resultHash }: Gating): AttemptMade => ({
  attempt,
  blocking: 0,
  score: 0,
  resultHash,
  failed: [],
  isUnjudged: true,
})

/** Which of the node's workers it is about, if it is about one. */
export const workerIn = ({ wait }: Waiting, { worker }: Gating) =>
  worker === undefined || wait.kind !== 'handoff'
    ? undefined
    : { workerId: wait.workers[worker]!, occurrence: occurrenceOf(wait.workers, worker) }

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

type Slots = NonNullable<Told['slots']>

const isOf = (slot: Slot, nodeId: string): boolean =>
  slot.nodeId === nodeId && slot.attempts.length > 0 && !slot.atExit && slot.verdict !== 'revise'

/** Verifiers belong to the run that started them: whoever branches off it starts its own. */
export const orphanedJudges = (gating: Gating, away: number): Gating => ({
  ...gating,
  judges: gating.judges.map(judge => {
    if (judge.is !== 'running') return judge
    const { began, grant } = judge
    return { is: 'starting', began, ...(grant ? { grant } : {}) }
  }),
  ...(gating.dueAt === undefined ? {} : { dueAt: gating.dueAt + away }),
})

function without<Key extends keyof Waiting>(node: Waiting, key: Key): Omit<Waiting, Key> & { is: 'waiting' } {
  const { [key]: _, ...others } = node
  return others as Omit<Waiting, Key> & { is: 'waiting' }
}
