import type { Gate } from './gate.js'
import type { Json } from '../json.js'
import { isSelf, verifierAt } from './tally.js'
import type { PlanNode } from '../workflow/plan.js'
import { boundGateAt, type Gating, nodeAt } from '../run/state.js'
import type { DecisionContext } from '../run/decision-context.js'
import { gatingIn } from '../run/waiting.js'

type Said = {
  readonly confidence?: number
  readonly keys?: readonly string[]
  /** A person's word in place of the verifiers', or beside it. */
  readonly by?: string
  readonly why?: Json
  readonly isOverride?: true
  /** The host's own word, whoever was to judge. */
  readonly isHosts?: true
}

/** R-VERIFY-2, R-VERIFY-5, R-VERIFY-6: what was judged and how, never why. R-VERIFY-23: due to what brought the result. */
export function tellVerdict(
  turn: DecisionContext,
  planNode: PlanNode,
  gating: Gating,
  verdict: 'pass' | 'fail' | 'revise',
  { confidence, keys = [], by, why, isOverride, isHosts }: Said = {},
): number {
  const { gate } = boundGateAt(turn.active, gating.gate)
  const { dimensions, target, attempt, resultHash, subject } = gating
  const isSelf = isSelfJudged(turn, planNode, gating)
  const record = gatingIn(nodeAt(turn.active, planNode.index))?.rendered
  return turn.emit({
    type: 'agent.verified',
    nodeId: planNode.node.id,
    payload: {
      agentId: isOverride ? 'host:human-override' : isHosts ? hostName(gate) : identityOf(gate, gating),
      target,
      verdict,
      // R-VERIFY-8
      criteria: [...dimensions, ...(isSelf ? ['self-verification'] : []), ...keys],
      ...(confidence === undefined ? {} : { confidence }),
    },
    secret: {
      gateId: gate.gate_id,
      attempt,
      resultHash,
      ...(record === undefined ? {} : { record }),
      ...(by === undefined ? {} : { by }),
      ...(why === undefined ? {} : { why }),
    },
    cause: subject,
  })
}

/** Where nobody was asked, because evidence was enough, nobody else is named for it. */
const identityOf = (gate: Gate, { judges }: Gating): string =>
  judges.length === 1 && judges[0]?.is === 'voted' ? verifierAt(gate, 0).agentId : hostName(gate)

const hostName = ({ gate_id }: Gate): string => `host:gate:${gate_id}`

/** Whether somebody has judged work of its own, which the gate may allow and everybody may see. */
export const isSelfJudged = (turn: DecisionContext, planNode: PlanNode, { gate, judges }: Gating): boolean =>
  judges.some(
    (judge, k) =>
      judge.is === 'voted' && isSelf(turn, planNode, verifierAt(boundGateAt(turn.active, gate).gate, k).agentId),
  )
