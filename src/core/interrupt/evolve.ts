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
    case 'interrupt.requested':
      return asking(node, askedBy(event))
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

/** The node, with what it asks changed, if it asks something. */
export function changed(node: Waiting, change: (asked: Asked) => Asked): Waiting {
  if (node.on === 'person' || node.on === 'agent') return node.asked ? { ...node, asked: change(node.asked) } : node
  if (node.on === 'gate' && node.hold?.is === 'asking')
    return { ...node, hold: { ...node.hold, asked: change(node.hold.asked) } }
  if (node.on === 'workers' && (node.hold?.is === 'asking' || node.hold?.is === 'merging'))
    return { ...node, hold: { ...node.hold, asked: change(node.hold.asked) } }
  return node
}
