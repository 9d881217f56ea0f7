import type { Brief } from '../../core/invocation/brief.js'
import type { Anchors } from '../../core/journal/entry.js'
import { modelUse } from '../../core/run/evolve-node.js'
import type { BriefContents, PrepareAgentRequest } from '../ports/agents.js'
import type { EffectContext, EffectOf, PerformEffect } from './effect-context.js'
import { errorOf, sealedEffect } from './sealed.js'
import { readTeam } from './team.js'
import { readTranscript } from './transcript.js'

/** Finds out whom the node means, by which model, with which words and tools. Nothing leaves the host. */
export const prepareAgent: PerformEffect<'prepare-agent'> = async (context, run, effect, signal) => {
  const { nodeId, since, wait } = effect
  const { agent, ordinal } = wait
  const claiming = { nodeId, ordinal, provider: `agent:${agent.agentId}` }
  const told = await sealedEffect<Brief, BriefContents>(context, run, claiming, async () => {
    const transcript = wait.transcript && (await readTranscript(context, run.runId, wait.transcript))
    const team = wait.role === 'supervisor' ? await readTeam(context, run.tenant, run.rules.plan) : undefined
    const outcome = await context.agents.prepare(briefRequest(run.tenant, effect, { transcript, team }, signal))
    return { outcome, claim: !signal.aborted && (outcome.ok || !outcome.retryable) ? 'keep' : 'release' }
  })
  if (told === undefined) return undefined
  const { id, outcome } = told
  const answer = outcome.ok
    ? { ok: true as const, brief: outcome.told, contents: id, ...(await anchorsOf(context, run.tenant, effect)) }
    : { ok: false as const, error: errorOf(outcome), ...(outcome.lacks ? { lacks: outcome.lacks } : {}) }
  return { input: { type: 'AgentBriefed', nodeId, since, answer } }
}

/** R-STATE-5: how far its scopes have come when a turn of an orchestrator begins; the run goes by it from then on. */
async function anchorsOf(
  { store }: EffectContext,
  tenant: string,
  { wait: { role }, desk }: EffectOf<'prepare-agent'>,
): Promise<{ anchors?: Anchors }> {
  if (role !== 'supervisor' || (!desk.memory && !desk.workspace)) return {}
  const heads = await store.heads(tenant, desk.memory?.scope, desk.workspace?.scope)
  return {
    anchors: {
      ...(desk.memory ? { memory: heads.memory } : {}),
      ...(desk.workspace ? { workspace: heads.workspace } : {}),
    },
  }
}

/** What is asked of agents, as the effect says it. */
export function briefRequest(
  tenant: string,
  { wait, workflowPrompts, variables, ai, models, feedback }: EffectOf<'prepare-agent'>,
  { transcript, team }: { [Part in 'transcript' | 'team']: PrepareAgentRequest[Part] | undefined },
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
    ...(team ? { team } : {}),
    ...(feedback ? { feedback } : {}),
    signal,
  }
}
