import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { type Chain, linksOf, phaseOf } from '../handoff/chains.js'
import { fields, get, number, text } from '../json.js'
import { nodeAttemptOf, oncePerRun } from '../node/node-attempts.js'

/** What a run has spent, as its log tells it: the checker's own account. */

export const DIMENSIONS = ['tokens', 'cost', 'toolCalls', 'retries'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** By dimension; money in whole billionths of a dollar, so that sums are exact. */
export type Amounts = { readonly [dimension in Dimension]: number }

const FIELD: { readonly [dimension in Dimension]: string } = {
  tokens: 'maxTokens',
  cost: 'maxCostUsd',
  toolCalls: 'maxToolCalls',
  retries: 'maxRetries',
}

export const NOTHING: Amounts = { tokens: 0, cost: 0, toolCalls: 0, retries: 0 }

export const nano = (usd: unknown): number => Math.round((number(usd) ?? 0) * 1_000_000_000)

/** An amount as events tell it, in the unit of this account. */
export const amountOf = (dimension: Dimension, told: unknown): number =>
  dimension === 'cost' ? nano(told) : (number(told) ?? 0)

export const sum = (a: Amounts, b: Amounts): Amounts => ({
  tokens: a.tokens + b.tokens,
  cost: a.cost + b.cost,
  toolCalls: a.toolCalls + b.toolCalls,
  retries: a.retries + b.retries,
})

/** Undefined where nothing bounds the dimension. */
export function ceilingOf(dimension: Dimension, ceilings: unknown): number | undefined {
  const told = number(get(ceilings, FIELD[dimension]))
  return told === undefined ? undefined : amountOf(dimension, told)
}

const asAmounts = (read: (dimension: Dimension) => number): Amounts => ({
  tokens: read('tokens'),
  cost: read('cost'),
  toolCalls: read('toolCalls'),
  retries: read('retries'),
})

const asSpent = (ceilings: unknown): Amounts => asAmounts(dimension => ceilingOf(dimension, ceilings) ?? 0)

/** What a run may spend from an event on. */
type Reserve = {
  readonly from: number
  readonly ceilings: unknown
  /** The project may allow less than the log shows. */
  readonly atMost: boolean
}

/** What a run says it has reserved, and what a branch was given in its place. */
export const reservesOf = oncePerRun((run: RunLog): Reserve[] =>
  run.events.flatMap((event): Reserve[] => {
    const { type, payload, sequence: from } = event
    if (type === 'budget.reserved') return [{ from, ceilings: payload.effectiveBudget, atMost: false }]
    const renewed = type === 'assay.run.forked' ? get(payload.configurable, 'budget') : undefined
    return renewed === undefined ? [] : [{ from, ceilings: leastOf(renewed, run.started.grant), atMost: true }]
  }),
)

export const reserveAt = (run: RunLog, { sequence }: LoggedEvent): Reserve | undefined =>
  reservesOf(run).findLast(({ from }) => from <= sequence)

/** A child that cannot spend by itself reserves nothing, and is bound by what it was given. */
export const budgetAt = (run: RunLog, event: LoggedEvent): unknown =>
  reserveAt(run, event)?.ceilings ?? run.started.grant

function leastOf(...given: readonly unknown[]): Fields {
  const fieldsOf = DIMENSIONS.flatMap(dimension => {
    const field = FIELD[dimension]
    const told = given.map(one => number(get(one, field))).filter(amount => amount !== undefined)
    return told.length === 0 ? [] : [[field, Math.min(...told)] as const]
  })
  return Object.fromEntries(fieldsOf)
}

/** Where things stand after an event. `added` is what the event itself spent. */
export type Account = {
  readonly event: LoggedEvent
  readonly added: Amounts
  readonly spent: Amounts
  /** What nobody knows the cost of. */
  readonly held: Amounts
  /** Set aside for calls under way and for workers at work. */
  readonly aside: Amounts
  /** Nothing that was spent is hidden from this reader. */
  readonly exact: boolean
}

type Open = { readonly node: string | undefined; readonly amounts: Amounts; readonly isAtWork?: true }

export const accountsOf = oncePerRun((run: RunLog): Account[] => {
  if (!run.events.some(isSpendingEvent)) return []
  const sees = run.events.some(({ raw }) => raw.secret !== undefined)
  const chains = new Map<LoggedEvent, Chain>(linksOf(run).map(({ event, chain }) => [event, chain]))
  const calls = new Map<string | undefined, Amounts>()
  const grants = new Map<Chain | string, Open>()
  let spent = NOTHING
  let held = NOTHING
  let exact = true
  return run.events.map(event => {
    const added = !sees && isPaidBefore(run, event) ? NOTHING : spentBy(event)
    spent = sum(spent, added)
    held = [heldBy(event), ...letGo(event, grants)].reduce(sum, held)
    if (!sees && (event.type === 'provider.usage' || isChildEnd(event))) exact = false
    setAside(event, calls, grants, chains.get(event))
    const aside = [...calls.values(), ...[...grants.values()].map(({ amounts }) => amounts)].reduce(sum, NOTHING)
    const account = { event, added, spent, held, aside, exact }
    // A reader without the secrets goes by the sums that the events tell.
    if (event.type === 'budget.consumed' && !exact) spent = { ...spent, ...toldBy(event) }
    return account
  })
})

/**
 * A tool that an earlier attempt of the node called and paid for is told again. Without the secrets that say so, it
 * counts only when the log tells directly after it what it has consumed.
 */
function isPaidBefore(run: RunLog, event: LoggedEvent): boolean {
  if (event.type !== 'agent.toolCalled') return false
  if ((number(nodeAttemptOf(run, event)?.start.payload.attempt) ?? 0) === 0) return false
  const next = run.events.slice(event.sequence + 1, event.sequence + 5)
  return !next.some(
    ({ type, payload, raw }) =>
      type === 'budget.consumed' && payload.dimension === 'toolCalls' && raw.causationId === event.id,
  )
}

const isSpendingEvent = ({ type, payload }: LoggedEvent): boolean =>
  type === 'assay.model.requested' ||
  type.startsWith('budget.') ||
  (type === 'run.started' && payload.grant !== undefined)

/** A verifier works in a run of its own, too. */
const isChildEnd = (event: LoggedEvent): boolean =>
  event.type === 'assay.verifier.ended' || phaseOf(event)?.startsWith('child.') === true

function toldBy({ payload }: LoggedEvent): Partial<Amounts> {
  const dimension = DIMENSIONS.find(one => one === payload.dimension)
  return dimension === undefined ? {} : { [dimension]: amountOf(dimension, payload.consumed) }
}

/** R-BUDGET-3: nothing is counted twice; an answer from before costs nothing again. */
export function spentBy(event: LoggedEvent): Amounts {
  const { type, payload, raw } = event
  switch (type) {
    case 'provider.usage': {
      if (payload.cacheHit === true) return NOTHING
      const tokens =
        number(payload.totalTokens) ?? (number(payload.inputTokens) ?? 0) + (number(payload.outputTokens) ?? 0)
      return { ...NOTHING, tokens, cost: nano(payload.costEstimateUsd) }
    }
    case 'assay.model.lost':
      // Engines before version 4 told it as spent.
      return { ...NOTHING, tokens: number(payload.chargedTokens) ?? 0, cost: nano(payload.chargedCostUsd) }
    case 'agent.toolCalled':
      // An earlier attempt of the node has paid for it.
      return get(raw.secret, 'paid') === true ? NOTHING : { ...NOTHING, toolCalls: 1 }
    case 'envelope.retry.attempted':
    case 'node.retried':
      return { ...NOTHING, retries: 1 }
    case 'core.workflowChain.event':
    case 'assay.verifier.ended':
      return isChildEnd(event) ? spentByChild(get(raw.secret, 'spent')) : NOTHING
    default:
      return NOTHING
  }
}

/** What an event leaves of which nobody knows the cost. */
function heldBy(event: LoggedEvent): Amounts {
  const { type, payload, raw } = event
  if (type === 'assay.model.lost')
    return { ...NOTHING, tokens: number(payload.heldTokens) ?? 0, cost: nano(payload.heldCostUsd) }
  return isChildEnd(event) ? spentByChild(get(raw.secret, 'held')) : NOTHING
}

/** Children at work that a node leaves may spend all they were given. */
const letGo = ({ type, node }: LoggedEvent, grants: ReadonlyMap<unknown, Open>): Amounts[] =>
  type === 'node.cancelled'
    ? [...grants.values()].flatMap(open => (open.isAtWork && open.node === node ? [open.amounts] : []))
    : []

/** Money of a child is told in billionths already. */
export const spentByChild = (spent: unknown): Amounts => ({
  tokens: number(get(spent, 'tokens')) ?? 0,
  cost: number(get(spent, 'costNano')) ?? 0,
  toolCalls: number(get(spent, 'toolCalls')) ?? 0,
  retries: number(get(spent, 'retries')) ?? 0,
})

function setAside(
  event: LoggedEvent,
  calls: Map<string | undefined, Amounts>,
  grants: Map<Chain | string, Open>,
  chain: Chain | undefined,
): void {
  const { type, payload, node, raw } = event
  if (type === 'assay.model.requested')
    calls.set(node, { ...NOTHING, tokens: number(payload.reservedTokens) ?? 0, cost: nano(payload.reservedCostUsd) })
  else if (CLOSES_CALL.includes(type)) calls.delete(node)
  if (CLOSES_NODE.includes(type)) for (const [key, open] of grants) if (open.node === node) grants.delete(key)
  if (type === 'assay.verifier.began')
    grants.set(verifierOf(event), { node, amounts: asSpent(fields(get(raw.secret, 'grant'))) })
  if (type === 'assay.verifier.started') begin(grants, verifierOf(event))
  if (type === 'assay.verifier.ended') grants.delete(verifierOf(event))
  if (chain === undefined) return
  const phase = phaseOf(event)
  if (phase === 'dispatch.began') grants.set(chain, { node, amounts: asSpent(fields(get(raw.secret, 'grant'))) })
  else if (phase === 'dispatch.succeeded') begin(grants, chain)
  else if (phase === 'dispatch.failed' || isChildEnd(event)) grants.delete(chain)
}

function begin(grants: Map<Chain | string, Open>, key: Chain | string): void {
  const open = grants.get(key)
  if (open) grants.set(key, { ...open, isAtWork: true })
}

const verifierOf = ({ node, payload }: LoggedEvent): string => `${node}/${String(payload.verifier)}`

const CLOSES_CALL: readonly string[] = ['provider.usage', 'assay.model.lost', 'agent.invocation.completed']
const CLOSES_NODE: readonly string[] = [
  'node.started',
  'node.completed',
  'node.failed',
  'node.cancelled',
  'node.retried',
]

/** All that a run has spent. */
export const totalOf = (run: RunLog): Amounts =>
  run.events.reduce((spent, event) => sum(spent, spentBy(event)), NOTHING)

/** All that nobody knows the cost of. */
export const heldOf = (run: RunLog): Amounts => accountsOf(run).at(-1)?.held ?? NOTHING

/** The child whose end an event tells. */
export const childOf = (event: LoggedEvent): string | undefined =>
  isChildEnd(event) ? text(event.payload.childRunId) : undefined
