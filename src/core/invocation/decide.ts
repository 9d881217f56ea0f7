/**
 * One agent at work on one task (contract agents §14.3): rounds between a model and tools until there is a result.
 * The rounds are states, and what was answered is in the log, so whoever takes over after a crash goes on from the
 * latest round. Here the work begins and its next step is chosen; `model-call.ts` and `tool-call.ts` take it,
 * `conclude.ts` ends it.
 *
 * | node, now       | entered by                      | left by, to                                                   |
 * |-----------------|---------------------------------|---------------------------------------------------------------|
 * | brief           | node.started;                   | AgentBriefed: agent.invocation.started, to between            |
 * |                 | assay.rework.began              | no model has what is needed: model.capability.insufficient,   |
 * |                 |                                 | and the node fails                                            |
 * | agent, between  | agent.invocation.started,       | the model asks for a tool: agent.toolCalled, to using         |
 * |                 | provider.usage,                 | else: assay.model.requested, to thinking                      |
 * |                 | assay.model.lost,               | what it needs is set aside by others: stays until they settle |
 * |                 | agent.toolReturned,             |                                                               |
 * |                 | envelope.retry.attempted,       |                                                               |
 * |                 | assay.tool.delivered, .withheld |                                                               |
 * | agent, thinking | assay.model.requested           | ModelReasoned: agent.reasoning.delta, stays                   |
 * |                 |                                 | ModelAnswered: provider.usage, to between; with a result,     |
 * |                 |                                 | agent.decided; unusable or cut off, envelope.retry.attempted; |
 * |                 |                                 | refused, envelope.refusal, and the node fails                 |
 * |                 |                                 | ModelLost, an immediate pause: assay.model.lost, to between   |
 * | agent, using    | agent.toolCalled                | ToolAnswered: agent.toolReturned, to between, or to judging   |
 * | gate, point     | assay.result.staged             | passed: assay.tool.delivered; else assay.tool.withheld;       |
 * | tool, judging   |                                 | to between                                                    |
 * | agent, `asked`  | interrupt.requested             | interrupt.resolved: concluded, or the node fails              |
 * | gate, point     | assay.result.staged             | passed: concluded; sent back: to brief; else the node fails   |
 * | node            |                                 |                                                               |
 * | host            | agent.invocation.completed      | the node settles in the same decision                         |
 *
 *  I1  agent.invocation.started and agent.invocation.completed bracket all that the agent does, however it ends.
 *  I2  A call is in the log before it is made, and the most that it may cost is set aside with it.
 *  I3  One provider.usage or assay.model.lost for each assay.model.requested, one agent.toolReturned for each
 *      agent.toolCalled.
 *  I4  One call at a time; an outcome that names another call or position is heard by nobody.
 *  I5  A result that breaks the agent's schema is asked for again and never delivered; a refusal is never asked again.
 *  I6  A tool is called only from the surface of the brief, and only with the scopes of whom the run acts for.
 *  I7  What models and tools were told and answered is sealed and kept apart (`contents`). The log tells the result,
 *      reasoning as far as the run lets it, and else keys, numbers and hashes.
 *  I8  What a gated tool brings reaches the agent by assay.tool.delivered alone; an error of it by its code.
 */

