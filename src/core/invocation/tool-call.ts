import { plus } from '../budget/budget.js'
import { committedBy, roomFor, spentBy, tellSpend } from '../budget/decide.js'
import { exhaust } from '../budget/exhaust.js'
import { noteRead, writeEntry } from '../journal/decide.js'
import { present } from '../present.js'
import { tellArtifact } from '../run/artifact.js'
import type { DecisionContext } from '../run/decision-context.js'
import { failAttempt, valueTooLarge } from '../run/node-lifecycle.js'
import { carriesSecret, MASK, maskWithin, secretsOf } from '../run/redaction.js'
import type { Active } from '../run/state.js'
import { isTooLarge } from '../run/value-size.js'
import { NO_CALLS, type OnAgent } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import type { ArtifactMade, Brief, ToolReply, ToolTerms, ToolWanted } from './brief.js'
import { ledTo, type OutcomeOf, working } from './lifecycle.js'
import type { InvocationState } from './state.js'
import { type ToolError, toolError } from './tool-codes.js'
import { gatesBefore, stageResult } from './tool-gate.js'

/** Whether an earlier attempt of the node has paid for the next tool call, and left its outcome. */
const isPaid = ({ calls: { made, paid } = NO_CALLS }: OnAgent): boolean => made.uses < paid.uses

/** Whether there is room for a call, or never will be. */
export const mayCallTool = (state: Active, node: OnAgent): boolean =>
  isPaid(node) || roomFor(state, { toolCalls: 1 }) !== 'not-yet'

const oneMore = (state: Active) => plus(committedBy(state), { toolCalls: 1 })

/** R-TOOL-3: every call is told before it is made, by hash. R-TOOL-4: what the principal may not do is not done. */
export function requestToolCall(
  context: DecisionContext,
  planNode: PlanNode,
  node: OnAgent,
  position: number,
  wanted: ToolWanted,
): void {
  const { invocation } = node
  const nodeId = planNode.node.id
  const { brief } = invocation
  const cause = ledTo(invocation)
  const terms = termsOf(brief, wanted.toolId)
  if (!isPaid(node) && roomFor(context.active, { toolCalls: 1 }) === 'toolCalls')
    return exhaust(context, planNode, { is: 'tool-call' }, 'toolCalls', oneMore(context.active), cause)
  const tool = { agentId: brief.agentId, toolName: terms.toolId, toolId: terms.toolId }
  const { owner } = context.active.started
  const before = spentBy(context.active)
  const called = context.emitNumbered(sequence => ({
    type: 'agent.toolCalled',
    nodeId,
    payload: {
      ...tool,
      callId: `call-${sequence}`,
      argsHash: wanted.argsHash,
      principal: owner.principal ?? 'core.system',
      transport: terms.transport,
    },
    secret: { position, ...(isPaid(node) ? { paid: true as const } : {}) },
    cause,
  }))
  tellSpend(context, before, called)
  const notCalled =
    missingScopes(context.active, terms).length > 0
      ? 'forbidden'
      : wanted.problem === undefined
        ? undefined
        : 'invalid_arguments'
  if (notCalled === undefined) return
  const error = notCalled === 'forbidden' ? forbidden(terms.toolId, terms.scopes) : toolError(notCalled)
  context.emit({
    type: 'agent.toolReturned',
    nodeId,
    payload: { ...tool, callId: `call-${called}`, status: notCalled === 'forbidden' ? 'forbidden' : 'error', error },
    secret: { position, code: notCalled },
    cause: called,
  })
}

/** R-TOOL-4: what the tool asks for and whoever the run acts for may not do. */
const missingScopes = ({ started: { principalScope = [] } }: Active, { scopes }: ToolTerms): readonly string[] =>
  scopes.filter(scope => !principalScope.includes(scope))

const toolInUse = ({ brief, rounds, now }: InvocationState): ToolTerms => {
  const toolId = now.is === 'using' ? rounds.at(-1)?.wanted[now.position]?.toolId : undefined
  return termsOf(brief, toolId)
}

/** On what terms the agent has a tool; what is called was found on its surface. */
const termsOf = ({ tools }: Brief, toolId: string | undefined): ToolTerms =>
  present(
    tools.find(tool => tool.toolId === toolId),
    `tool "${toolId}" on the surface of the agent`,
  )

/** Whether the tool that is being called asks for what whoever the run acts for may not do. */
export const isForbidden = (state: Active, invocation: InvocationState): boolean =>
  missingScopes(state, toolInUse(invocation)).length > 0

