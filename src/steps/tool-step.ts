import type { HostTool } from '../agents/tools/host-tool.js'
import type { Used } from '../agents/tools/use.js'
import type { SystemCall } from '../core/invocation/system-call.js'
import { SYSTEM_AGENT } from '../core/invocation/system-call.js'
import { TOOL_CODES, type ToolCode } from '../core/invocation/tool-codes.js'
import { toolValue } from '../core/invocation/tool-value.js'
import { isObject, type Json } from '../core/json.js'
import { sha256OfJson } from '../digest.js'
import type { ToolCallRequest } from '../engine/ports/agents.js'
import type { Acted, ActingCall, ActingSeat, StepActor } from '../engine/ports/performer.js'
import type { Secrets } from '../secrets/secrets.js'
import { cutShort, failedStepWith } from './answers.js'

export type ToolStepDeps = {
  readonly tools: {
    surface(toolIds: readonly string[], signal: AbortSignal): Promise<readonly HostTool[]>
    use(ask: ToolCallRequest): Promise<Used>
  }
  readonly secrets: Secrets
}

/** What no try would change. */
const FOR_GOOD: readonly string[] = [
  'tool_unknown',
  'tool_arguments_invalid',
  'tool_refused',
  'tool_failed',
  'tool_result_too_large',
  'tool_result_invalid',
]

/** A tool that a workflow names, called as agents' tools are: under the same schemas, scopes, rates and limits. */
export const createToolStep = (deps: ToolStepDeps): StepActor => ({
  async act(call) {
    const { seat, input, signal } = call
    const { tool: toolId, args = {} } = isObject(input) ? input : {}
    if (typeof toolId !== 'string') return failedStepWith('a call of no tool')
    const [tool] = await deps.tools.surface([toolId], signal)
    if (tool === undefined) return notThere(toolId)
    const { repeat, transport, scopes } = tool.terms
    if (call.again && repeat === 'never')
      return cutShort({ repeat }, `tool "${toolId}" was cut short and may have had its effect`)
    const head = {
      toolId,
      argsHash: sha256OfJson(deps.secrets.redact.json(args)),
      principal: seat.principal,
      transport,
    }
    const requiredScopes = scopes.filter(scope => !seat.scopes.includes(scope))
    if (requiredScopes.length > 0) return forbidden(head, scopes)
    return told({ ...call, repeat }, head, await deps.tools.use(asked(call, seat, toolId, args)))
  },
})

const notThere = (toolId: string): Acted => ({
  ok: false,
  code: 'tool_unavailable',
  message: `there is no tool "${toolId}" here now; \`assay tools list\` lists those there are`,
  retryable: true,
})

const asked = (
  { id, traceparent, signal }: ActingCall,
  seat: ActingSeat,
  toolId: string,
  args: Json,
): ToolCallRequest => ({
  tenant: seat.tenant,
  principal: seat.principal,
  runId: seat.runId,
  agentId: SYSTEM_AGENT,
  id,
  traceparent,
  toolId,
  args,
  desk: seat.desk,
  signal,
})

type Head = Pick<SystemCall, 'toolId' | 'argsHash' | 'principal' | 'transport'>

/** R-TOOL-4: as of an agent, and the node has failed. */
const forbidden = (head: Head, requiredScopes: readonly string[]): Acted => ({
  ok: false,
  code: 'scope_missing',
  message: `whoever this run acts for lacks a scope that tool "${head.toolId}" asks for: ${requiredScopes.join(', ')}`,
  retryable: false,
  call: { ...head, status: 'forbidden', requiredScopes },
})

function told(call: ActingCall, head: Head, used: Used): Acted {
  if (!used.ok) return failedStepWith(used.message, used.retryable)
  const { told: reply, contents } = used
  const { status, durationMs, code = status, entry, read } = reply
  const made = { ...head, status, ...(status === 'rate_limited' ? {} : { durationMs }) }
  if (status === 'ok')
    return {
      ok: true,
      output: toolValue(contents.text),
      call: made,
      ...(entry && { entries: [entry] }),
      ...(read && { read: [read] }),
    }
  return { ...failureOf(call, head.toolId, code), call: { ...made, code } }
}

/** The tool's own words are not told: nobody has judged them, and they may hold what was passed. */
function failureOf(call: ActingCall, toolId: string, code: string): Extract<Acted, { ok: false }> {
  const sentence = Object.hasOwn(TOOL_CODES, code) ? TOOL_CODES[code as ToolCode] : 'The tool gave no result'
  const message = `tool "${toolId}" gave no result (${code}): ${sentence}`
  if (FOR_GOOD.includes(code)) return failedStepWith(message)
  return sentence.includes('nothing was called') ? failedStepWith(message, true) : cutShort(call, message)
}
