import type { ToolReply } from '../../core/invocation/brief.js'
import type { AgentFailure, ThoughtContents, ToolContents } from '../ports/agents.js'
import type { PerformEffect } from './effect-context.js'
import { contentsOf, errorOf, GONE, sealedEffect } from './sealed.js'

/** One call of one tool. One that must not be called twice is not called by whoever finds it half done. */
export const use: PerformEffect<'call-tool'> = async (context, run, effect, signal) => {
  const { nodeId, since, ordinal, call, position, toolId, repeat, agentId, principal, contents } = effect
  const claiming = { nodeId, ordinal: `${ordinal}.${call}.${position}`, provider: toolId }
  const told = await sealedEffect<ToolReply, ToolContents>(context, run, claiming, async (id, again, sending) => {
    if (again && repeat === 'never') return { outcome: unknownOutcome(toolId), claim: 'keep' }
    const thought = await contentsOf<ThoughtContents>(context, run.tenant, contents)
    const wanted = thought?.calls[position]
    if (wanted === undefined) return { outcome: GONE, claim: 'keep' }
    const { tenant, runId } = run
    const { args } = wanted
    sending()
    const outcome = await context.agents.use({ tenant, principal, runId, agentId, id, toolId, args, signal })
    // What was cut short has no outcome: it is tried again, or, where that must not be, somebody must look what happened.
    const isDone = outcome.ok && outcome.told.status === 'ok'
    if (signal.aborted && !isDone) return { outcome, claim: repeat === 'never' ? 'leave' : 'release' }
    return { outcome, claim: outcome.ok || !outcome.retryable ? 'keep' : 'release' }
  })
  if (told === undefined || signal.aborted) return undefined
  const { id, outcome } = told
  const answer = outcome.ok
    ? { ok: true as const, reply: outcome.told, contents: id }
    : { ok: false as const, error: errorOf(outcome) }
  return { input: { type: 'ToolAnswered', nodeId, since, call, position, answer } }
}

const unknownOutcome = (toolId: string): AgentFailure => ({
  ok: false,
  code: 'effect_outcome_unknown',
  message: `tool "${toolId}" was cut short and must not be called twice; find out there what happened`,
  retryable: false,
})
