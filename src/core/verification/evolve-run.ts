import type { JsonObject } from '../json.js'
import { type Draft, including, putNode } from '../run/draft.js'
import type { Recorded } from '../run/events.js'
import type { NodeState } from '../run/state.js'
import { gatingIn, type OnWorkers, reviewed } from '../run/waiting.js'
import type { Plan } from '../workflow/plan.js'
import { occurrenceOf, placeOf } from './attempt.js'
import { evolveReview, evolveSlots, type GateEvent, resultOf, stagedBy, workerIn } from './evolve.js'
import { heeded, regated, workAgain } from './evolve-rework.js'

/** What gates and workers change beyond their own node. */

/** What a gate says changes its node, what is known of its place, and now and then the course of the run. */
export function evolveGate(plan: Plan, draft: Draft, before: NodeState, event: GateEvent, index: number): void {
  const slots = draft.gated && evolveSlots(draft.gated, before, event)
  if (slots) regated(draft, { slots })
  if (event.type === 'assay.result.staged') return stage(draft, before, event, index)
  if (event.type === 'assay.rework.began') return workAgain(plan, draft, before, event, index)
  const node = reviewed(before)
  if (!node) return
  const gating = gatingIn(node)
  const worker = gating && workerIn(node, gating)
  if (worker && event.type === 'agent.verified' && event.payload.verdict !== 'revise')
    heeded(draft, event.nodeId, worker)
  // The supervisor may have the same worker do it again, who is then told what was found.
  if (worker && event.type === 'assay.result.withheld' && event.secret?.feedback)
    regated(draft, {
      feedback: { ...draft.gated?.feedback, [placeOf(event.nodeId, worker)]: event.secret.feedback },
    })
  putNode(draft, index, evolveReview(node, event))
}

/** An agent's result waits for the gates of its node, what it is brought for those of the tool; what the run leaves behind waits for those at the exit. */
function stage(
  draft: Draft,
  before: NodeState,
  event: Extract<GateEvent, { type: 'assay.result.staged' }>,
  index: number,
): void {
  const { secret, payload, sequence: since, at: sinceAt } = event
  if (!secret) return
  const staged = stagedBy(payload, secret)
  if (payload.point === 'run') {
    const started = { attempt: 0, failures: 0, since, sinceAt }
    putNode(draft, index, { is: 'waiting', on: 'gate', point: 'run', ...started, before, staged })
    draft.open = including(draft.open, index)
  } else if (payload.point === 'node' && before.is === 'waiting' && before.on === 'agent') {
    const { decided: _decided, asked: _asked, ...agent } = before
    putNode(draft, index, { ...agent, on: 'gate', point: 'node', staged, ...resultOf(secret) })
  } else if (payload.point === 'tool' && before.is === 'waiting' && before.on === 'agent') {
    const { decided: _decided, asked: _asked, ...agent } = before
    putNode(draft, index, { ...agent, on: 'gate', point: 'tool', staged })
  }
}

/** Whether a run failed because no gate let its work pass, or that of a run below it. */
const isGiveUp = (error: { readonly code: string; readonly details?: JsonObject } | undefined): boolean =>
  error?.code === 'verification_failed' || error?.details?.childError === 'verification_failed'

/**
 * R-VERIFY-12, R-VERIFY-19: a place whose worker gave up, itself or further down, has not succeeded, whatever its parent
 * makes of it, until it has.
 */
export function noteGoal(
  draft: Draft,
  { wait, workers }: OnWorkers,
  { nodeId, payload, secret }: Extract<Recorded, { type: 'core.workflowChain.event' }>,
): void {
  const { childRunId, workerId } = payload
  const goalSatisfied = secret && 'goalSatisfied' in secret ? secret.goalSatisfied : undefined
  const { gaveUp } = draft
  const isGivenUp = goalSatisfied === false || (payload.phase === 'child.failed' && isGiveUp(payload.error))
  // A failure of another kind says nothing new of the goal.
  if (payload.phase === 'child.failed' && !isGivenUp) return
  if (!isGivenUp && gaveUp.length === 0) return
  const worker = workers.findIndex(state => state.is === 'running' && state.childRunId === childRunId)
  const place = placeOf(nodeId, { workerId, occurrence: occurrenceOf(wait.workers, Math.max(worker, 0)) })
  const others = gaveUp.filter(other => other !== place)
  draft.gaveUp = isGivenUp ? [...others, place] : others
}
