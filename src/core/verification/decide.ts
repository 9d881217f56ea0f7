/**
 * The gate before a merge (contract agents §11, §23). Evidence first: what the host can find out by itself. Then the
 * verifiers that are still needed, each a run of its own that knows nothing but its bundle. The host counts; a model
 * never says what the verdict is. `hold` of the node that waits on workers, or on the gate, for its result to be
 * passed:
 *
 * | review     | entered by                          | left by, to                                                    |
 * |------------|-------------------------------------|----------------------------------------------------------------|
 * | (none)     | child.completed,                    | a gate is left: evidence is owed; Inspected: to voting,        |
 * |            | assay.result.staged, node.started   | inspecting                                                     |
 * |            | of a trial; a pass                  | no gate is left: released, or merged by the hand-off           |
 * | inspecting | assay.verification.held             | TimeCame: assay.verification.resumed; Inspected: as above      |
 * | voting     | dws.verification.started,           | decided: the verdict, below, or asking where a pass is in      |
 * |            | assay.verification.resumed,         | doubt                                                          |
 * |            | interrupt.resolved                  | undecided: assay.verification.held, to held, as often as the   |
 * |            |                                     | gate says; then to asking, or, where it does not block, on     |
 * |            |                                     | without a verdict                                              |
 * | held       | assay.verification.held             | TimeCame: assay.verification.resumed, to voting                |
 * | asking     | interrupt.requested                 | accept: pass; refine: revise; reject, or no answer: fail       |
 *
 * A targeted round that passes is followed by assay.verification.confirming, back to voting: what it has left out is
 * judged for the same result, in the same attempt, by fresh runs.
 *
 * | verdict  | told as                                | leads to                                                      |
 * |----------|----------------------------------------|---------------------------------------------------------------|
 * | pass     | agent.verified                         | the next gate, then `releaseStagedResult` or the merge        |
 * | revise   | agent.verified, assay.rework.began or  | the same work again with the findings; or the supervisor, who |
 * |          | assay.result.withheld                  | says who does it (`rework.ts`)                                |
 * | fail     | agent.verified; of a worker then       | nothing is merged: the worker, the node or the run has failed |
 * |          | assay.result.withheld, of a tool       | as `on_fail` says: to asking first, or a forced pass instead  |
 * |          | assay.tool.withheld                    |                                                               |
 * | (none)   | verdict_rendered with `proceeds`       | a trial, or what a gate that does not block has found         |
 *
 * | verifier   | entered by                          | left by, to                                                    |
 * |------------|-------------------------------------|----------------------------------------------------------------|
 * | idle       | dws.verification.started, .resumed  | assay.verifier.began, to starting; its own work: to faulted    |
 * | starting   | assay.verifier.began;               | ChildStarted: assay.verifier.started; ChildRefused: to faulted |
 * |            | assay.run.forked                    |                                                                |
 * | running    | assay.verifier.started              | ChildEnded: assay.verifier.ended, to voted or faulted          |
 * | voted      | assay.verifier.ended with a vote    | never: votes stand                                             |
 * | faulted    | assay.verifier.ended without one    | assay.verification.resumed: to idle                            |
 *
 *  I1  Where a gate blocks, nothing is merged without its pass over exactly that result, by its hash. The store checks
 *      it again (S10).
 *  I2  No evidence, no vote and no answer are never a pass, and asking again costs the worker none of its attempts.
 *  I3  What a probe found to be wrong is wrong, whatever anybody votes.
 *  I4  Nobody judges work of its own unless the gate allows it; a verifier is given its bundle, and no scope.
 *  I5  Attempts, rounds and reworks are bounded, and a bound never forces a merge. Work that was no better twice in a
 *      row is not sent back again where the gate says so.
 *  I6  Events tell keys and numbers; what was found is an artifact of the run.
 *  I7  Where a gate wants it (`confirm`), every dimension has been judged for exactly the result that is merged.
 */

import { backoff } from '../backoff.js'
import { roomFor } from '../budget/decide.js'
import type { OutcomeOf } from '../invocation/lifecycle.js'
import type { DecisionContext } from '../run/decision-context.js'
import { type Active, type NodeState, nodeAt } from '../run/state.js'
import { type OnGate, type Reviewed, reviewed } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import { attemptsOf, dimensionsOf, nextGate, type StagedSubject, slotOf, subjectOf } from './attempt.js'
import { requestApproval } from './escalate.js'
import type { VerificationHeld } from './events.js'
import { askedOf, settledBy } from './evidence.js'
import { type BoundGate, verifiersOf } from './gate.js'
import { type ContextTaken, takeContext } from './gate-context.js'
import { issueVerdict } from './issue-verdict.js'
import { releaseStagedResult } from './release.js'
import { boundGateAt, type VerificationAttempt } from './state.js'
import { isJudging, tallyVotes, verifiersToAsk } from './tally.js'
import { tellUnchecked, uncheckedIn } from './unchecked.js'
import { beginVerifiers } from './verifiers.js'
import type { Judgement, ProbeResult } from './voting/judgement.js'

