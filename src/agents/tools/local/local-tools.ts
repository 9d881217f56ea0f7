import fs from 'node:fs/promises'
import path from 'node:path'
import type { JsonObject } from '../../../core/json.js'
import type { Clock } from '../../../engine/ports/clock.js'
import type { Log } from '../../../engine/ports/log.js'
import type { SchemaChecker } from '../../../engine/ports/schema-checker.js'
import type { ToolSettings } from '../../settings.js'
import type { Tool, ToolCall, ToolSaid, ToolSource } from '../host-tool.js'
import { isToolName, termsOf } from '../terms.js'
import { within } from '../within.js'
import { type Declaration, type ReadDeclaration, readDeclaration } from './declaration.js'
import { loadModule, whyNotLoaded } from './load-module.js'

/** A module that has not loaded by then never will, such as one that awaits what nobody does. */
const LOAD_MS = 10_000

export type LocalDeps = {
  readonly settings: ToolSettings
  readonly project: string | undefined
  readonly schemas: SchemaChecker
  readonly clock: Clock
  readonly log: Log
}

/**
 * The tools that the operator wrote: `tools/<name>.js` or `.mjs` of the project is `local:<name>`. Loaded once; they
 * run in this process, with everything it may do. One that is no good is left out and said to be.
 */
export async function loadLocalTools(deps: LocalDeps): Promise<ToolSource> {
  const tools = new Map<string, Tool>()
  const problems: string[] = []
  for (const file of await toolFiles(deps.project)) {
    const { name, ext } = path.parse(file)
    const toolId = `local:${name}`
    const read = tools.has(toolId) ? TWICE : await readTool(deps, file, ext)
    if (read.ok) tools.set(toolId, toolOf(toolId, read.declaration, deps.settings))
    else problems.push(`tools/${path.basename(file)}: ${read.problem}`)
  }
  return {
    owns: toolId => toolId.startsWith('local:'),
    tools: async () => tools,
    problems: () => problems,
    close: async () => undefined,
  }
}

const TWICE: ReadDeclaration = { ok: false, problem: 'another file already gives the tool of this name' }

/** What might be meant as a tool. Links are not followed: they may lead out of the project. */
async function toolFiles(project: string | undefined): Promise<readonly string[]> {
  if (project === undefined) return []
  const folder = path.join(project, 'tools')
  const entries = await fs.readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return entries
    .filter(entry => entry.isFile() && /\.(?:[cm]?[jt]s|json|ya?ml)$/.test(entry.name))
    .filter(({ name }) => !/^(?:package(?:-lock)?|tsconfig.*)\.json$|\.d\.[cm]?ts$|\.test\./.test(name))
    .map(({ name }) => path.join(folder, name))
    .sort()
}

async function readTool({ clock, schemas }: LocalDeps, file: string, ext: string): Promise<ReadDeclaration> {
  if (ext !== '.js' && ext !== '.mjs') return readDeclaration({}, 'data')
  if (!isToolName(path.parse(file).name)) return no('its name may only have letters, digits and . _ -')
  const loaded = await within(clock, LOAD_MS, NEVER, () => loadModule(file))
  if (loaded.kind === 'timeout') return no('it does not finish loading')
  if (loaded.kind !== 'done') return no(await whyNotLoaded(loaded.kind === 'threw' ? loaded.error : undefined, file))
  const read = readDeclaration(loaded.value, 'module')
  if (!read.ok) return read
  for (const key of ['inputSchema', 'outputSchema'] as const) {
    const schema = read.declaration[key]
    const problem = schema && (await schemas.inspect(schema, null))
    if (problem !== undefined) return no(`${key} ${problem}`)
  }
  return read
}

const NEVER = new AbortController().signal

const no = (problem: string): ReadDeclaration => ({ ok: false, problem })

function toolOf(toolId: string, declaration: Declaration, settings: ToolSettings): Tool {
  const {
    title,
    description,
    inputSchema,
    outputSchema,
    safetyTier = 'write',
    repeat = 'never',
    scopes = [],
  } = declaration
  return {
    shown: {
      terms: termsOf(toolId, 'native', { repeat, scopes }, settings.rules),
      ...(title !== undefined && { title }),
      description,
      inputSchema,
      ...(outputSchema !== undefined && { outputSchema }),
      safetyTier,
      source: 'host-extension',
    },
    invoke: call => run(declaration, call),
  }
}

async function run(declaration: Declaration, { args, id, traceparent, signal }: ToolCall): Promise<ToolSaid> {
  const result = await declaration.run(args as JsonObject, { signal, effectId: id, traceparent })
  if (typeof result === 'string') return { ok: true, text: result, value: result }
  try {
    const text = JSON.stringify(result) ?? ''
    return { ok: true, text, ...(text !== '' && { value: JSON.parse(text) }) }
  } catch {
    // Cyclic, too deep, or with a BigInt in it.
    return { ok: false, code: 'tool_result_invalid', text: 'The tool returned something that is not JSON.' }
  }
}
