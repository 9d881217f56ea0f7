import { type Draft, including, put } from './draft.js'
import type { Recorded, Wait } from './event.js'
import { evolveGating, evolveSlots, type GateEvent, stagedBy, workerIn } from './evolve-gate.js'
import { heeded, workAgain } from './evolve-rework.js'
import { occurrenceOf, placeOf } from './gating.js'
import type { Plan } from './plan.js'
import type { NodeState } from './state.js'

/** What gates and workers change beyond their own node. */

/** What a gate says changes its node, what is known of its place, and now and then the course of the run. */
export function evolveGate(plan: Plan, draft: Draft, before: NodeState, event: GateEvent, index: number): void {
  const slots = evolveSlots(draft, before, event)
  if (slots) draft.slots = slots
  if (event.type === 'assay.result.staged' && event.payload.point === 'run') {
    const staged = stagedBy(event, 'run', event.payload.targetRef)
    const wait: Wait = { kind: 'exit', before }
    put(draft, index, {
      is: 'waiting',
      attempt: 0,
      failures: 0,
      since: event.sequence,
      sinceAt: event.at,
      wait,
      staged,
    })
    draft.open = including(draft.open, index)
  } else if (event.type === 'assay.rework.began') workAgain(plan, draft, before, event, index)
  else if (before.is === 'waiting') {
    const worker = before.gating && workerIn(before, before.gating)
    if (worker && event.type === 'agent.verified' && event.payload.verdict !== 'revise')
      heeded(draft, placeOf(event.nodeId, worker))
    // The supervisor may have the same worker do it again, who is then told what was found.
    if (worker && event.type === 'assay.result.withheld' && event.secret?.feedback)
      draft.feedback = { ...draft.feedback, [placeOf(event.nodeId, worker)]: event.secret.feedback }
    put(draft, index, evolveGating(before, event))
  }
}

/** R-VERIFY-19: a worker that gave up has not succeeded, whatever its parent makes of it, until it has. */
export function noteGoal(
  draft: Draft,
  { wait, workers = [] }: Extract<NodeState, { is: 'waiting' }>,
  { nodeId, payload, secret }: Extract<Recorded, { type: 'core.workflowChain.event' }>,
): void {
  const { childRunId, workerId } = payload
  const goalSatisfied = secret && 'goalSatisfied' in secret ? secret.goalSatisfied : undefined
  const gaveUp = draft.gaveUp ?? []
  if (wait.kind !== 'handoff' || (goalSatisfied === undefined && gaveUp.length === 0)) return
  const worker = workers.findIndex(state => state.is === 'running' && state.childRunId === childRunId)
  const place = placeOf(nodeId, { workerId, occurrence: occurrenceOf(wait.workers, Math.max(worker, 0)) })
  const others = gaveUp.filter(other => other !== place)
  draft.gaveUp = goalSatisfied === false ? [...others, place] : others
}