/** What a gated node can do by itself now. */
type Move =
  | { readonly do: 'release'; readonly node: OnGate }
  | { readonly do: 'ask-verifiers'; readonly gating: VerificationAttempt }
  | {
      readonly do: 'issue-verdict'
      readonly gating: VerificationAttempt
      readonly subject: StagedSubject
      readonly judgement: Judgement
    }
  | { readonly do: 'hold'; readonly gating: VerificationAttempt }

export function gateMove(state: Active, { node: { id } }: PlanNode, told: NodeState): Move | undefined {
  const node = reviewed(told)
  const subject = node && subjectOf(node)
  if (!node || !subject || !state.gated || node.halted) return undefined
  // Workers' results are merged by their hand-off.
  if (!node.hold && node.on === 'gate')
    return nextGate(state, id, subject) === undefined ? { do: 'release', node } : undefined
  return node.hold?.is === 'voting' ? moveOf(state, subject, node.hold.gating) : undefined
}

function moveOf(state: Active, subject: StagedSubject, gating: VerificationAttempt): Move | undefined {
  if (gating.rendered !== undefined) return undefined
  const bound = boundGateAt(state, gating.gate)
  const found = tallyVotes(bound, gating)
  // What is not affordable only because of what others have set aside waits until they have settled.
  const isReady = verifiersToAsk(bound, gating).length > 0 && roomFor(state, { tokens: 1 }) !== 'not-yet'
  if (found === 'open') return isReady ? { do: 'ask-verifiers', gating } : undefined
  // Who is at work is heard first: what it finds belongs to the result, and what it costs is known only then.
  if (gating.verifiers.some(isJudging)) return undefined
  return found === 'undecided' ? { do: 'hold', gating } : { do: 'issue-verdict', gating, subject, judgement: found }
}

/** Takes the next step of a gate that has one to take. */
export function proceedGate(context: DecisionContext, planNode: PlanNode): void {
  const move = gateMove(context.active, planNode, nodeAt(context.active, planNode.index))
  switch (move?.do) {
    case 'release':
      return releaseStagedResult(context, planNode, move.node)
    case 'ask-verifiers':
      return beginVerifiers(context, planNode, move.gating)
    case 'issue-verdict':
      return issueVerdict(context, planNode, move.subject, move.gating, move.judgement)
    case 'hold':
      return hold(context, planNode, move.gating)
  }
}

/** R-DWS-36: no verdict. Wait and ask again those that gave no vote; then ask a person. */
function hold(context: DecisionContext, planNode: PlanNode, gating: VerificationAttempt): void {
  const { gate } = boundGateAt(context.active, gating.gate)
  const { attempt, round, firstRound, verifiers } = gating
  const { retries, retry_delay_ms, blocking } = gate.gate_behaviour
  const votes = verifiers.filter(({ is }) => is === 'voted').length
  const faults = verifiers.length - votes
  const told = { gateId: gate.gate_id, attempt, round, votes, faults }
  // Asking again helps only where a verifier gave no vote for a reason that may pass.
  const isPassing = verifiers.some(judge => judge.is === 'faulted' && !LASTING.has(judge.fault.code))
  if (round - firstRound < retries && isPassing) return tellHeld(context, planNode, told, retry_delay_ms)
  const isTrial = subjectOf(nodeAt(context.active, planNode.index))?.point === 'none'
  if (isTrial) return requestApproval(context, planNode, 'unsettled')
  const resultArtifactId = tellUnchecked(context, planNode, gating)
  const reason = uncheckedIn(gate, gating).length > 0 ? 'unchecked' : 'unsettled'
  if (blocking) return requestApproval(context, planNode, reason, { resultArtifactId })
  // Contract agents §29 A32: what does not block does not wait for a person either.
  tellHeld(context, planNode, { ...told, proceeds: true, resultArtifactId }, 0)
}

/** Why a verifier gives no vote that will be so the next time, too. */
const LASTING: ReadonlySet<string> = new Set([
  'self_verification',
  'unknown_agent',
  'recursion_limit_exceeded',
  'budget_model_denied',
  'prompt_variable_unresolved',
  'could_not_check',
  'context_missing',
  'context_hidden',
  'context_own_work',
  'context_too_large',
])

function tellHeld(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  told: Omit<VerificationHeld, 'retryInMs'>,
  delayMs: number,
): void {
  const payload = { ...told, retryInMs: backoff({ firstMs: delayMs }, told.round) }
  context.emit({ type: 'assay.verification.held', nodeId, payload, cause: context.active.next - 1 })
}

/** The time to ask again has come. */
export function resumeGate(context: DecisionContext, planNode: PlanNode, node: Reviewed): void {
  const nodeId = planNode.node.id
  const { hold: held } = node
  if (held?.is !== 'inspecting' && held?.is !== 'held') return
  const subject = subjectOf(node)
  const index = held.is === 'held' ? held.gating.gate : subject && nextGate(context.active, nodeId, subject)
  if (index === undefined) return
  const { attempt, round } = held.is === 'held' ? held.gating : held
  const payload = { gateId: boundGateAt(context.active, index).gate.gate_id, attempt, round: round + 1 }
  context.emit({ type: 'assay.verification.resumed', nodeId, payload, cause: context.active.next - 1 })
}

