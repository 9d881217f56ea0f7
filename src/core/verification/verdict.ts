import type { Json } from '../json.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { ForeignEvent } from '../handoff/foreign-cause.js'
import { nodeAt } from '../run/state.js'
import { gatingIn, workersOf } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import type { Gate } from './gate.js'
import type { PassLabel } from './label.js'
import { boundGateAt, type VerificationAttempt } from './state.js'
import { isSelf, judgedIn, verifierAt } from './tally.js'

type Said = {
  /** With a pass: what may be said of the result. */
  readonly label?: PassLabel
  readonly confidence?: number
  readonly keys?: readonly string[]
  /** A person's word in place of the verifiers', or beside it. */
  readonly by?: string
  readonly why?: Json
  /** Why a person was asked. */
  readonly asked?: string
  readonly isOverride?: true
  /** The host's own word, whoever was to judge. */
  readonly isHosts?: true
}

/** R-VERIFY-2, R-VERIFY-5, R-VERIFY-6: what was judged and how, never why. R-VERIFY-23: due to what brought the result. */
export function tellVerdict(
  context: DecisionContext,
  planNode: PlanNode,
  gating: VerificationAttempt,
  verdict: 'pass' | 'fail' | 'revise',
  { confidence, keys = [], label, by, why, asked, isOverride, isHosts }: Said = {},
): number {
  const { gate } = boundGateAt(context.active, gating.gate)
  const { target, attempt, resultHash, subject } = gating
  const isSelf = isSelfJudged(context, planNode, gating)
  const foreign = foreignSubject(context, planNode, subject)
  const record = gatingIn(nodeAt(context.active, planNode.index))?.rendered
  return context.emit({
    type: 'agent.verified',
    nodeId: planNode.node.id,
    payload: {
      agentId: isOverride ? 'host:human-override' : isHosts ? hostName(gate) : identityOf(gate, gating),
      target,
      verdict,
      // R-VERIFY-8
      criteria: [...judgedIn(gating), ...(isSelf ? ['self-verification'] : []), ...keys],
      ...(confidence === undefined ? {} : { confidence }),
      ...(foreign ? { causationHostId: foreign.hostId } : {}),
    },
    secret: {
      gateId: gate.gate_id,
      attempt,
      resultHash,
      ...(label ? { label } : {}),
      ...(record === undefined ? {} : { record }),
      ...(by === undefined ? {} : { by }),
      ...(why === undefined ? {} : { why }),
      ...(asked === undefined ? {} : { asked }),
    },
    ...(foreign ? { foreignCause: foreign.eventId } : { cause: subject }),
  })
}

/** P12: what a peer brought came to be there. */
function foreignSubject({ active }: DecisionContext, { index }: PlanNode, subject: number): ForeignEvent | undefined {
  const worker = workersOf(nodeAt(active, index)).find(one => one.is === 'completed' && one.ended === subject)
  return worker?.is === 'completed' ? worker.foreign : undefined
}

/** Where nobody was asked, because evidence was enough, nobody else is named for it. */
const identityOf = (gate: Gate, { verifiers }: VerificationAttempt): string =>
  verifiers.length === 1 && verifiers[0]?.is === 'voted' ? verifierAt(gate, 0).agentId : hostName(gate)

const hostName = ({ gate_id }: Gate): string => `host:gate:${gate_id}`

/** Whether somebody has judged work of its own, which the gate may allow and everybody may see. */
export const isSelfJudged = (
  context: DecisionContext,
  planNode: PlanNode,
  { gate, verifiers }: VerificationAttempt,
): boolean =>
  verifiers.some(
    (judge, k) =>
      judge.is === 'voted' && isSelf(context, planNode, verifierAt(boundGateAt(context.active, gate).gate, k).agentId),
  )
