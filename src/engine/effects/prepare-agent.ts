import type { Brief } from '../../core/invocation/brief.js'
import type { Anchors, Desk, EntriesRead } from '../../core/journal/entry.js'
import { SPACES } from '../../core/journal/place.js'
import { modelUse } from '../../core/run/evolve-node.js'
import type { BriefContents, PrepareAgentRequest } from '../ports/agents.js'
import type { EffectContext, EffectOf, PerformEffect } from './effect-context.js'
import { errorOf, sealedEffect } from './sealed.js'
import { readTeam } from './team.js'
import { readTranscript } from './transcript.js'

/** A brief as it is kept until the run has heard of it: with what it was made by, so that a second try tells the same. */
type KeptBrief = Brief & { readonly anchors?: Anchors; readonly read?: EntriesRead }

/**
 * Finds out whom the node means, by which model, with which words, tools and memory. No model is asked; tool
 * servers may be started or connected to, to learn what they offer.
 */
export const prepareAgent: PerformEffect<'prepare-agent'> = async (context, run, effect, signal) => {
  const { nodeId, since, wait } = effect
  const { agent, ordinal } = wait
  const { tenant, runId } = run
  const claiming = { nodeId, ordinal, provider: `agent:${agent.agentId}` }
  const told = await sealedEffect<KeptBrief, BriefContents>(context, run, claiming, async id => {
    const transcript = wait.transcript && (await readTranscript(context, runId, wait.transcript))
    const team = wait.role === 'supervisor' ? await readTeam(context, tenant, run.rules.plan) : undefined
    const anchors = await anchorsOf(context, tenant, effect)
    const seat = { tenant, runId, id, desk: deskAsOf(effect.desk, anchors) }
    const outcome = await context.agents.prepare(briefRequest(tenant, effect, { transcript, team, seat }, signal))
    const claim = !signal.aborted && (outcome.ok || !outcome.retryable) ? 'keep' : 'release'
    if (!outcome.ok) return { outcome, claim }
    const { read, ...others } = outcome
    const kept = { ...others.told, ...(anchors ? { anchors } : {}), ...(read ? { read } : {}) }
    return { outcome: { ...others, told: kept }, claim }
  })
  if (told === undefined) return undefined
  const { id, outcome } = told
  return {
    input: { type: 'AgentBriefed', nodeId, since, answer: outcome.ok ? heard(outcome.told, id) : refused(outcome) },
  }
}

const heard = ({ anchors, read, ...brief }: KeptBrief, contents: string) => ({
  ok: true as const,
  brief,
  contents,
  ...(anchors ? { anchors } : {}),
  ...(read ? { read } : {}),
})

const refused = (outcome: Parameters<typeof errorOf>[0]) => ({
  ok: false as const,
  error: errorOf(outcome),
  ...(outcome.lacks ? { lacks: outcome.lacks } : {}),
})

/** R-STATE-5: how far its scopes have come when a turn of an orchestrator begins; the run goes by it from then on. */
async function anchorsOf(
  { store }: EffectContext,
  tenant: string,
  { wait: { role }, desk }: EffectOf<'prepare-agent'>,
): Promise<Anchors | undefined> {
  if (role !== 'supervisor' || (!desk.memory && !desk.workspace)) return undefined
  const heads = await store.heads(tenant, desk.memory?.scope, desk.workspace?.scope)
  return {
    ...(desk.memory ? { memory: heads.memory } : {}),
    ...(desk.workspace ? { workspace: heads.workspace } : {}),
  }
}

/** What is seen from there once the run goes by these anchors. */
function deskAsOf(desk: Desk, anchors: Anchors | undefined): Desk {
  const spaces = SPACES.flatMap(space => {
    const place = desk[space]
    const [top, ...beneath] = place?.view ?? []
    if (!place || !top) return []
    return [
      [space, { ...place, view: [{ ...top, upTo: Math.max(top.upTo, anchors?.[space] ?? 0) }, ...beneath] }] as const,
    ]
  })
  return Object.fromEntries(spaces)
}

type Found = { readonly [Part in 'transcript' | 'team' | 'seat']?: PrepareAgentRequest[Part] | undefined }

/** What is asked of agents, as the effect says it, with what was found for it. */
export function briefRequest(
  tenant: string,
  { wait, workflowPrompts, variables, ai, models, feedback }: EffectOf<'prepare-agent'>,
  { transcript, team, seat }: Found,
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
    ...(seat ? { seat } : {}),
    ...(feedback ? { feedback } : {}),
    signal,
  }
}
