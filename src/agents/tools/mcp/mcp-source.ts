import type { Tool as McpTool } from '@modelcontextprotocol/client'
import { TOOL_CODES } from '../../../core/invocation/tool-codes.js'
import { isObject, type JsonObject } from '../../../core/json.js'
import { isNamed } from '../../../core/names.js'
import type { Egress } from '../../../egress/egress.js'
import type { Clock } from '../../../engine/ports/clock.js'
import type { Log } from '../../../engine/ports/log.js'
import type { SchemaChecker } from '../../../engine/ports/schema-checker.js'
import type { Secrets } from '../../../secrets/secrets.js'
import type { McpServer, SecretRef, ToolSettings } from '../../settings.js'
import type { SafetyTier, Tool, ToolSaid, ToolSource } from '../host-tool.js'
import { withoutControls } from '../plain-text.js'
import { isToolName, termsOf } from '../terms.js'
import { within } from '../within.js'
import { saidOf } from './call-result.js'
import type { OpenChannel } from './channel.js'
import { httpChannel } from './http-channel.js'
import { createMcpServer, type McpServerConnection } from './mcp-server.js'
import type { Called } from './session.js'
import { type StderrTail, stderrTail } from './stderr-tail.js'
import { stdioChannel } from './stdio-channel.js'

export type McpDeps = {
  readonly settings: ToolSettings
  readonly egress: Egress
  readonly secrets: Secrets
  readonly schemas: SchemaChecker
  readonly clock: Clock
  readonly log: Log
}

/** JSON in messages takes up to six times the bytes of its text, and a picture may come along. */
const MESSAGE_BYTES_PER_RESULT_BYTE = 8
const LEAST_MESSAGE_BYTES = 1024 * 1024
const MAX_DESCRIPTION = 4_000

export const createMcpSources = (deps: McpDeps): readonly ToolSource[] =>
  Object.entries(deps.settings.mcp).map(([name, server]) =>
    // Without a dot, which is where the tool's name begins in its id.
    isNamed('toolServer', name) ? mcpSource(deps, name, server) : misnamed(name),
  )

const misnamed = (name: string): ToolSource => ({
  owns: () => false,
  tools: async () => undefined,
  problems: () => [`${JSON.stringify(name)} cannot be the name of a tool server: use letters, digits, _ and -`],
  close: async () => undefined,
})

function mcpSource(deps: McpDeps, name: string, server: McpServer): ToolSource {
  const { settings, clock, log } = deps
  const stderr = stderrTail(name, deps.secrets.redact)
  const connection = createMcpServer({
    name,
    open: opener(deps, name, server, stderr),
    clock,
    log,
    timeoutMs: settings.timeoutMs,
  })
  const prefix = `mcp:${name}.`
  let made: { readonly of: readonly McpTool[]; readonly tools: Promise<Made> } | undefined
  let problems: readonly string[] = []

  /** The tools of a list, made once for each list. */
  async function toolsOf(list: readonly McpTool[]): Promise<ReadonlyMap<string, Tool>> {
    if (made?.of !== list) made = { of: list, tools: makeTools(deps, prefix, list, connection) }
    const { tools, problems: found } = await made.tools
    problems = found
    return tools
  }

  return {
    owns: toolId => toolId.startsWith(prefix),
    async tools(signal) {
      const ended = await within(clock, settings.timeoutMs, signal, async () => {
        const list = await connection.list()
        return list && toolsOf(list)
      })
      return ended.kind === 'done' ? ended.value : undefined
    },
    server() {
      const problem = connection.problem()
      const said = stderr.shown()
      const about = { name, transport: server.kind, ...(problem !== undefined && { problem }) }
      return { ...about, ...(said && { stderr: said }) }
    },
    problems: () => [...[connection.problem()].filter(problem => problem !== undefined), ...problems],
    close: () => connection.close(),
  }
}

type Made = { readonly tools: ReadonlyMap<string, Tool>; readonly problems: readonly string[] }

