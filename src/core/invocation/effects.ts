import { deskOf } from '../journal/effects.js'
import { isObject, type Json } from '../json.js'
import { present } from '../present.js'
import type { Effect } from '../run/effects.js'
import { secretsOf } from '../run/redaction.js'
import type { Active } from '../run/state.js'
import type { OnAgent, OnBrief } from '../run/waiting.js'
import { gatesAt, isResultSensitive, placeOf } from '../verification/attempt.js'
import { feedbackIn } from '../verification/feedback.js'
import type { Plan, PlanNode } from '../workflow/plan.js'
import type { AiOverride } from './brief.js'
import type { Exchange } from './exchange.js'
import { verbosityOf } from './model-call.js'

export function prepareAgentEffect(
  plan: Plan,
  state: Active,
  planNode: PlanNode,
  node: OnBrief,
): Extract<Effect, { kind: 'prepare-agent' }> {
  const { wait, since } = node
  const nodeId = planNode.node.id
  const shown = Object.entries(state.variables).filter(([name]) => !state.hidden.variables.includes(name))
  const defaults = plan.definition.defaults as Json | undefined
  const workflowPrompts = isObject(defaults) && isObject(defaults.promptRefs) ? defaults.promptRefs : {}
  const { ai } = state.started.configurable ?? {}
  const given = { workflowPrompts, variables: Object.fromEntries(shown), ai: (isObject(ai) ? ai : {}) as AiOverride }
  // A worker that works again is a run of its own: what was found comes with what the run was given.
  const found = state.gated?.feedback[placeOf(nodeId)] ?? feedbackIn(state)
  const feedback = found && { feedback: found }
  const desk = deskOf(state, node)
  return { kind: 'prepare-agent', nodeId, since, wait, ...given, models: state.models, ...feedback, desk }
}

/** The one call that is under way; nothing while a person is asked. */
export function invocationEffects(state: Active, planNode: PlanNode, node: OnAgent): Effect[] {
  const { wait, since, invocation, asked } = node
  if (asked) return []
  const nodeId = planNode.node.id
  const { ordinal } = wait
  const { now, rounds, brief, calls } = invocation
  if (now.is === 'thinking') {
    const { call, attempt, maxOutputTokens } = now
    // A summary is cut after secrets have been taken out, so that no half of one is left.
    const wanted = verbosityOf(state)
    const verbosity = wanted === 'summary' && secretsOf(state) !== undefined ? 'full' : wanted
    return [
      {
        kind: 'call-model',
        nodeId,
        since,
        role: wait.role,
        ordinal,
        call,
        attempt,
        invocation,
        maxOutputTokens,
        verbosity,
        ...exchangeOf(state, planNode, node),
      },
    ]
  }
  if (now.is !== 'using') return []
  const { wanted, contents } = present(rounds.at(-1), 'round of the agent')
  const { toolId = '' } = present(wanted[now.position], 'tool call of the round')
  const repeat = brief.tools.find(tool => tool.toolId === toolId)?.repeat ?? 'never'
  const principal = state.started.owner.principal ?? 'core.system'
  const use = {
    ordinal,
    call: calls,
    position: now.position,
    toolId,
    repeat,
    agentId: brief.agentId,
    principal,
    contents,
    gated: gatesAt(state, nodeId, { point: 'tool', toolId }).length > 0,
    desk: deskOf(state, node),
  }
  return [{ kind: 'call-tool', nodeId, since, ...use }]
}

/** What of a sensitive value is in a task or a result nobody can tell, so nothing of either is kept. */
function exchangeOf(state: Active, planNode: PlanNode, node: OnAgent): { exchange?: Exchange } {
  const { conversationRef: ref } = node.invocation.brief
  if (ref === undefined || secretsOf(state) !== undefined || isResultSensitive(state, planNode.node)) return {}
  return { exchange: { ref, task: node.wait.task, desk: deskOf(state, node) } }
}
