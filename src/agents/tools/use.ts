import type { ArtifactMade, ToolReply } from '../../core/invocation/brief.js'
import { TOOL_CODES, type ToolCode } from '../../core/invocation/tool-codes.js'
import { isObject, type JsonObject, own } from '../../core/json.js'
import type { AgentAnswer, ToolCallRequest, ToolContents } from '../../engine/ports/agents.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { Log } from '../../engine/ports/log.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import type { Secrets } from '../../secrets/secrets.js'
import type { ToolSettings } from '../settings.js'
import { tokenBound } from '../token-bound.js'
import { fence } from './fence.js'
import type { Tool, ToolSaid } from './host-tool.js'
import { LONGEST_SECRET, plainText } from './plain-text.js'
import type { RateLimit } from './rate-limit.js'
import { type WithinEnd, within } from './within.js'

/**
 * One call of one tool.
 *
 *  U1  What comes back is capped, free of control characters and redacted, whatever the tool does (A4).
 *  U2  A call that is not made says so: its code is one of those that end with "nothing was called".
 *  U3  Nothing a tool does escapes: not a throw, not silence, not a result that cannot be read.
 */
export type UseDeps = {
  readonly settings: ToolSettings
  readonly secrets: Secrets
  readonly schemas: SchemaChecker
  readonly clock: Clock
  readonly log: Log
  readonly rateLimit: RateLimit
  /** Undefined when nothing has this id; `unavailable` when the one that may have it cannot be asked. */
  readonly find: (toolId: string, signal: AbortSignal) => Promise<Tool | 'unavailable' | undefined>
}

export type Used = AgentAnswer<ToolReply, ToolContents>

export async function useTool(deps: UseDeps, ask: ToolCallRequest): Promise<Used> {
  const { clock, settings } = deps
  const timeoutMs = own(settings.rules, ask.toolId)?.timeoutMs ?? settings.timeoutMs
  const begun = clock.monotonic()
  const ended = await within(clock, timeoutMs, ask.signal, signal => call(deps, ask, timeoutMs, signal))
  const said = ended.kind === 'done' ? ended.value : saidOf(ended)
  return answer(deps, ask.toolId, said, clock.monotonic() - begun)
}

async function call(deps: UseDeps, ask: ToolCallRequest, timeoutMs: number, signal: AbortSignal): Promise<ToolSaid> {
  const { settings, schemas } = deps
  const tool = await deps.find(ask.toolId, signal)
  if (tool === undefined) return no('tool_unknown')
  if (tool === 'unavailable') return no('tool_unavailable')
  const { args } = ask
  // The surface may have changed since the brief, with which the model's arguments were checked.
  const problem = isObject(args)
    ? await schemas.check(tool.shown.inputSchema, args, ask.tenant)
    : 'the arguments must be an object'
  if (problem !== undefined) return no('tool_arguments_invalid', problem)
  const { ratePerMinute } = own(settings.rules, ask.toolId) ?? {}
  if (ratePerMinute !== undefined) {
    const wait = deps.rateLimit.take([ask.tenant, ask.principal, ask.toolId], ratePerMinute)
    if (wait > 0) return no('rate_limited', `try again in ${Math.ceil(wait / 1000)} s`)
  }
  signal.throwIfAborted()
  const said = await tool.invoke({
    tenant: ask.tenant,
    runId: ask.runId,
    id: ask.id,
    traceparent: ask.traceparent,
    agentId: ask.agentId,
    desk: ask.desk,
    args: structuredClone(args) as JsonObject,
    signal,
    timeoutMs,
    maxBytes: settings.maxResultBytes + LONGEST_SECRET,
  })
  return checked(deps, tool, said, ask.tenant)
}

/** Holds a result to the schema that the tool promises. */
async function checked(
  { schemas }: UseDeps,
  { shown: { outputSchema } }: Tool,
  said: ToolSaid,
  tenant: string,
): Promise<ToolSaid> {
  if (!said.ok || said.value === undefined || outputSchema === undefined) return said
  const problem = await schemas.check(outputSchema, said.value, tenant)
  return problem === undefined ? said : no('tool_result_invalid', problem)
}

const no = (code: ToolCode, more?: string): ToolSaid => ({
  ok: false,
  code,
  text: more === undefined ? `${TOOL_CODES[code]}.` : `${TOOL_CODES[code]}: ${more}`,
})

function saidOf(ended: Exclude<WithinEnd<ToolSaid>, { kind: 'done' }>): ToolSaid {
  switch (ended.kind) {
    case 'timeout':
      return no('tool_timeout')
    case 'cancelled':
      return no('tool_cancelled')
    case 'threw':
      return no(
        'tool_failed',
        ended.error instanceof Error ? ended.error.message : 'it threw something else than an error',
      )
  }
}

function answer({ settings, secrets, log }: UseDeps, toolId: string, said: ToolSaid, took: number): Used {
  const text = plainText(said.text, {
    maxBytes: settings.maxResultBytes,
    redact: secrets.redact,
    truncated: said.truncated ?? false,
  })
  const told: ToolReply = {
    status: said.ok ? 'ok' : said.code === 'rate_limited' ? 'rate_limited' : 'error',
    durationMs: Math.max(0, Math.round(took)),
    resultTokens: tokenBound(fence(toolId, text)),
    ...(!said.ok && { code: said.code }),
    ...(said.ok && said.artifact !== undefined && { artifact: redacted(said.artifact, secrets) }),
    ...(said.ok && said.entry && { entry: said.entry }),
    ...(said.ok && said.read && { read: said.read }),
  }
  if (!said.ok) log.info({ toolId, code: said.code, durationMs: told.durationMs }, 'a tool call gave no result')
  return { ok: true, told, contents: { text, isError: !said.ok } }
}

const redacted = ({ artifactType, content }: ArtifactMade, { redact }: Secrets): ArtifactMade => ({
  artifactType: redact.text(artifactType),
  content: redact.json(content),
})
