import { NOTHING_SPENT, plus, type Spend } from '../budget/budget.js'
import type { KnownEvent } from './public-event.js'
import { nodeOf, type ViewDraft } from './run-view.js'

/** What the run itself has spent, read off its events; what its children have spent is told to nobody else. */

const nanoOf = (usd = 0): number => Math.round(usd * 1_000_000_000)

export function foldSpend(draft: ViewDraft, event: KnownEvent): void {
  if (isUntold(draft, event)) draft.hasUntoldSpend = true
  const more = spentWith(event)
  if (more !== undefined) draft.spend = plus(draft.spend ?? NOTHING_SPENT, more)
  if (event.type === 'assay.model.lost' && event.payload.chargedTokens === undefined) {
    const { heldTokens = 0, heldCostUsd } = event.payload
    draft.held = plus(draft.held ?? NOTHING_SPENT, { tokens: heldTokens, costNano: nanoOf(heldCostUsd) })
  }
}

function spentWith(event: KnownEvent): Partial<Spend> | undefined {
  switch (event.type) {
    case 'provider.usage': {
      const { totalTokens = 0, costEstimateUsd, cacheHit } = event.payload
      return cacheHit ? undefined : { tokens: totalTokens, costNano: nanoOf(costEstimateUsd) }
    }
    case 'assay.model.lost': {
      // In logs of earlier versions it was told as spent.
      const { chargedTokens, chargedCostUsd } = event.payload
      return chargedTokens === undefined ? undefined : { tokens: chargedTokens, costNano: nanoOf(chargedCostUsd) }
    }
    case 'agent.toolCalled':
      return { toolCalls: 1 }
    case 'envelope.retry.attempted':
    case 'node.retried':
      return { retries: 1 }
    default:
      return undefined
  }
}

function isUntold(draft: ViewDraft, event: KnownEvent): boolean {
  switch (event.type) {
    case 'core.workflowChain.event':
      return event.payload.phase?.startsWith('child.') === true
    case 'assay.verifier.ended':
      return true
    case 'agent.toolCalled':
      // An earlier attempt may have paid for it.
      return nodeOf(draft, event.nodeId ?? '').attempt > 0
    case 'node.cancelled': {
      // Children that were let go may still spend all they were granted.
      const { workers = [], gating } = nodeOf(draft, event.nodeId ?? '')
      return gating !== undefined || workers.some(worker => worker.status === 'running')
    }
    default:
      return false
  }
}
