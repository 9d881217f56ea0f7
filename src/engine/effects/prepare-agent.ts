import type { Brief } from '../../core/invocation/brief.js'
import { modelUse } from '../../core/run/evolve-node.js'
import type { BriefContents } from '../ports/agents.js'
import type { PerformEffect } from './effect-context.js'
import { errorOf, sealedEffect } from './sealed.js'
import { readTeam } from './team.js'
import { readTranscript } from './transcript.js'

/** Finds out whom the node means, by which model, with which words and tools. Nothing leaves the host. */
export const prepareAgent: PerformEffect<'prepare-agent'> = async (context, run, effect, signal) => {
  const { nodeId, since, wait, workflowPrompts, variables, ai, models, feedback } = effect
  const { agent, role, task, ordinal, returnSchema, prompts = {} } = wait
  const claiming = { nodeId, ordinal, provider: `agent:${agent.agentId}` }
  const told = await sealedEffect<Brief, BriefContents>(context, run, claiming, async () => {
    const transcript = wait.transcript && (await readTranscript(context, run.runId, wait.transcript))
    const team = role === 'supervisor' ? await readTeam(context, run) : undefined
    const outcome = await context.agents.prepare({
      tenant: run.tenant,
      agent,
      role,
      task,
      prompts: { node: prompts, workflow: workflowPrompts },
      variables: { input: task, variable: variables },
      ai,
      fixed: modelClass => models[modelUse(role, modelClass)],
      ...(returnSchema ? { returnSchema } : {}),
      ...(transcript ? { transcript } : {}),
      ...(team ? { team } : {}),
      ...(feedback ? { feedback } : {}),
      signal,
    })
    return { outcome, claim: !signal.aborted && (outcome.ok || !outcome.retryable) ? 'keep' : 'release' }
  })
  if (told === undefined) return undefined
  const { id, outcome } = told
  const answer = outcome.ok
    ? { ok: true as const, brief: outcome.told, contents: id }
    : { ok: false as const, error: errorOf(outcome) }
  return { input: { type: 'AgentBriefed', nodeId, since, answer } }
}
