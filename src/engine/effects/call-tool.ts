import type { ToolReply } from '../../core/invocation/brief.js'
import { toolValue } from '../../core/invocation/tool-value.js'
import type { AgentFailure, ModelCallContents, ToolContents } from '../ports/agents.js'
import type { PerformEffect } from './effect-context.js'
import { effectTrace } from './effect-trace.js'
import { contentsOf, errorOf, GONE, sealedEffect } from './sealed.js'

/** One call of one tool. One that must not be called twice is not called by whoever finds it half done. */
export const callTool: PerformEffect<'call-tool'> = async (context, run, effect, signal) => {
  const { nodeId, since, ordinal, call, position, toolId, repeat, agentId, principal, contents, gated, desk } = effect
  const claiming = { nodeId, ordinal: `${ordinal}.${call}.${position}`, provider: toolId }
  const told = await sealedEffect<ToolReply, ToolContents>(context, run, claiming, async (id, again, sending) => {
    if (again && repeat === 'never') return { outcome: unknownOutcome(toolId), claim: 'keep' }
    const thought = await contentsOf<ModelCallContents>(context, run.tenant, contents)
    const wanted = thought?.calls[position]
    if (wanted === undefined) return { outcome: GONE, claim: 'keep' }
    const { tenant, runId } = run
    const { args } = wanted
    sending()
    const outcome = await context.agents.callTool({
      tenant,
      principal,
      runId,
      agentId,
      id,
      traceparent: effectTrace(run, id),
      toolId,
      args,
      desk,
      signal,
    })
    // What was cut short has no outcome: it is tried again, or, where that must not be, somebody must look what happened.
    const isDone = outcome.ok && outcome.told.status === 'ok'
    if (signal.aborted && !isDone) return { outcome, claim: repeat === 'never' ? 'leave' : 'release' }
    return { outcome, claim: outcome.ok || !outcome.retryable ? 'keep' : 'release' }
  })
  if (told === undefined || signal.aborted) return undefined
  const { id, outcome } = told
  const answer = outcome.ok
    ? { ok: true as const, reply: outcome.told, contents: id, ...(gated ? judgedOf(outcome) : {}) }
    : { ok: false as const, error: errorOf(outcome) }
  return { input: { type: 'ToolAnswered', nodeId, since, call, position, answer } }
}

/** What a gate is to see of it: what the agent would be told. Words of a tool that has failed are nobody's to judge. */
const judgedOf = ({ told, contents }: { readonly told: ToolReply; readonly contents: ToolContents }) =>
  told.status === 'ok' ? { result: toolValue(contents.text) } : {}

const unknownOutcome = (toolId: string): AgentFailure => ({
  ok: false,
  code: 'effect_outcome_unknown',
  message: `tool "${toolId}" was cut short and must not be called twice; find out there what happened`,
  retryable: false,
})
