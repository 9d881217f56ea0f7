import type { Sight } from '../journal/place.js'
import type { Json } from '../json.js'
import { present } from '../present.js'
import type { Effect } from '../run/effects.js'
import type { Active } from '../run/state.js'
import { gatingIn, type Reviewed } from '../run/waiting.js'
import { VERIFICATION, VERIFIER_WORKFLOW } from '../workflow/nodes/verify.js'
import type { Plan, PlanNode } from '../workflow/plan.js'
import { type StagedSubject, shownResult, subjectOf } from './attempt.js'
import { bundleOf } from './bundle.js'
import { pendingInspection } from './decide.js'
import { askedOf } from './evidence.js'
import { takeContext } from './gate-context.js'
import { boundGateAt, type VerificationAttempt } from './state.js'
import { isJudging, verifierAt } from './tally.js'
import { answerSchema } from './voting/answer-schema.js'

/** What the world owes a gate: evidence first, then the runs of its verifiers. */
export function verificationEffects(plan: Plan, planNode: PlanNode, node: Reviewed, state: Active): Effect[] {
  const gating = gatingIn(node)
  if (gating) return owedToJudges(planNode, node, gating, state)
  const nodeId = planNode.node.id
  const wanted =
    state.mode.kind === 'running' || state.mode.kind === 'pausing' ? pendingInspection(state, nodeId, node) : undefined
  if (!wanted) return []
  const { bound, attempt, round, subject } = wanted
  const output = shownResult(state, planNode, subject)
  const { result, sequence: since } = subject
  // What the host checks by itself is checked every time, also what a confirming round may have to see.
  const dimensions = bound.gate.evaluation_criteria.map(({ dimension }) => dimension)
  const taken = takeContext({ plan, state, bound, node, subject })
  const context = taken?.ok ? taken.entries : []
  const shown = { result, output, context, sight: sightOf(state.runId, nodeId, node, subject) }
  return [{ kind: 'gather-evidence', nodeId, since, bound, attempt, round, dimensions, ...shown }]
}

/**
 * Files as whoever made the result sees them: what was there when the work began, and what it wrote itself before it had
 * the result. All of it follows from the log, so looking again finds the same. A trial has none.
 */
function sightOf(runId: string, nodeId: string, { since }: Reviewed, subject: StagedSubject): Sight | undefined {
  const { point, target, sequence: before } = subject
  switch (point) {
    case 'run':
      // What the run has come to is staged by the event that the node waits since.
      return { runId, before: since }
    case 'harvest':
      // Its log has ended, so nothing comes after it.
      return { runId: target, before: 'end', else: { runId, before: since } }
    case 'node':
    case 'tool':
      return { runId, before: since, attempt: { runId, nodeId, since, before } }
    case 'none':
      return undefined
  }
}

/**
 * One is started at a time, in their order, so that every host tells the same log; all that have begun work at once, and
 * are called back only when the run stops.
 */
function owedToJudges(planNode: PlanNode, node: Reviewed, gating: VerificationAttempt, state: Active): Effect[] {
  const { verifiers } = gating
  if (!verifiers.some(isJudging)) return []
  const bound = boundGateAt(state, gating.gate)
  const nodeId = planNode.node.id
  const stopping = state.mode.kind === 'stopping'
  const starting = stopping ? -1 : verifiers.findIndex(({ is }) => is === 'starting')
  return verifiers.flatMap((judge, k): Effect[] => {
    if (judge.is === 'starting' && k === starting) {
      const { grant, began: since } = judge
      const { timeout_ms: timeoutMs } = bound.gate.verifier_requirements
      const given = {
        ...givenTo(planNode, node, gating, state, k),
        hiddenInputs: [],
        unset: [],
        timeoutMs,
        grant,
      }
      // R-DWS-33: it may do nothing but answer.
      const may = { principalScope: [], verifier: true as const }
      return [{ kind: 'start-child', nodeId, since, worker: k, workflowId: VERIFIER_WORKFLOW, ...given, ...may }]
    }
    if (judge.is !== 'running') return []
    const { childRunId, began: since } = judge
    const child = { nodeId, since, worker: k, childRunId }
    const watch: Effect = { kind: 'watch-child', ...child, status: 'running', wanted: [VERIFICATION], attest: false }
    return stopping ? [{ kind: 'cancel-child', ...child }, watch] : [watch]
  })
}

/** R-DWS-7, R-DWS-21: what a verifier is shown: only what the list of allowed fields names, made anew each time. */
function givenTo(
  planNode: PlanNode,
  node: Reviewed,
  { gate: index, dimensions, evidence, context }: VerificationAttempt,
  state: Active,
  k: number,
) {
  const bound = boundGateAt(state, index)
  const asked = askedOf(bound.gate, dimensions)
  const subject = present(subjectOf(node), 'result before the gate')
  const output = shownResult(state, planNode, subject)
  const bundle = bundleOf(bound, asked, output, evidence, context?.ok ? context.entries : [])
  const { agentId } = verifierAt(bound.gate, k)
  // R-SEC-1: the log of its run, which more people may read than may read artifacts, tells who judges and nothing else.
  return {
    inputs: { agentId },
    withheld: { bundle: bundle as unknown as Json, schema: answerSchema(bound.gate, asked) },
  }
}