async function makeTools(
  deps: McpDeps,
  prefix: string,
  list: readonly McpTool[],
  connection: McpServerConnection,
): Promise<Made> {
  const tools = new Map<string, Tool>()
  const problems: string[] = []
  for (const listed of list) {
    const toolId = prefix + listed.name
    const problem = tools.has(toolId) ? 'is listed twice' : await problemOf(deps, listed)
    // A tool whose arguments cannot be checked is not offered to anybody.
    if (problem === undefined) tools.set(toolId, await toolOf(deps, toolId, listed, connection))
    else problems.push(`${JSON.stringify(toolId.slice(0, 200))} ${problem}`)
  }
  if (problems.length > 0)
    deps.log.warn({ tools: prefix, leftOut: problems.length }, 'some tools of a server cannot be used')
  return { tools, problems }
}

async function problemOf({ schemas }: McpDeps, { name, inputSchema }: McpTool): Promise<string | undefined> {
  if (!isToolName(name)) return 'has a name with other characters than letters, digits and . _ / -'
  const problem = await schemas.inspect(inOurDialect(inputSchema as JsonObject), null)
  return problem && `has an input schema that ${problem}`
}

async function toolOf(
  { schemas, settings }: McpDeps,
  toolId: string,
  listed: McpTool,
  connection: McpServerConnection,
): Promise<Tool> {
  const { name, annotations: hints = {}, title = hints.title } = listed
  const outputSchema = isObject(listed.outputSchema) ? inOurDialect(listed.outputSchema) : undefined
  const checksOutput = outputSchema !== undefined && (await schemas.inspect(outputSchema, null)) === undefined
  const readOnly = hints.readOnlyHint === true
  const safetyTier: SafetyTier = readOnly ? 'read' : 'write'
  const repeat = readOnly || hints.idempotentHint === true ? 'safe' : 'never'
  return {
    shown: {
      terms: termsOf(toolId, 'mcp', { repeat }, settings.rules),
      ...(title !== undefined && { title: shortText(title) }),
      description: shortText(listed.description ?? ''),
      inputSchema: inOurDialect(listed.inputSchema as JsonObject),
      ...(checksOutput && { outputSchema }),
      safetyTier,
      source: 'mcp',
    },
    invoke: async call => told(await connection.call(name, call)),
  }
}

const shortText = (text: string): string => withoutControls(text.slice(0, MAX_DESCRIPTION))

/** Many servers name an older draft. What they use of it means the same in ours, or the schema is found no good. */
function inOurDialect(schema: JsonObject): JsonObject {
  const { $schema, ...rest } = schema
  return typeof $schema === 'string' && OLDER.test($schema) ? rest : schema
}

const OLDER = /^https?:\/\/json-schema\.org\/(?:draft-0[4-7]|draft\/2019-09)\/schema#?$/

function told(called: Called): ToolSaid {
  switch (called.kind) {
    case 'returned':
      return saidOf(called.result)
    case 'failed':
      return { ok: false, code: called.code, text: called.words ?? `${TOOL_CODES[called.code]}.` }
    case 'forgotten':
      return { ok: false, code: 'tool_unavailable', text: `${TOOL_CODES.tool_unavailable}.` }
  }
}

function opener(
  { settings, egress, secrets, clock, log }: McpDeps,
  name: string,
  server: McpServer,
  stderr: StderrTail,
): OpenChannel {
  const maxMessageBytes = Math.max(LEAST_MESSAGE_BYTES, settings.maxResultBytes * MESSAGE_BYTES_PER_RESULT_BYTE)
  if (server.kind === 'stdio') {
    return async () => {
      const env = await resolved(server.env, secrets)
      return stdioChannel({ name, server, env, maxMessageBytes, stderr, clock, log })
    }
  }
  const timeouts = Object.values(settings.rules).map(rule => rule.timeoutMs ?? 0)
  const timeoutMs = Math.max(settings.timeoutMs, ...timeouts)
  const headers = () => resolved(server.headers, secrets)
  return async () => httpChannel({ url: server.url, headers, egress, clock, timeoutMs, maxMessageBytes })
}

/** Secrets are looked up when they are needed, so a changed one is used from then on. */
async function resolved(
  values: { readonly [name: string]: string | SecretRef },
  secrets: Secrets,
): Promise<{ readonly [name: string]: string }> {
  const entries = Object.entries(values).map(
    async ([name, value]) => [name, typeof value === 'string' ? value : await secrets.resolve(value)] as const,
  )
  return Object.fromEntries(await Promise.all(entries))
}
