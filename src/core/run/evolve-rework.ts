import type { JsonObject } from '../json.js'
import { type Draft, put, replaced } from './draft.js'
import type { Wait } from './event.js'
import type { GateEvent } from './evolve-gate.js'
import { PENDING } from './evolve-workers.js'
import { occurrenceOf, placeOf } from './gating.js'
import type { Plan } from './plan.js'
import type { NodeState, Staged } from './state.js'

const IDLE: NodeState = { is: 'idle' }

/** R-DWS-20: the worker, the agent or the phase begins anew, and is told why. */
export function workAgain(
  plan: Plan,
  draft: Draft,
  before: NodeState,
  event: Extract<GateEvent, { type: 'assay.rework.began' }>,
  index: number,
): void {
  const { secret, nodeId, payload } = event
  if (!secret) return
  const { feedback, worker } = secret
  draft.reworks = (draft.reworks ?? 0) + 1
  const workers = before.is === 'waiting' && before.wait.kind === 'handoff' ? before.wait.workers : []
  const { workerId } = payload
  const who =
    worker === undefined || workerId === undefined ? {} : { workerId, occurrence: occurrenceOf(workers, worker) }
  draft.feedback = { ...draft.feedback, [placeOf(nodeId, who)]: feedback }
  if (payload.point === 'run') return returnTo(plan, draft, index)
  if (before.is !== 'waiting') return
  const { gating: _gating, staged: _staged, ...others } = before
  if (worker !== undefined) {
    const again = (before.workers ?? []).map((state, k) => (k === worker ? PENDING : state))
    return put(draft, index, { ...others, workers: again })
  }
  const { invocation: _invocation, told: _told, uses: _uses, paid: _paid, spoiled: _spoiled, ...node } = others
  const ordinal = draft.starts[index] ?? 0
  const wait: Wait = node.wait.kind === 'agent' ? { ...node.wait, ordinal } : node.wait
  put(draft, index, { ...node, wait, attempt: 0, failures: 0, since: event.sequence, sinceAt: event.at })
  draft.starts = replaced(draft.starts, index, ordinal + 1)
}

/** The run goes back to one of its phases: that node and all that follow it are as if they had never run. */
function returnTo(plan: Plan, draft: Draft, index: number): void {
  const nodes = draft.nodes.map(node => (node.is === 'waiting' && node.wait.kind === 'exit' ? node.wait.before : node))
  const seen = new Set([index])
  for (const at of seen) for (const { target } of plan.nodes[at]!.outbound) seen.add(target)
  for (const at of seen) nodes[at] = IDLE
  draft.nodes = nodes
  draft.passes = draft.passes.map((passes, at) => (seen.has(at) ? 0 : passes))
  draft.open = []
  draft.touched = [index]
}

/** What has been worked in, or never will be, is not said again. */
export function heeded(draft: Draft, place: string): void {
  if (draft.feedback?.[place] === undefined) return
  const { [place]: _, ...others } = draft.feedback
  draft.feedback = others
}

export const trialOf = (runId: string, sequence: number, result: JsonObject[string]): Staged => ({
  at: sequence,
  point: 'none',
  target: `${runId}:${sequence}`,
  subject: sequence,
  result,
  cleared: [],
})
