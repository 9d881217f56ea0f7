import { type Json, type JsonObject, own } from '../../core/json.js'
import { type Ended, isWaiting } from '../../core/run/state.js'
import { actorsIn } from '../../core/workflow/actors.js'
import type { Plan } from '../../core/workflow/plan.js'
import { sha256OfJson } from '../../digest.js'
import type { EffectOf, PerformEffect } from './effect-context.js'

/**
 * Looks what has become of a child. Its end wakes the parent in the same commit, and so does its waiting for someone,
 * which the parent mirrors; looking again is always harmless.
 */
export const watchChild: PerformEffect<'watch-child'> = async (context, _run, effect) => {
  const { nodeId, childRunId, status: known, early } = effect
  const cell = context.cache.get(childRunId)
  const row = cell?.loaded?.state.phase === 'ended' ? undefined : await context.store.readRun(null, childRunId)
  if (early || (row && row.endedAt === null)) {
    // One that has ended waits for nobody.
    const status = row && isWaiting(row.status) ? row.status : 'running'
    return status === known ? undefined : { input: { type: 'ChildWaits', nodeId, childRunId, status } }
  }
  const child = await context.runs.load(context.cache.enter(childRunId), row?.length)
  return child?.state.phase === 'ended' ? { input: childEndedInput(effect, child.state, child.rules.plan) } : undefined
}

const modelsOf = ({ models }: Ended): string[] => [
  ...new Set(Object.values(models).map(({ provider, model }) => `${provider}:${model}`)),
]

const promptsOf = ({ models }: Ended): string[] => [
  ...new Set(Object.values(models).flatMap(({ promptHash }) => promptHash ?? [])),
]

/** What the parent is told of a child's end: of its variables only those that are mapped back. */
export function childEndedInput(
  { nodeId, childRunId, wanted, attest }: EffectOf<'watch-child'>,
  child: Ended,
  plan: Pick<Plan, 'nodes'>,
) {
  const agents = actorsIn(plan)
  const [models, prompts] = [modelsOf(child), promptsOf(child)]
  const { outcome, variables, channels, hidden } = child
  const told: [string, Json][] = []
  for (const name of outcome.status === 'completed' ? new Set(wanted) : []) {
    const value = own(channels, name) ?? own(variables, name)
    if (value !== undefined) told.push([name, value])
  }
  const outputs: JsonObject = Object.fromEntries(told)
  return {
    type: 'ChildEnded' as const,
    nodeId,
    childRunId,
    status: outcome.status,
    variables: outputs,
    hidden: [...hidden.variables, ...hidden.channels].filter(name => own(outputs, name) !== undefined),
    // R-ATTEST-1
    ...(attest && outcome.status === 'completed' ? { checksum: sha256OfJson(outputs) } : {}),
    ...(outcome.status === 'failed' ? { error: outcome.error } : {}),
    ...(child.spend ? { spent: child.spend } : {}),
    ...(child.held ? { held: child.held } : {}),
    ...(child.verification ? { verification: child.verification } : {}),
    ...(agents.length > 0 ? { agents } : {}),
    ...(models.length > 0 ? { models } : {}),
    ...(prompts.length > 0 ? { prompts } : {}),
    // R-VERIFY-19
    ...(outcome.status === 'completed' && outcome.goalSatisfied === false ? { goalSatisfied: false as const } : {}),
  }
}
