import type { Halted } from '../budget/state.js'
import { evolveWorkers } from '../handoff/evolve.js'
import type { Recorded } from '../run/events.js'
import type { Review, Waiting } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import type { Asked } from './state.js'

type Of<Type extends Recorded['type']> = Extract<Recorded, { type: Type }>

/** Folds a question to someone outside, a vote on it or the answer into the node that asks. */
export function evolveQuestion(
  planNode: PlanNode,
  node: Waiting,
  event: Of<'interrupt.requested' | 'assay.interrupt.voted' | 'interrupt.resolved'>,
): Waiting {
  switch (event.type) {
    case 'interrupt.requested': {
      const asked = askedBy(event)
      const { step } = event.secret ?? {}
      return step ? halted(node, { step, interruptId: asked.interruptId, at: event.at, asked }) : asking(node, asked)
    }
    case 'assay.interrupt.voted': {
      const { voter, action } = event.payload
      return changed(node, asked => ({ ...asked, votes: [...asked.votes, { voter, action }] }))
    }
    case 'interrupt.resolved':
      return answered(planNode, node, event)
  }
}

const askedBy = ({ payload, secret, at }: Of<'interrupt.requested'>): Asked => ({
  interruptId: payload.interruptId,
  key: payload.key,
  kind: payload.kind,
  data: secret?.data ?? (secret?.withheld ? { ...payload.data, ...secret.withheld } : payload.data),
  shown: payload.data,
  ...(secret?.withheld ? { rest: secret.withheld } : {}),
  ...(payload.resumeSchema === undefined ? {} : { resumeSchema: payload.resumeSchema }),
  ...(payload.timeoutMs === undefined ? {} : { timeoutMs: payload.timeoutMs }),
  ...(secret?.step ? { isBudget: true } : {}),
  requestedAt: at,
  votes: [],
})

/** Workers, agents and gates wait on while they ask; whatever else a node waited for is over. */
function asking(node: Waiting, asked: Asked): Waiting {
  switch (node.on) {
    case 'host':
      return { ...node, on: 'person', wait: { kind: 'interrupt' }, asked }
    case 'person':
    case 'agent':
      return { ...node, asked }
    case 'workers':
      return { ...node, hold: inDoubt(node.hold, asked) ?? { is: 'merging', asked } }
    case 'gate': {
      const hold = inDoubt(node.hold, asked)
      return hold ? { ...node, hold } : node
    }
    case 'brief':
      return node
  }
}

/** The gate asks what becomes of a result, if one is at work on it. */
const inDoubt = (hold: Extract<Waiting, { on: 'workers' }>['hold'], asked: Asked): Review | undefined =>
  hold && 'gating' in hold ? { is: 'asking', gating: hold.gating, asked } : undefined

function answered(planNode: PlanNode, node: Waiting, event: Of<'interrupt.resolved'>): Waiting {
  if (node.halted?.asked) return released(node, event.at)
  if (node.on === 'person' || node.on === 'agent') {
    const { asked: _, ...others } = node
    return others
  }
  if (node.on === 'workers' && node.hold?.is === 'merging') {
    const { hold: _, ...others } = node
    return { ...others, workers: evolveWorkers(planNode, node.workers, event) }
  }
  // A person who answers for a gate says nothing about the merge yet.
  return (node.on === 'workers' || node.on === 'gate') && node.hold?.is === 'asking'
    ? { ...node, hold: { is: 'voting', gating: node.hold.gating } }
    : node
}

/** A node that its budget keeps from its next step. What the host had in hand for one to be tried again is over. */
export function halted(node: Waiting, stands: Halted): Waiting {
  if (stands.step.is !== 'retry' || node.on === 'workers' || node.on === 'gate') return { ...node, halted: stands }
  const { attempt, failures, since, sinceAt, calls } = node
  const own = { is: 'waiting', attempt, failures, since, sinceAt, ...(calls ? { calls } : {}) } as const
  return { ...own, on: 'person', wait: { kind: 'interrupt' }, halted: stands }
}

/** The node goes on; the time in which it could not is not its own. */
export function released(node: Waiting, at: number): Waiting {
  if (!node.halted) return node
  const { halted: before, ...others } = node
  return { ...others, sinceAt: node.sinceAt + at - before.at }
}

/** The node, with what it asks changed, if it asks something. */
export function changed(node: Waiting, change: (asked: Asked) => Asked): Waiting {
  if (node.halted?.asked) return { ...node, halted: { ...node.halted, asked: change(node.halted.asked) } }
  if (node.on === 'person' || node.on === 'agent') return node.asked ? { ...node, asked: change(node.asked) } : node
  if (node.on === 'gate' && node.hold?.is === 'asking')
    return { ...node, hold: { ...node.hold, asked: change(node.hold.asked) } }
  if (node.on === 'workers' && (node.hold?.is === 'asking' || node.hold?.is === 'merging'))
    return { ...node, hold: { ...node.hold, asked: change(node.hold.asked) } }
  return node
}