import { modelProblem } from '../budget/budget.js'
import { policies } from '../budget/decide.js'
import { noteRead } from '../journal/decide.js'
import { type Failure, failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import { failAttempt } from '../run/node-lifecycle.js'
import { type Active, nodeAt } from '../run/state.js'
import type { PlanNode } from '../workflow/plan.js'
import type { Brief } from './brief.js'
import { type OutcomeOf, working } from './lifecycle.js'
import { mayCallModel, requestModelCall } from './model-call.js'
import { nextCall } from './state.js'
import { denyTool, isForbidden, mayCallTool, requestToolCall } from './tool-call.js'

/** An agent has been prepared: its invocation is opened, its model, prompts and tools are told, its task is checked. */
export function briefed(
  context: DecisionContext,
  planNode: PlanNode,
  { answer, since }: OutcomeOf<'AgentBriefed'>,
): void {
  const before = nodeAt(context.active, planNode.index)
  if (before.is !== 'waiting' || before.on !== 'brief') return
  const nodeId = planNode.node.id
  if (!answer.ok) {
    const { error, lacks } = answer
    return failAttempt(context, planNode, error, lacks ? tellLack(context, nodeId, lacks, since) : since)
  }
  const { brief, contents, anchors, read } = answer
  tellSubstitution(context, nodeId, brief, since)
  const started = context.emit({
    type: 'agent.invocation.started',
    nodeId,
    payload: {
      // R-LIVE-19: names the start it belongs to, so a replay tells the same one.
      invocationId: `${nodeId}:${since}`,
      agentId: brief.agentId,
      source: context.active.started.agentSource ?? 'workflow-node',
      modelClass: brief.modelClass,
      resolvedModel: brief.model,
      resolvedProvider: brief.provider,
      ...(brief.version === undefined ? {} : { resolvedAgentVersion: brief.version }),
      toolSurfaceCount: brief.tools.length,
      memoryBound: brief.memoryBound,
    },
    secret: { brief, contents, ...(anchors ? { anchors } : {}) },
    cause: since,
  })
  for (const { kind, chain, resolved } of brief.prompts) {
    const payload = { nodeId, agentId: brief.agentId, kind, chain, resolved }
    context.emit({ type: 'agent.promptResolved', nodeId, payload, cause: started })
  }
  context.emit({ type: 'prompt.composed', nodeId, payload: { nodeId, ...brief.composed }, cause: started })
  if (read) noteRead(context, planNode, read, started, brief.agentId)
  const problem = briefProblem(context, brief)
  if (problem) failAttempt(context, planNode, problem, started)
}

/** R-ENV-4: told before the node fails; no model is called, and no third one is looked for. */
function tellLack(
  context: DecisionContext,
  nodeId: string,
  { provider, model, missing, fallbackAttempted }: NonNullable<Lacking['lacks']>,
  cause: number,
): number {
  const payload = { nodeId, provider, model, missingCapabilities: missing, fallbackAttempted }
  return context.emit({ type: 'model.capability.insufficient', nodeId, payload, cause })
}

type Lacking = Extract<OutcomeOf<'AgentBriefed'>['answer'], { ok: false }>

function tellSubstitution(
  context: DecisionContext,
  nodeId: string,
  { provider, model, substituted }: Brief,
  cause: number,
): void {
  if (substituted === undefined) return
  const original = { originalProvider: substituted.provider, originalModel: substituted.model }
  const fallback = { fallbackProvider: provider, fallbackModel: model }
  const payload = { nodeId, ...original, ...fallback, missingCapabilities: substituted.missing }
  context.emit({ type: 'model.capability.substituted', nodeId, payload, cause })
}

function briefProblem(context: DecisionContext, brief: Brief): Failure | undefined {
  // R-MANIF-7, R-LIVE-10, R-LIVE-28: a bad task never reaches a model.
  if (brief.taskProblem !== undefined) {
    const message = `the task does not fit the task schema of agent "${brief.agentId}": ${brief.taskProblem}`
    return failure('handoff_task_schema_violation', message, { retryable: false })
  }
  const denied = policies(context.active).map(policy => modelProblem(brief, policy))
  const unpriced = context.active.budget?.maxCostUsd !== undefined && brief.price === undefined
  const why = denied.find(problem => problem !== undefined) ?? (unpriced ? UNPRICED : undefined)
  if (why === undefined) return undefined
  const message = `the budget of this run does not let it call ${brief.provider}:${brief.model}: ${why}`
  const details = { provider: brief.provider, model: brief.model }
  return failure('budget_model_denied', message, { retryable: false, details })
}

const UNPRICED = 'maxCostUsd is bounded and the model has no price; add it to prices'

/** What an agent does next by itself, or undefined when it waits. */
export function invocationMove(state: Active, index: number): 'tool' | 'model' | 'deny' | undefined {
  const node = nodeAt(state, index)
  if (node.is !== 'waiting' || node.on !== 'agent' || node.asked || node.halted) return undefined
  const { invocation } = node
  // A branch may have been made by someone who may do less than whoever started its source.
  if (invocation.now.is === 'using' && isForbidden(state, invocation)) return 'deny'
  if (invocation.now.is !== 'between') return undefined
  // What is not affordable only because of what others have set aside waits until they have settled.
  if (nextCall(invocation)) return mayCallTool(state, node) ? 'tool' : undefined
  return mayCallModel(state, invocation) ? 'model' : undefined
}

/** Takes the next step of an agent that has one to take. */
export function proceedInvocation(context: DecisionContext, planNode: PlanNode): void {
  const move = invocationMove(context.active, planNode.index)
  const node = working(context, planNode)
  if (!node || move === undefined) return
  if (move === 'model') return requestModelCall(context, planNode, node)
  if (move === 'deny') return denyTool(context, planNode, node)
  const next = nextCall(node.invocation)
  if (next) requestToolCall(context, planNode, node, next.position, next.wanted)
}
