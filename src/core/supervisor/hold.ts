import { isObject, type Json, type JsonObject } from '../json.js'
import type { NodeContext, NodeStep, Write } from '../workflow/node-type.js'
import { DEFAULT_THRESHOLD } from './decision.js'

export type AgentOpinion = { readonly agentId: string; readonly decision: Json; readonly confidence?: number }

/** What an agent has decided by itself, for the log. */
export const tellOpinion = (payload: AgentOpinion): Write => ({
  kind: 'agent',
  event: { type: 'agent.decided', payload },
})

/** R-LOWC-1, R-LOWC-3, R-LOWC-4: suspends the node when its agent is less sure than it must be. */
export function hold({ config, configurable }: NodeContext, opinion: AgentOpinion): NodeStep | undefined {
  const { agentId, decision, confidence } = opinion
  const { escalationThreshold } = configurable
  const threshold = typeof escalationThreshold === 'number' ? escalationThreshold : DEFAULT_THRESHOLD
  if (confidence === undefined || !Number.isFinite(confidence) || confidence >= threshold) return undefined
  const data = { agentId, threshold, observed: confidence, decision }
  return {
    kind: 'asking',
    interrupt: {
      kind: 'low-confidence',
      data,
      ...(typeof config.timeoutMs === 'number' ? { timeoutMs: config.timeoutMs } : {}),
    },
    writes: [tellOpinion(opinion)],
  }
}

const ACTIONS = ['accept', 'reject', 'edit-accept']

/** What is wrong with an answer to a decision that was shown to a person. */
export function ratificationProblems(value: Json, edited: (decision: Json | undefined) => readonly string[]): string[] {
  const action = isObject(value) ? value.action : undefined
  if (!isObject(value) || !ACTIONS.includes(action as string))
    return [`resumeValue.action must be one of ${ACTIONS.join(', ')}, not ${JSON.stringify(action ?? null)}`]
  return action === 'edit-accept' ? [...edited(value.editedArtifactData)] : []
}

/** The decision that a person lets pass: as it was, or as they made it; undefined when they do not. */
export function ratification(value: Json, decision: Json): JsonObject | undefined {
  if (!isObject(value) || value.action === 'reject') return undefined
  const chosen = value.action === 'edit-accept' ? value.editedArtifactData : decision
  return isObject(chosen) ? chosen : {}
}