export function denyTool(context: DecisionContext, { node: { id: nodeId } }: PlanNode, { invocation }: OnAgent): void {
  const { now, brief } = invocation
  if (now.is !== 'using') return
  const { toolId, scopes } = toolInUse(invocation)
  const tool = { agentId: brief.agentId, toolName: toolId, toolId, callId: now.callId }
  context.emit({
    type: 'agent.toolReturned',
    nodeId,
    payload: { ...tool, status: 'forbidden', error: forbidden(toolId, scopes) },
    secret: { position: now.position, code: 'forbidden' },
    cause: now.called,
  })
}

const forbidden = (toolName: string, scopes: readonly string[]): ToolError =>
  toolError('forbidden', { scope: 'tool', toolName, requiredScopes: [...scopes] })

export function toolAnswered(
  context: DecisionContext,
  planNode: PlanNode,
  { position, call, answer }: OutcomeOf<'ToolAnswered'>,
): void {
  const invocation = working(context, planNode)?.invocation
  const now = invocation?.now
  if (!invocation || now?.is !== 'using' || now.position !== position || invocation.calls !== call) return
  if (!answer.ok) return failAttempt(context, planNode, answer.error, now.called)
  const { toolId } = toolInUse(invocation)
  const gates = gatesBefore(context, planNode, toolId)
  const reply = gates.blocking.length === 0 ? answer.reply : judgeable(answer)
  const { result } = answer
  // What a tool keeps for the run is the agent's own work, and stands before the gates of the agent.
  const isGated =
    gates.isGated &&
    reply.status === 'ok' &&
    !reply.artifact &&
    !reply.entry &&
    result !== undefined &&
    !isTooLarge(result)
  const returned = context.emit({
    type: 'agent.toolReturned',
    nodeId: planNode.node.id,
    payload: {
      agentId: invocation.brief.agentId,
      toolName: toolId,
      toolId,
      callId: now.callId,
      status: reply.status,
      ...(reply.status === 'rate_limited' ? {} : { durationMs: reply.durationMs }),
      ...(reply.status === 'ok' ? {} : { error: errorOf(reply) }),
    },
    secret: {
      position,
      contents: answer.contents,
      resultTokens: reply.resultTokens,
      ...(isGated ? { gated: true as const } : {}),
      ...withheldWords(reply, gates.blocking),
    },
    cause: now.called,
  })
  const { agentId } = invocation.brief
  if (reply.read) noteRead(context, planNode, reply.read, returned, agentId)
  const problem = reply.entry && writeEntry(context, planNode, reply.entry, returned, agentId)
  if (problem) return failAttempt(context, planNode, problem, returned)
  if (reply.artifact !== undefined) keepArtifact(context, planNode, reply.artifact, returned)
  else if (isGated) stageResult(context, planNode, now.callId, result, returned)
}

/** What is too large to be put before a gate that blocks is an error: nobody can have judged it. */
const judgeable = ({ reply, result }: Extract<OutcomeOf<'ToolAnswered'>['answer'], { ok: true }>): ToolReply =>
  reply.status !== 'ok' || (result !== undefined && !isTooLarge(result))
    ? reply
    : { ...reply, status: 'error', code: 'tool_result_too_large' }

/** An error may hold as much of a tool's own words as a result does; behind a gate that blocks, its code is told. */
const withheldWords = ({ status, code = status }: ToolReply, [gateId]: readonly string[]) =>
  status === 'ok' || gateId === undefined ? {} : { code, withheld: { gateId, failed: [] } }

/** R-TOOL-5: a call too many says that it was one of a tool, as a refused request of a key would say so of the key. */
const errorOf = ({ status, code = status }: ToolReply): ToolError =>
  toolError(code, status === 'rate_limited' ? { scope: 'tool' } : undefined)

/** What a tool made for the run is told right after the tool has returned, so a second call finds it in the log. */
function keepArtifact(
  context: DecisionContext,
  planNode: PlanNode,
  { artifactType, content }: ArtifactMade,
  cause: number,
): void {
  if (isTooLarge(content)) return failAttempt(context, planNode, valueTooLarge('the artifact'), cause)
  const secrets = secretsOf(context.active)
  // A model names the type as it likes, and everybody sees it.
  const type = carriesSecret(artifactType, secrets) ? MASK : artifactType
  const shown = maskWithin(content, secrets)
  tellArtifact(context, planNode.node.id, { artifactType: type, content, shown }, cause)
}
