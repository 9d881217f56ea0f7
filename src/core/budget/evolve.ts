import type { Recorded } from '../run/events.js'
import type { NodeState, RunBase } from '../run/state.js'
import { verifiersIn, workersOf } from '../run/waiting.js'
import { asSpend, NOTHING_SPENT, plus, type Spend } from './budget.js'

const nanoOf = (usd: number | undefined): number => Math.round((usd ?? 0) * 1_000_000_000)

/** R-BUDGET-3: what a run has spent is read off events that are there for other reasons; nothing is counted twice. */
export function evolveSpend(
  { spend = NOTHING_SPENT }: Pick<RunBase, 'spend'>,
  event: Recorded,
  node: NodeState | undefined,
): Spend | undefined {
  const more = spentWith(event, node)
  return more && plus(spend, more)
}

function letGo(node: NodeState | undefined): Spend | undefined {
  const children = [...workersOf(node), ...verifiersIn(node)]
  const grants = children.flatMap(child => (child.is === 'running' && child.grant ? [asSpend(child.grant)] : []))
  return grants.length > 0 ? grants.reduce((sum, grant) => plus(sum, grant)) : undefined
}

function spentWith(event: Recorded, node: NodeState | undefined): Partial<Spend> | undefined {
  switch (event.type) {
    case 'provider.usage': {
      const { totalTokens, costEstimateUsd, cacheHit } = event.payload
      return cacheHit ? undefined : { tokens: totalTokens, costNano: nanoOf(costEstimateUsd) }
    }
    case 'assay.model.lost':
      return { tokens: event.payload.chargedTokens, costNano: nanoOf(event.payload.chargedCostUsd) }
    case 'agent.toolCalled':
      return event.secret?.paid ? undefined : { toolCalls: 1 }
    case 'envelope.retry.attempted':
    case 'node.retried':
      return { retries: 1 }
    case 'node.cancelled':
      // Children that were let go may still spend all they were granted.
      return letGo(node)
    case 'core.workflowChain.event':
      // R-BUDGET-7: what a child has spent is spent here too.
      return event.secret && 'spent' in event.secret ? event.secret.spent : undefined
    case 'assay.verifier.ended':
      return event.secret?.spent
    default:
      return undefined
  }
}

/** R-DWS-28: the ledger of verification. What is in it is in the other as well, so one ceiling holds for both. */
export function evolveVerification({ verification = NOTHING_SPENT }: Pick<RunBase, 'verification'>, event: Recorded) {
  const more =
    event.type === 'assay.verifier.ended'
      ? event.secret?.spent
      : event.type === 'core.workflowChain.event' && event.secret && 'verification' in event.secret
        ? event.secret.verification
        : undefined
  return more && plus(verification, more)
}
