import type { DecisionContext } from '../run/decision-context.js'
import type { EffectOutcome } from '../run/input.js'
import { nodeAt } from '../run/state.js'
import { type PlanNode, planNodeOf } from '../workflow/plan.js'
import { childRefused, childStarted } from './decide.js'
import { peerHeard, peerLetGo, peerSilent } from './peer.js'
import { peerWorkOf } from './peer-work.js'
import { handoffOf } from './state.js'

/** What a stopping run still hears of peers: nobody can say that work which is being handed to one has not begun. */
type OfPeer = Extract<
  EffectOutcome,
  { type: 'ChildStarted' | 'ChildRefused' | 'PeerSilent' | 'PeerHeard' | 'PeerLetGo' }
>

export function isOfPeer(
  context: DecisionContext,
  input: { readonly type: string } & Partial<Pick<OfPeer, 'nodeId'>>,
): input is OfPeer {
  if (input.type === 'PeerSilent' || input.type === 'PeerHeard' || input.type === 'PeerLetGo') return true
  if (input.type !== 'ChildStarted' && input.type !== 'ChildRefused') return false
  const { worker, verifier } = input as Extract<OfPeer, { type: 'ChildStarted' }>
  const node = verifier ? undefined : startOf(context, input as Extract<OfPeer, { type: 'ChildStarted' }>)?.node
  return node !== undefined && peerWorkOf(node.wait.workers[worker] ?? '') !== undefined
}

/** Returns the node if it may be rid of a worker. */
export function peerWhileStopping(context: DecisionContext, input: OfPeer): PlanNode | undefined {
  switch (input.type) {
    case 'PeerSilent':
      return peerSilent(context, input)
    case 'PeerHeard':
      peerHeard(context, input)
      return undefined
    case 'PeerLetGo':
      peerLetGo(context, input)
      return undefined
    default: {
      const planNode = startOf(context, input)?.planNode
      if (!planNode) return undefined
      if (input.type === 'ChildStarted') childStarted(context, planNode, input)
      else childRefused(context, planNode, input)
      return planNode
    }
  }
}

/** The node, while it hands work over under that start. */
function startOf(
  { plan, active }: DecisionContext,
  { nodeId, since }: Extract<OfPeer, { type: 'ChildStarted' | 'ChildRefused' }>,
) {
  const planNode = planNodeOf(plan, nodeId)
  const node = planNode && handoffOf(nodeAt(active, planNode.index))
  return planNode && node?.since === since ? { planNode, node } : undefined
}
