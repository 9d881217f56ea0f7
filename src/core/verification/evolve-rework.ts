import { PENDING } from '../handoff/evolve.js'
import { type Draft, putNode, replaced } from '../run/draft.js'
import type { Judging } from '../run/events.js'
import type { NodeState } from '../run/state.js'
import { atWork, type OnGate, type OnWorkers } from '../run/waiting.js'
import { type Plan, planNodeAt } from '../workflow/plan.js'
import { occurrenceOf, placeOf } from './attempt.js'
import type { GateEvent } from './evolve.js'
import type { Gated, Staged } from './state.js'

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
  if (!secret || !draft.gated) return
  const { feedback, worker } = secret
  const handing = before.is === 'waiting' && before.on === 'workers' ? before : undefined
  const { workerId } = payload
  const who =
    worker === undefined || workerId === undefined
      ? {}
      : { workerId, occurrence: occurrenceOf(handing?.wait.workers ?? [], worker) }
  const { reworks, feedback: told } = draft.gated
  regated(draft, { reworks: reworks + 1, feedback: { ...told, [placeOf(nodeId, who)]: feedback } })
  if (payload.point === 'run') return returnTo(plan, draft, index)
  if (worker !== undefined) {
    if (handing) putNode(draft, index, againBy(handing, worker))
  } else if (before.is === 'waiting' && before.on === 'gate' && before.point === 'node')
    agentAgain(draft, before, event, index)
}

function againBy(node: OnWorkers, worker: number): OnWorkers {
  const { hold: _, ...handing } = node
  return { ...handing, workers: handing.workers.map((state, k) => (k === worker ? PENDING : state)) }
}

/** It is as if it had just started: nothing that it has called counts for what it does now. */
function agentAgain(
  draft: Draft,
  { wait }: Extract<OnGate, { point: 'node' }>,
  { sequence: since, at: sinceAt }: GateEvent,
  index: number,
): void {
  const ordinal = draft.starts[index] ?? 0
  const started = { attempt: 0, failures: 0, since, sinceAt }
  putNode(draft, index, { is: 'waiting', on: 'brief', wait: { ...wait, ordinal }, ...started })
  draft.starts = replaced(draft.starts, index, ordinal + 1)
}

/** A node, and all that follow it, by index. */
export function nodesFrom(plan: Plan, index: number): ReadonlySet<number> {
  const seen = new Set([index])
  for (const at of seen) for (const { target } of planNodeAt(plan, at).outbound) seen.add(target)
  return seen
}

/** The run goes back to one of its phases: that node and all that follow it are as if they had never run. */
function returnTo(plan: Plan, draft: Draft, index: number): void {
  const nodes = draft.nodes.map(atWork)
  const seen = nodesFrom(plan, index)
  for (const at of seen) nodes[at] = IDLE
  draft.nodes = nodes
  draft.passes = draft.passes.map((passes, at) => (seen.has(at) ? 0 : passes))
  draft.open = []
  draft.touched = [index]
}

/** Changes what a run that has gates knows of its results; of others nothing is known. */
export function regated(draft: Draft, change: Partial<Gated>): void {
  if (draft.gated) draft.gated = { ...draft.gated, ...change }
}

/** What has been worked in, or never will be, is not said again. */
export function heeded(draft: Draft, nodeId: string, worker?: Parameters<typeof placeOf>[1]): void {
  if (!draft.gated) return
  const place = placeOf(nodeId, worker)
  if (draft.gated.feedback[place] === undefined) return
  const { [place]: _, ...feedback } = draft.gated.feedback
  regated(draft, { feedback })
}

export const trialOf = (runId: string, sequence: number, { output, of }: Judging): Staged => ({
  target: of ?? `${runId}:${sequence}`,
  subject: sequence,
  result: output,
  cleared: [],
})
