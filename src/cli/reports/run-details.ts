import type { Fields, RunEventDoc, RunSnapshot } from '../../client/wire-shapes.js'
import { isObject, type Json } from '../../core/json.js'
import { count, moneySpent, usd } from '../progress/agent-text.js'
import { answerCommands, headline } from '../progress/interrupt-text.js'
import { decisionText } from '../progress/loop-text.js'
import { spanText } from '../terminal/span.js'
import { missingText } from './convergence.js'

/** What `runs get` says of a run besides what every run has. */
export type DetailRow = readonly [name: string, value: string]

/** What a run may use at most, by the protocol's names: what it asks for, and what the host allows. */
const BOUNDS = [
  ['recursionLimit', 'maxNodeExecutions', (limit: number) => `${limit} node executions`],
  ['maxLoopIterations', 'maxLoopIterations', (limit: number) => `${limit} turns`],
  ['runTimeoutMs', 'maxRunDurationMs', spanText],
] as const

/** The host's own limits are worth asking for. */
export const hasCeilings = ({ configurable = {}, loop }: RunSnapshot): boolean =>
  loop !== undefined || BOUNDS.some(([asked]) => configurable[asked] !== undefined)

/** The lower of what the run asks for and what the host allows; undefined when neither says. */
function effective(asked: unknown, allowed: unknown): number | undefined {
  const limits = [asked, allowed].filter(limit => typeof limit === 'number')
  return limits.length === 0 ? undefined : Math.min(...limits)
}

/** Where the loop stands, who decides and acts in it, and what bounds the run. `discovery` is the host's. */
export function loopRows(run: RunSnapshot, discovery: Fields): DetailRow[] {
  const { loop, runOrchestrator, agent, configurable = {} } = run
  const limits = isObject(discovery.limits as Json) ? (discovery.limits as Fields) : {}
  const rows: DetailRow[] = []
  if (loop !== undefined) {
    const limit = effective(loop.limit, limits.maxLoopIterations)
    rows.push(['turn', `${loop.iteration}${limit === undefined ? '' : ` of ${limit}`}, ${loop.phase}`])
    rows.push(['decision', decisionText(loop.decision)])
  }
  if (runOrchestrator !== undefined) rows.push(['decides', runOrchestrator.agentId])
  if (agent !== undefined) rows.push(['agent', agent.agentId])
  if (!hasCeilings(run)) return rows
  const bounds = BOUNDS.flatMap(([asked, allowed, text]) => {
    const limit = effective(configurable[asked], limits[allowed])
    return limit === undefined ? [] : [text(limit)]
  })
  return bounds.length === 0 ? rows : [...rows, ['bounds', bounds.join(', ')]]
}

/** What the run and its children have spent, each against its ceiling where there is one. */
export function spendRows({ assay }: RunSnapshot, priced?: 'all' | 'not-all'): DetailRow[] {
  if (assay === undefined) return []
  const { spend, held, budget = {} } = assay
  const of = (amount: string, ceiling: number | undefined, text: (most: number) => string = String) =>
    ceiling === undefined ? amount : `${amount} of ${text(ceiling)}`
  return [
    ['tokens', of(String(spend.tokens), budget.maxTokens)],
    ['cost', of(costText(spend, priced), budget.maxCostUsd, usd)],
    ['tool calls', of(String(spend.toolCalls), budget.maxToolCalls)],
    ['retries', of(String(spend.retries), budget.maxRetries)],
    ...judgingRows(spend.verification),
    ...heldRows(held),
  ]
}

type Spent = { readonly tokens: number; readonly costUsd: number }

const costText = (spend: Spent, priced: 'all' | 'not-all' | undefined): string =>
  priced === 'not-all' ? 'unknown' : priced === 'all' ? usd(spend.costUsd) : moneySpent(spend)

type Usage = { readonly totalTokens?: number; readonly costEstimateUsd?: number }

/** Whether everything that these logs tell of had a price; undefined where they tell of nothing that took tokens. */
export function pricedIn(events: readonly RunEventDoc[]): 'all' | 'not-all' | undefined {
  const usages = events.flatMap(({ type, payload }) => (type === 'provider.usage' ? [payload as Usage] : []))
  const used = usages.filter(({ totalTokens = 0 }) => totalTokens > 0)
  if (used.length === 0) return undefined
  return used.every(({ costEstimateUsd }) => costEstimateUsd !== undefined) ? 'all' : 'not-all'
}

/** What nobody knows the cost of is not among what was spent. */
const heldRows = (held: NonNullable<RunSnapshot['assay']>['held']): DetailRow[] =>
  held === undefined ? [] : [['held', `${count(held.tokens, 'token')}, up to ${usd(held.costUsd)}: cost unknown`]]

/** R-DWS-28: what of it went to verifiers. */
const judgingRows = (spent: NonNullable<RunSnapshot['assay']>['spend']['verification']): DetailRow[] =>
  spent === undefined ? [] : [['verifying', `${count(spent.tokens, 'token')}, ${moneySpent(spent)} of it`]]

/** Whether the run reached what it was for, once it has ended. */
export function goalRows(run: RunSnapshot): DetailRow[] {
  if (run.convergence === undefined || run.completedAt === undefined) return []
  const { goalSatisfied } = run.convergence
  if (goalSatisfied === undefined) return []
  if (goalSatisfied) return [['goal', 'satisfied']]
  const missing = missingText(run)
  return [['goal', `not satisfied${missing === undefined ? '' : `: ${missing}`}`]]
}

/** Results that gates have judged: at which gate, whose, how often, how they stand, and what that has cost (R-DWS-27). */
export const gateRows = ({ assay }: RunSnapshot): string[][] =>
  (assay?.gates ?? []).map(({ gateId, nodeId, workerId, verdict, label, attempts, blocking = 0, cost }) => [
    gateId,
    nodeId,
    workerId ?? '',
    label ?? verdict ?? 'open',
    String(attempts),
    String(blocking),
    moneySpent(cost.execution),
    moneySpent(cost.verification),
  ])

/** Agents that are at work now: where, who, with which model, and how far. */
export const invocationRows = ({ nodeStates = {} }: RunSnapshot): string[][] =>
  Object.entries(nodeStates).flatMap(([nodeId, { invocation }]) => {
    if (invocation === undefined) return []
    const { agentId, provider, model, phase, modelCalls } = invocation
    return [[nodeId, agentId, `${provider}:${model}`, phase, String(modelCalls)]]
  })

/** Those that a node hands work to now: who, how far, and as which run. */
export const workerRows = ({ nodeStates = {} }: RunSnapshot): string[][] =>
  Object.entries(nodeStates).flatMap(([nodeId, { workers = [] }]) =>
    workers.map(({ workerId, status, childRunId }) => [nodeId, workerId, status, childRunId ?? '']),
  )

/** What the run waits for, and the command that answers. */
export function waitingRows({ runId, workflowId, interrupt, childRuns = [] }: RunSnapshot): DetailRow[] {
  if (interrupt === undefined)
    return childRuns
      .filter(child => child.status.startsWith('waiting-'))
      .map(child => ['answer', `assay interrupts show ${child.runId}`])
  const { kind, data, expiresAt } = interrupt
  const [command] = answerCommands({ runId, workflowId, ...interrupt })
  return [
    ['waits for', `${kind}: ${headline(kind, data)}`],
    ...(expiresAt === undefined ? [] : [['expires', expiresAt] as const]),
    ['look', `assay interrupts show ${runId}`],
    ...(command === undefined ? [] : [['answer', command] as const]),
  ]
}