/** What evidence is wanted next, of what, by which gate. */
export type PendingInspection = {
  readonly bound: BoundGate
  readonly gate: number
  readonly subject: StagedSubject
  readonly attempt: number
  readonly round: number
  readonly dimensions: readonly string[]
}

export function pendingInspection(state: Active, nodeId: string, told: NodeState): PendingInspection | undefined {
  const node = reviewed(told)
  const inspection = node?.hold?.is === 'inspecting' ? node.hold : undefined
  if (!node || node.hold !== inspection || inspection?.dueAt !== undefined) return undefined
  const subject = subjectOf(node)
  const gate = subject && nextGate(state, nodeId, subject)
  if (subject === undefined || gate === undefined) return undefined
  const bound = boundGateAt(state, gate)
  const made = attemptsOf(state, slotOf(bound.gate.gate_id, nodeId, subject))
  const dimensions = dimensionsOf(bound, made)
  return { bound, gate, subject, attempt: made.length + 1, round: inspection?.round ?? 1, dimensions }
}

/** The evidence is in, and the result is about to be judged. */
export function inspected(context: DecisionContext, planNode: PlanNode, input: OutcomeOf<'Inspected'>): void {
  const wanted = pendingInspection(context.active, planNode.node.id, nodeAt(context.active, planNode.index))
  if (!wanted || !isMeant(wanted, input)) return
  const { bound, gate, subject, attempt, round, dimensions } = wanted
  const { gate_id, gate_behaviour, position } = bound.gate
  const settled = settledBy(bound.gate, dimensions, input.evidence)
  const { retries, retry_delay_ms } = gate_behaviour
  if (round <= retries && isWorthAsking(settled.unavailable, input.evidence)) {
    const told = { gateId: gate_id, attempt, round, votes: 0, faults: settled.unavailable.length }
    return tellHeld(context, planNode, told, retry_delay_ms)
  }
  const { evidence, resultHash, licence, effectiveVotes } = input
  const taken = contextGiven(context, planNode, wanted, input.contextHash)
  const asked = askedOf(bound.gate, dimensions)
  const isTrial = subject.point === 'none'
  context.emit({
    type: 'dws.verification.started',
    nodeId: planNode.node.id,
    payload: {
      gateId: gate_id,
      attempt,
      targetRef: subject.target,
      placement: isTrial && !subject.isForGoal ? 'trial' : position.placement,
      gateVersion: bound.version,
      gateHash: bound.hash,
      resultHash,
      blocking: gate_behaviour.blocking && !isTrial,
      point: subject.isForGoal ? 'goal' : subject.point,
      ...(subject.workerId === undefined ? {} : { workerId: subject.workerId }),
      criteria: dimensions,
      probes: evidence.length,
      probesFailed: evidence.filter(({ outcome }) => outcome === 'failed').length,
      // A criterion that evidence settles needs no model.
      verifiers: asked.length === 0 ? 0 : verifiersOf(bound.gate).length,
      ...(taken?.ok && input.contextHash !== undefined ? { contextHash: input.contextHash } : {}),
    },
    secret: {
      ...(subject.worker === undefined ? {} : { worker: subject.worker }),
      gate,
      evidence,
      ...(licence ? { licence } : {}),
      ...(effectiveVotes === undefined ? {} : { effectiveVotes }),
      subject: subject.sequence,
      ...(taken ? { context: taken } : {}),
    },
    cause: subject.sequence,
  })
}

/** Whether a probe may find out the next time what it could not find out now. */
const isWorthAsking = (unavailable: readonly string[], evidence: readonly ProbeResult[]): boolean =>
  evidence.some(
    ({ dimension, outcome, lasting }) => outcome === 'unavailable' && !lasting && unavailable.includes(dimension),
  ) || unavailable.some(dimension => !evidence.some(result => result.dimension === dimension))

/** What the verifiers of this attempt are given, which is what was hashed; a value that was hidden since is not. */
function contextGiven(
  { plan, active: state }: DecisionContext,
  { index }: PlanNode,
  { bound, subject }: PendingInspection,
  contextHash: string | undefined,
): ContextTaken | undefined {
  const node = reviewed(nodeAt(state, index))
  const taken = node && takeContext({ plan, state, bound, node, subject })
  if (!taken?.ok || contextHash !== undefined) return taken
  const ref = (bound.gate.context ?? []).join(', ')
  return { ok: false, problem: { code: 'context_hidden', ref, reason: `${ref} held what must not be seen` } }
}

const isMeant = ({ bound, attempt, round, subject }: PendingInspection, input: OutcomeOf<'Inspected'>): boolean =>
  bound.gate.gate_id === input.gateId &&
  attempt === input.attempt &&
  round === input.round &&
  subject.sequence === input.since
