import type { Recorded } from '../run/events.js'
import type { NodeState, RunBase } from '../run/state.js'
import { gatingIn, verifiersIn, workersOf } from '../run/waiting.js'
import { asSpend, type Ceilings, NOTHING_SPENT, plus, type Spend } from './budget.js'

/** One amount that an event tells to be spent, and on what. */
export type Charge = {
  /** Whose work it is, by position; the node's own where absent. */
  readonly worker?: number
  readonly spent: Partial<Spend>
  /** Of `spent`: what went to verifiers (R-DWS-28). All of it, where it was spent to judge that very work. */
  readonly verification?: Partial<Spend>
  readonly isJudging?: true
}

const NO_CHARGES: readonly Charge[] = []

/** R-BUDGET-3: what a run has spent is read off events that are there for other reasons; nothing is counted twice. */
export function chargesOf(event: Recorded, node: NodeState | undefined): readonly Charge[] {
  switch (event.type) {
    case 'provider.usage': {
      const { totalTokens, costEstimateUsd, cacheHit } = event.payload
      return cacheHit ? NO_CHARGES : [{ spent: { tokens: totalTokens, costNano: nanoOf(costEstimateUsd) } }]
    }
    case 'assay.model.lost': {
      const { chargedTokens, chargedCostUsd } = event.payload
      return [{ spent: { tokens: chargedTokens, costNano: nanoOf(chargedCostUsd) } }]
    }
    case 'agent.toolCalled':
      return event.secret?.paid ? NO_CHARGES : [{ spent: { toolCalls: 1 } }]
    case 'envelope.retry.attempted':
    case 'node.retried':
      return [{ spent: { retries: 1 } }]
    case 'node.cancelled':
      return letGo(node)
    case 'core.workflowChain.event':
      return byWorker(event, node)
    case 'assay.verifier.ended':
      return event.secret?.spent ? [judging(node, event.secret.spent)] : NO_CHARGES
    default:
      return NO_CHARGES
  }
}

const nanoOf = (usd: number | undefined): number => Math.round((usd ?? 0) * 1_000_000_000)

/** Children that were let go may still spend all they were granted. */
function letGo(node: NodeState | undefined): readonly Charge[] {
  const granted = (child: { readonly is: string; readonly grant?: Ceilings }) =>
    child.is === 'running' && child.grant ? [asSpend(child.grant)] : []
  return [
    ...workersOf(node).flatMap((state, worker) => granted(state).map(spent => ({ worker, spent }))),
    ...verifiersIn(node).flatMap(state => granted(state).map(spent => judging(node, spent))),
  ]
}

/** R-BUDGET-7: what a child has spent is spent here too. */
function byWorker(
  { payload: { childRunId }, secret }: Extract<Recorded, { type: 'core.workflowChain.event' }>,
  node: NodeState | undefined,
): readonly Charge[] {
  if (!secret || !('spent' in secret) || !secret.spent) return NO_CHARGES
  const { spent, verification } = secret
  const worker = workersOf(node).findIndex(state => state.is === 'running' && state.childRunId === childRunId)
  return [{ spent, ...(verification ? { verification } : {}), ...(worker < 0 ? {} : { worker }) }]
}

function judging(node: NodeState | undefined, spent: Spend): Charge {
  const worker = gatingIn(node)?.worker
  return { spent, verification: spent, isJudging: true, ...(worker === undefined ? {} : { worker }) }
}

export const evolveSpend = (
  { spend = NOTHING_SPENT }: Pick<RunBase, 'spend'>,
  charges: readonly Charge[],
): Spend | undefined =>
  charges.length === 0 ? undefined : charges.reduce((sum, charge) => plus(sum, charge.spent), spend)

/** R-DWS-28: the ledger of verification. What is in it is in the other as well, so one ceiling holds for both. */
export function evolveVerification(
  { verification: before = NOTHING_SPENT }: Pick<RunBase, 'verification'>,
  charges: readonly Charge[],
): Spend | undefined {
  const judged = charges.flatMap(({ verification }) => (verification ? [verification] : []))
  return judged.length === 0 ? undefined : judged.reduce(plus, before)
}
