import type { DecisionContext } from '../run/decision-context.js'
import { recordAgentEvent } from '../supervisor/decide.js'
import type { PlanNode } from '../workflow/plan.js'
import { type ToolError, toolError } from './tool-codes.js'

/** R-TOOL-6: whose name a call has that no agent makes. */
export const SYSTEM_AGENT = 'core.system'

/** A call of a tool that a workflow asked for, without what was passed and what came back. */
export type SystemCall = {
  readonly toolId: string
  readonly argsHash: string
  readonly principal: string
  readonly transport: 'mcp' | 'http' | 'native'
  readonly status: 'ok' | 'error' | 'forbidden' | 'rate_limited'
  /** R-TOOL-4, R-TOOL-5: none where nothing was called. */
  readonly durationMs?: number
  /** Unless it is `ok`. */
  readonly code?: string
  readonly requiredScopes?: readonly string[]
}

/** R-TOOL-3: both ends of the call, once it is over: nobody but the host is between them. */
export function tellSystemCall(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  { toolId, argsHash, principal, transport, ...returned }: SystemCall,
  cause: number,
): void {
  const tool = { agentId: SYSTEM_AGENT, toolName: toolId, toolId }
  const called = { ...tool, argsHash, principal, transport }
  recordAgentEvent(context, nodeId, { type: 'agent.toolCalled', payload: called }, cause)
  const { status, durationMs } = returned
  const payload = {
    ...tool,
    status,
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(status === 'ok' ? {} : { error: errorOf(toolId, returned) }),
  }
  recordAgentEvent(context, nodeId, { type: 'agent.toolReturned', payload }, cause)
}

function errorOf(
  toolName: string,
  { status, code = status, requiredScopes }: Pick<SystemCall, 'status' | 'code' | 'requiredScopes'>,
): ToolError {
  if (status === 'forbidden')
    return toolError(status, { scope: 'tool', toolName, requiredScopes: [...(requiredScopes ?? [])] })
  return toolError(code, status === 'rate_limited' ? { scope: 'tool' } : undefined)
}
