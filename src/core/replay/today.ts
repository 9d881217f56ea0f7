import { type Brief, MOCK_PROVIDER, type PromptsTold } from '../invocation/brief.js'
import { prepareAgentEffect } from '../invocation/effects.js'
import type { Effect } from '../run/effects.js'
import type { RunInput } from '../run/input.js'
import { type Active, nodeAt } from '../run/state.js'
import { type Plan, planNodeOf } from '../workflow/plan.js'
import type { EnvelopeKind, Fork } from './events.js'

type Live = Exclude<RunInput, { type: 'Retold' }>

/**
 * What a replay would like to know of today before it tells a decision again. All of it lies on the host: to answer is
 * to read, and nothing is called (I2).
 */
export type TodayQuestion =
  /** R-PROMPT-6: which prompts the agent would be given now. */
  | {
      readonly kind: 'prompts'
      readonly plan: Plan
      readonly effect: Extract<Effect, { kind: 'prepare-agent' }>
      readonly brief: Brief
    }
  /** R-REPLAY-19: whether the provider that is programmed would refuse this call now. */
  | { readonly kind: 'envelope'; readonly nodeId: string; readonly call: number }

/** What has diverged already is not compared any more; what a node says is not deterministic never is. */
export function questionIn(plan: Plan, state: Active, input: RunInput): TodayQuestion | undefined {
  if (state.diverged || (input.type !== 'AgentBriefed' && input.type !== 'ModelAnswered')) return undefined
  const planNode = planNodeOf(plan, input.nodeId)
  const node = planNode && nodeAt(state, planNode.index)
  if (!planNode || node?.is !== 'waiting' || planNode.node.config.nondeterministic === true) return undefined
  if (!input.answer.ok) return undefined
  if (input.type === 'AgentBriefed')
    return node.on === 'brief' && 'brief' in input.answer
      ? { kind: 'prompts', plan, effect: prepareAgentEffect(plan, state, planNode, node), brief: input.answer.brief }
      : undefined
  const isMock = node.on === 'agent' && node.invocation.brief.provider === MOCK_PROVIDER
  return isMock ? { kind: 'envelope', nodeId: input.nodeId, call: input.call } : undefined
}

/** The input as it would be heard today, as far as that was found out; `at` is where the source heard it. */
export function asToday(input: Live, today: PromptsTold | EnvelopeKind, { sourceRunId }: Fork, at: number): Live {
  if (input.type === 'AgentBriefed' && input.answer.ok && typeof today === 'object')
    return { ...input, answer: { ...input.answer, brief: { ...input.answer.brief, ...today } } }
  if (input.type !== 'ModelAnswered' || !input.answer.ok || typeof today !== 'string') return input
  const { nodeId, since, now } = input
  const original: EnvelopeKind = input.answer.reply.said.kind === 'refused' ? 'refusal' : 'valid'
  // R-REPLAY-4: where it is the same, the record stands.
  if (original === today) return input
  const told = {
    sourceRunId,
    atSequence: at,
    originalEventId: `${sourceRunId}:${at}`,
    nodeId,
    originalEnvelopeKind: original,
    replayEnvelopeKind: today,
  }
  return { type: 'RefusalDiverged', nodeId, since, told, now }
}
