import { minus, NOTHING_SPENT, plus } from '../budget/budget.js'
import type { Charge } from '../budget/evolve.js'
import { handedTo, handoffOf } from '../handoff/state.js'
import type { Recorded } from '../run/events.js'
import type { NodeState } from '../run/state.js'
import { callIn, gatesAt, occurrenceOf, placeOf, WHOLE_RUN } from './attempt.js'
import type { Cost, Gated, PlaceCost, VerificationAttempt } from './state.js'

/**
 * R-DWS-27: what work before a gate has cost, and what judging it has, by place and attempt. It is read off the charges
 * that also make up the ledgers of the run, so that the two cannot differ.
 *
 *  I1  Every charge of a run is that of one place, or of work that no gate stands before.
 *  I2  At the exit the work is the run: all that it has spent is its cost.
 */

const NO_COST: Cost = { execution: NOTHING_SPENT, verification: NOTHING_SPENT }
const UNPAID: PlaceCost = { work: NO_COST, total: NO_COST }

/** What the present attempt has cost: the work, with what was judged in its course, and the votes of this gate. */
export function costOfAttempt(
  { costs }: Pick<Gated, 'costs'>,
  place: string,
  { spent = NOTHING_SPENT }: Pick<VerificationAttempt, 'spent'>,
): Cost {
  const { execution, verification } = workAt(costs, place)
  return { execution, verification: plus(verification, spent) }
}

export const workAt = (costs: Gated['costs'], place: string): Cost => costs[place]?.work ?? NO_COST

/** Over all attempts, and all gates of the place. */
export const costOfPlace = ({ costs }: Pick<Gated, 'costs'>, place: string): Cost => costs[place]?.total ?? NO_COST

/** What each place has cost after this event; `node` is as it was before. */
export function evolveCosts(
  gated: Gated,
  event: Recorded,
  node: NodeState | undefined,
  charges: readonly Charge[],
): Gated['costs'] {
  const begun = beginsAt(event, node)
  const { costs } = gated
  if (charges.length === 0)
    return begun === undefined || costs[begun] === undefined
      ? costs
      : { ...costs, [begun]: { ...costs[begun], work: NO_COST } }
  const { nodeId } = event
  const isAtExit = node?.is === 'waiting' && node.on === 'gate' && node.point === 'run'
  return charges.reduce((before, charge) => {
    const place = isAtExit || nodeId === undefined ? undefined : gatedPlace(gated, nodeId, node, charge)
    const own = place === undefined ? before : charged(before, place, charge, charge.isJudging)
    return hasExit(gated) ? charged(own, WHOLE_RUN, charge, isAtExit) : own
  }, costs)
}

/** Where work begins, or begins anew. */
function beginsAt(event: Recorded, node: NodeState | undefined): string | undefined {
  switch (event.type) {
    case 'node.started':
      return event.payload.attempt === 0 ? placeOf(event.nodeId) : undefined
    case 'assay.rework.began':
      return event.payload.point === 'run'
        ? WHOLE_RUN
        : event.payload.point === 'node'
          ? placeOf(event.nodeId)
          : undefined
    case 'core.workflowChain.event': {
      if (event.payload.phase !== 'dispatch.began') return undefined
      const handing = handoffOf(node)
      return placeOfWorker(event.nodeId, node, handing?.workers.findIndex(({ is }) => is === 'pending') ?? -1)
    }
    default:
      return undefined
  }
}

function placeOfWorker(nodeId: string, node: NodeState | undefined, worker: number): string | undefined {
  const handing = handoffOf(node)
  if (!handing || worker < 0) return undefined
  const { workers } = handing.wait
  return placeOf(nodeId, { workerId: handedTo(handing, worker), occurrence: occurrenceOf(workers, worker) })
}

/** The place that a charge belongs to, where gates stand before what is made there. */
function gatedPlace(gated: Gated, nodeId: string, node: NodeState | undefined, { worker }: Charge): string | undefined {
  const handing = handoffOf(node)
  if (handing && worker === undefined) return undefined
  // What a tool has brought is a place of its own, apart from what the agent makes of it.
  const call = callIn(node)
  if (call) return placeOf(nodeId, call)
  // What is only judged, for trial, is nobody's work.
  if (node?.is === 'waiting' && node.on === 'gate' && node.point === 'none') return undefined
  const who = handing && worker !== undefined ? { workerId: handedTo(handing, worker) } : {}
  if (gatesAt({ gated }, nodeId, { point: handing ? 'harvest' : 'node', ...who }).length === 0) return undefined
  return handing && worker !== undefined ? placeOfWorker(nodeId, node, worker) : placeOf(nodeId)
}

const hasExit = ({ gates }: Gated): boolean => gates.some(({ gate }) => gate.position.placement === 'workflow_exit')

/** What is spent on the votes of the place's own gates is no part of the work that they judge. */
function charged(
  costs: Gated['costs'],
  place: string,
  { spent, verification = {} }: Charge,
  isVote = false,
): Gated['costs'] {
  const { work, total } = costs[place] ?? UNPAID
  const add = (cost: Cost): Cost => ({
    execution: minus(plus(cost.execution, spent), verification),
    verification: plus(cost.verification, verification),
  })
  return { ...costs, [place]: { work: isVote ? work : add(work), total: add(total) } }
}
