import type { Brief } from '../../core/invocation/brief.js'
import { modelUse } from '../../core/run/evolve-node.js'
import type { BriefContents, PrepareAgentRequest } from '../ports/agents.js'
import type { TranscriptEvent } from '../ports/performer.js'
import type { EffectOf, PerformEffect } from './effect-context.js'
import { errorOf, sealedEffect } from './sealed.js'
import { readTranscript } from './transcript.js'

/** Finds out whom the node means, by which model, with which words and tools. Nothing leaves the host. */
export const prepareAgent: PerformEffect<'prepare-agent'> = async (context, run, effect, signal) => {
  const { nodeId, since, wait } = effect
  const { agent, ordinal } = wait
  const claiming = { nodeId, ordinal, provider: `agent:${agent.agentId}` }
  const told = await sealedEffect<Brief, BriefContents>(context, run, claiming, async () => {
    const transcript = wait.transcript && (await readTranscript(context, run.runId, wait.transcript))
    const outcome = await context.agents.prepare(briefRequest(run.tenant, effect, transcript, signal))
    return { outcome, claim: !signal.aborted && (outcome.ok || !outcome.retryable) ? 'keep' : 'release' }
  })
  if (told === undefined) return undefined
  const { id, outcome } = told
  const answer = outcome.ok
    ? { ok: true as const, brief: outcome.told, contents: id }
    : { ok: false as const, error: errorOf(outcome), ...(outcome.lacks ? { lacks: outcome.lacks } : {}) }
  return { input: { type: 'AgentBriefed', nodeId, since, answer } }
}

/** What is asked of agents, as the effect says it. */
export function briefRequest(
  tenant: string,
  { wait, workflowPrompts, variables, ai, models, feedback }: EffectOf<'prepare-agent'>,
  transcript: readonly TranscriptEvent[] | undefined,
  signal: AbortSignal,
): PrepareAgentRequest {
  const { agent, role, task, returnSchema, prompts = {} } = wait
  return {
    tenant,
    agent,
    role,
    task,
    prompts: { node: prompts, workflow: workflowPrompts },
    variables: { input: task, variable: variables },
    ai,
    fixed: modelClass => models[modelUse(role, modelClass)],
    ...(returnSchema ? { returnSchema } : {}),
    ...(transcript ? { transcript } : {}),
    ...(feedback ? { feedback } : {}),
    signal,
  }
}
