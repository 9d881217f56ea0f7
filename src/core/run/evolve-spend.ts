import { NOTHING_SPENT, plus, type Spend } from '../agent/budget.js'
import type { Recorded } from './event.js'
import type { Told } from './state.js'

const nanoOf = (usd: number | undefined): number => Math.round((usd ?? 0) * 1_000_000_000)

/** R-BUDGET-3: what a run has spent is read off events that are there for other reasons; nothing is counted twice. */
export function evolveSpend({ spend = NOTHING_SPENT }: Pick<Told, 'spend'>, event: Recorded): Spend | undefined {
  const more = spentWith(event)
  return more && plus(spend, more)
}

function spentWith(event: Recorded): Partial<Spend> | undefined {
  switch (event.type) {
    case 'provider.usage': {
      const { totalTokens, costEstimateUsd, cacheHit } = event.payload
      const retries = event.secret?.retries ?? 0
      return cacheHit ? { retries } : { tokens: totalTokens, costNano: nanoOf(costEstimateUsd), retries }
    }
    case 'assay.model.lost':
      return { tokens: event.payload.chargedTokens, costNano: nanoOf(event.payload.chargedCostUsd) }
    case 'agent.toolCalled':
      return { toolCalls: 1 }
    case 'envelope.retry.attempted':
    case 'node.retried':
      return { retries: 1 }
    case 'core.workflowChain.event':
      // R-BUDGET-7: what a child has spent is spent here too.
      return event.secret && 'spent' in event.secret ? event.secret.spent : undefined
    default:
      return undefined
  }
}
