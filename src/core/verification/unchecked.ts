import type { Json } from '../json.js'
import { present } from '../present.js'
import { tellArtifact } from '../run/artifact.js'
import type { DecisionContext } from '../run/decision-context.js'
import { nodeAt } from '../run/state.js'
import type { PlanNode } from '../workflow/plan.js'
import { shownResult, subjectOf } from './attempt.js'
import { askedOf, settledBy } from './evidence.js'
import { attemptStanding } from './feedback.js'
import type { Gate } from './gate.js'
import { RESULT_ARTIFACT, recordOf } from './record.js'
import { boundGateAt, type VerificationAttempt } from './state.js'
import { answersOf, judgedIn } from './tally.js'
import type { ProbeResult, Unchecked } from './voting/judgement.js'
import { knownSoFar } from './voting/quorum.js'

/** What could not be checked of a result: an outcome of its own, which is never a pass and never the worker's fault. */
export function uncheckedIn(gate: Gate, gating: VerificationAttempt): readonly Unchecked[] {
  const { dimensions, evidence, context } = gating
  const byProbes = settledBy(gate, dimensions, evidence).unavailable.map(dimension => ({
    dimension,
    reason: reasonOf(evidence.filter(result => result.dimension === dimension)),
  }))
  const bySources =
    context?.ok === false
      ? askedOf(gate, dimensions).map(dimension => ({ dimension, reason: context.problem.reason }))
      : []
  const byVerifiers = answersOf(gating).flatMap(answer => answer?.unchecked ?? [])
  return [...byProbes, ...bySources, ...byVerifiers]
}

/** What the probes that could not find out say of it. */
function reasonOf(results: readonly ProbeResult[]): string {
  const told = results
    .filter(({ outcome }) => outcome === 'unavailable')
    .flatMap(({ probeId, evidence }) => evidence.map(({ ref, detail }) => `${probeId} at ${ref}: ${detail}`))
  return told.join('; ') || 'its probes said nothing'
}

/** The sources as they were shown, and their hash. */
export const contextOf = ({ context, contextHash }: VerificationAttempt) => ({
  ...(context?.ok ? { context: context.entries } : {}),
  ...(contextHash === undefined ? {} : { contextHash }),
})

/** Records all that is known of a result that nobody could judge; there is no verdict, and none is told. */
export function tellUnchecked(context: DecisionContext, planNode: PlanNode, gating: VerificationAttempt): string {
  const bound = boundGateAt(context.active, gating.gate)
  const { attempt, resultHash, target, dimensions, evidence, targeted, started: cause } = gating
  const nodeId = planNode.node.id
  const subject = present(subjectOf(nodeAt(context.active, planNode.index)), 'result before the gate')
  const answers = answersOf(gating)
  const settled = settledBy(bound.gate, dimensions, evidence)
  const judgement = knownSoFar(bound.gate, dimensions, { settled, answers })
  const record = recordOf({
    bound,
    attempt,
    placement: bound.gate.position.placement,
    nodeId,
    ...(subject.workerId === undefined ? {} : { workerId: subject.workerId }),
    ...(subject.toolId === undefined ? {} : { toolId: subject.toolId }),
    target,
    resultHash,
    output: shownResult(context.active, planNode, subject),
    evidence,
    rounds: [...(targeted ? [answersOf(targeted)] : []), answers],
    judgement,
    dimensions: judgedIn(gating),
    standing: attemptStanding(bound.gate, attempt, judgement),
    ...(gating.effectiveVotes === undefined ? {} : { effectiveVotes: gating.effectiveVotes }),
    ...(gating.spent ? { cost: gating.spent } : {}),
    ...contextOf(gating),
    unchecked: uncheckedIn(bound.gate, gating),
    isUndecided: true,
  }) as unknown as Json
  const told = { artifactType: RESULT_ARTIFACT, content: record, shown: record }
  return `art-${tellArtifact(context, nodeId, told, cause)}`
}
