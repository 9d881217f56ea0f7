import { MASK } from '../../core/run/redaction.js'
import type { PublicEvent } from '../../core/view/public-event.js'

/** An agent at work as a person follows it: a line per model call, tool call and decision, and never what was said. */

type Payload = { readonly [name: string]: unknown }

/** R-LIVE-4: which model it is may be found out later. */
const modelText = ({ resolvedProvider, resolvedModel }: Payload): string =>
  resolvedModel === undefined
    ? ''
    : ` with ${resolvedProvider === undefined ? '' : `${resolvedProvider}:`}${resolvedModel}`

const surfaceText = ({ toolSurfaceCount }: Payload): string =>
  toolSurfaceCount === undefined ? '' : `, ${count(toolSurfaceCount, 'tool')}`

/** What an event of an agent says, in a few words; undefined for all others. */
export function agentText({ type, payload }: PublicEvent): string | undefined {
  return TEXTS[type]?.((payload ?? {}) as Payload)
}

const TEXTS: { readonly [type: string]: (payload: Payload) => string } = {
  'agent.invocation.started': told => `${told.agentId}${modelText(told)}${surfaceText(told)}`,
  'agent.invocation.completed': told => `${told.agentId} ${told.outcome}${confidenceText(told)}`,
  'agent.promptResolved': told => `${told.kind} prompt: ${told.resolved ?? 'none'}`,
  'prompt.composed': told => `${told.kind} prompt, ${String(told.hash).slice(0, 15)}…`,
  'assay.model.requested': told =>
    `model call ${told.call}${Number(told.attempt) > 1 ? `, try ${told.attempt}` : ''}: ${count(told.reservedTokens, 'token')} set aside`,
  'assay.model.lost': told =>
    told.heldTokens === undefined
      ? `model call ${told.call} was lost with its host; ${count(told.chargedTokens, 'token')} are counted`
      : `model call ${told.call} has no answer; what it cost is unknown, ${count(told.heldTokens, 'token')} are held`,
  'provider.usage': told =>
    `${told.provider}:${told.model} ${told.inputTokens} in, ${told.outputTokens} out${costOf(told)}${told.cacheHit ? ', answered before' : ''}`,
  'agent.handoff': told => `${told.fromAgentId} → ${told.toAgentId}`,
  'agent.decided': told => `${told.agentId}${decidedText(told)}${confidenceText(told)}`,
  'agent.toolCalled': told => `${told.agentId}: ${told.toolName}`,
  'agent.toolReturned': told =>
    `${told.agentId}: ${told.toolName} ${told.status}${told.durationMs === undefined ? '' : ` in ${told.durationMs} ms`}`,
  'model.capability.substituted': told =>
    `${told.originalProvider}:${told.originalModel} lacks ${listed(told.missingCapabilities)}; ${told.fallbackProvider}:${told.fallbackModel} takes its place`,
  'model.capability.insufficient': told =>
    `${told.provider}:${told.model} lacks ${listed(told.missingCapabilities)}${told.fallbackAttempted ? ', and what would take its place does, too' : ''}`,
  'envelope.retry.attempted': told => `asked again, attempt ${told.attempt}: ${told.reason}`,
  'envelope.retry.exhausted': told => `given up after ${count(told.totalAttempts, 'attempt')}: ${told.finalReason}`,
  'envelope.refusal': told =>
    `${told.provider}:${told.model} refused${told.safetyCategory === undefined ? '' : `: ${told.safetyCategory}`}`,
  'envelope.truncated': told => `cut off after ${count(told.outputTokenCount, 'token')}: ${told.stopReason}`,
  'envelope.recovery.applied': told => `the answer was mended: ${told.path}`,
  'budget.reserved': told => ceilingsText(Object(told.effectiveBudget)),
  'budget.consumed': told => `${told.dimension}: ${told.consumed} of ${told.limit}`,
  'budget.threshold.crossed': told => `${told.dimension}: ${told.percent}% of ${told.limit} are used`,
  'budget.exhausted': told => `${told.dimension}: ${told.consumed} of ${told.limit}, nothing is left`,
}

const listed = (names: unknown): string => (Array.isArray(names) ? names.join(', ') : 'something')

/** What an agent answers is sealed; what a supervisor decides is not. */
const decidedText = ({ decision }: Payload): string =>
  decision === MASK ? ' has an answer' : `: ${shortened(JSON.stringify(decision))}`

const SHOWN = 100

/** The whole of it is in the event. */
const shortened = (text = ''): string => (text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text)

export const count = (amount: unknown, what: string): string => `${amount} ${what}${amount === 1 ? '' : 's'}`

export const confidenceText = ({ confidence }: Payload): string =>
  confidence === undefined ? '' : ` (confidence ${confidence})`

const costOf = ({ costEstimateUsd }: Payload): string =>
  typeof costEstimateUsd === 'number' ? `, ${usd(costEstimateUsd)}` : ''

/** Enough digits to see what one call costs. */
export const usd = (amount: number): string => `$${Number(amount.toFixed(6))}`

/** Tokens may have cost nothing, or have no price: a sum alone does not say which, so neither is claimed. */
export const moneySpent = ({ tokens, costUsd }: { readonly tokens: number; readonly costUsd: number }): string =>
  costUsd === 0 && tokens > 0 ? 'none known' : usd(costUsd)

const CEILINGS = [
  ['maxTokens', (most: number) => count(most, 'token')],
  ['maxCostUsd', usd],
  ['maxToolCalls', (most: number) => count(most, 'tool call')],
  ['maxRetries', (most: number) => (most === 1 ? '1 retry' : `${most} retries`)],
] as const

function ceilingsText(ceilings: Payload): string {
  const said = CEILINGS.flatMap(([name, text]) => {
    const most = ceilings[name]
    return typeof most === 'number' ? [text(most)] : []
  })
  return `at most ${said.join(', ')}`
}

/** What came of a call of a model or tool; undefined for all other events. */
export function agentOutcome(event: PublicEvent): string | undefined {
  const told = (event.payload ?? {}) as Payload
  switch (event.type) {
    case 'provider.usage':
      return agentText(event)
    case 'assay.model.lost':
      return 'lost'
    case 'agent.invocation.completed':
      return String(told.outcome)
    case 'agent.toolReturned':
      return String(told.status)
    default:
      return undefined
  }
}
