import type { Recorded } from '../run/events.js'
import type { NodeState, RunBase } from '../run/state.js'
import { gatingIn, verifiersIn, workersOf } from '../run/waiting.js'
import { asSpend, type Ceilings, NOTHING_SPENT, plus, type Spend } from './budget.js'

/** One amount that an event tells to be spent, and on what. */
export type Charge = {
  /** Whose work it is, by position; the node's own where absent. */
  readonly worker?: number
  readonly spent: Partial<Spend>
  /** What it may have cost besides, and nobody knows: held against the ceilings, and no cost (I7). */
  readonly held?: Partial<Spend>
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
      const { heldTokens, heldCostUsd, chargedTokens, chargedCostUsd } = event.payload
      // Logs of earlier versions told it as spent, and their sums go on from there.
      if (chargedTokens !== undefined) return [{ spent: { tokens: chargedTokens, costNano: nanoOf(chargedCostUsd) } }]
      return [{ spent: {}, held: { tokens: heldTokens ?? 0, costNano: nanoOf(heldCostUsd) } }]
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
    case 'assay.peer.lost':
      return byLostPeer(event, node)
    case 'assay.verifier.ended': {
      const { spent, held } = event.secret ?? {}
      return spent || held ? [judging(node, spent ?? {}, held)] : NO_CHARGES
    }
    default:
      return NO_CHARGES
  }
}

const nanoOf = (usd: number | undefined): number => Math.round((usd ?? 0) * 1_000_000_000)

/** A peer that is being asked may have begun already. */
const mayWork = (child: { readonly is: string; readonly beganAt?: number }): boolean =>
  child.is === 'running' || (child.is === 'dispatching' && child.beganAt !== undefined)

/** Children that were let go may still spend all they were granted; what they do spend is never heard. */
function letGo(node: NodeState | undefined): readonly Charge[] {
  const granted = (child: { readonly is: string; readonly grant?: Ceilings; readonly beganAt?: number }) =>
    mayWork(child) && child.grant ? [asSpend(child.grant)] : []
  return [
    ...workersOf(node).flatMap((state, worker) => granted(state).map(held => ({ worker, spent: {}, held }))),
    ...verifiersIn(node).flatMap(state => granted(state).map(held => judging(node, {}, held))),
  ]
}

/** R-BUDGET-7: what a child has spent is spent here too, and what it holds is held. */
function byWorker(
  { payload: { childRunId }, secret }: Extract<Recorded, { type: 'core.workflowChain.event' }>,
  node: NodeState | undefined,
): readonly Charge[] {
  const spent = secret && 'spent' in secret ? secret.spent : undefined
  const held = secret && 'held' in secret ? secret.held : undefined
  if (!secret || (!spent && !held)) return NO_CHARGES
  const verification = 'verification' in secret ? secret.verification : undefined
  const worker = workersOf(node).findIndex(state => state.is === 'running' && state.childRunId === childRunId)
  return [
    {
      spent: spent ?? {},
      ...(held ? { held } : {}),
      ...(verification ? { verification } : {}),
      ...(worker < 0 ? {} : { worker }),
    },
  ]
}

/** Nobody will say what it has spent of its grant. */
function byLostPeer(
  { cause }: Extract<Recorded, { type: 'assay.peer.lost' }>,
  node: NodeState | undefined,
): readonly Charge[] {
  const worker = workersOf(node).findIndex(
    state =>
      (state.is === 'running' && state.succeeded === cause) || (state.is === 'dispatching' && state.began === cause),
  )
  const state = workersOf(node)[worker]
  if ((state?.is !== 'running' && state?.is !== 'dispatching') || !state.grant) return NO_CHARGES
  return [{ worker, spent: {}, held: asSpend(state.grant) }]
}

function judging(node: NodeState | undefined, spent: Partial<Spend>, held?: Spend): Charge {
  const worker = gatingIn(node)?.worker
  return {
    spent,
    verification: spent,
    isJudging: true,
    ...(held ? { held } : {}),
    ...(worker === undefined ? {} : { worker }),
  }
}

/** Those that are a cost: what is only held is none. */
export const paidOf = (charges: readonly Charge[]): readonly Charge[] =>
  charges.filter(({ spent }) => Object.keys(spent).length > 0)

export const evolveSpend = (
  { spend = NOTHING_SPENT }: Pick<RunBase, 'spend'>,
  charges: readonly Charge[],
): Spend | undefined =>
  charges.length === 0 ? undefined : charges.reduce((sum, charge) => plus(sum, charge.spent), spend)

/** What nobody knows the cost of, all together. */
export function evolveHeld(
  { held: before = NOTHING_SPENT }: Pick<RunBase, 'held'>,
  charges: readonly Charge[],
): Spend | undefined {
  const more = charges.flatMap(({ held }) => (held ? [held] : []))
  return more.length === 0 ? undefined : more.reduce<Spend>(plus, before)
}

/** R-DWS-28: the ledger of verification. What is in it is in the other as well, so one ceiling holds for both. */
export function evolveVerification(
  { verification: before = NOTHING_SPENT }: Pick<RunBase, 'verification'>,
  charges: readonly Charge[],
): Spend | undefined {
  const judged = charges.flatMap(({ verification }) => (verification ? [verification] : []))
  return judged.length === 0 ? undefined : judged.reduce<Spend>(plus, before)
}
