import { MODEL_CLASSES, type ModelClass, PROMPT_KINDS } from '../../core/invocation/brief.js'
import type { Json, JsonObject } from '../../core/json.js'
import { isNamed } from '../../core/names.js'
import { parseRef, REF_RULE, TEMPLATE_ID } from '../prompts/ref.js'
import { type Check, closed, distinct, flag, listOf, numberFrom, oneOf, shown, text, textOf } from './fields.js'

/** Contract agents §14.1, with what an author may leave out filled in. */
export type AgentManifest = {
  readonly agentId: string
  readonly persona: string
  readonly modelClass: ModelClass
  readonly systemPrompt?: string
  readonly systemPromptRef?: string
  readonly evalSuiteRef?: string
  /** Missing means none (R-TOOL-2). */
  readonly toolAllowlist?: readonly string[]
  readonly requiresCapabilities?: readonly string[]
  readonly memoryShape?: MemoryShape
  readonly confidence?: { readonly defaultThreshold?: number }
  readonly handoff?: { readonly taskSchemaRef?: string; readonly returnSchemaRef?: string }
  readonly label?: string
  readonly description?: string
  readonly promptLibraryRef?: string
  readonly promptOverrides?: JsonObject
}

export type MemoryShape = {
  readonly scratchpad?: boolean
  readonly conversation?: boolean
  readonly longTerm?: boolean
}

/** Longer ones are not prompts but documents. */
export const MAX_PROMPT = 65_536

const NAME_RULE = 'a tier (core, vendor, community, private, local) and two or more names, such as local.acme.writer'

export const packageName: Check = text(`${NAME_RULE}, 256 characters at most`, name => isNamed('packageName', name))

const promptRef: Check = (value: Json, field: string) =>
  parseRef(value) === undefined ? [`${field} must be ${REF_RULE}; it is ${shown(value)}`] : []

const path = textOf(1, 1024)

const toolId = text(
  'SCOPE:TOOL, such as mcp:files.read',
  id => /^[^\s:]+:\S+$/.test(id) && id.length <= 256 && isNamed('toolId', id),
)

export const capabilities = distinct(listOf(textOf(1, 256), 100))

const FIELDS = closed(
  {
    agentId: packageName,
    persona: textOf(1, 200),
    modelClass: oneOf(MODEL_CLASSES),
    systemPrompt: textOf(1, MAX_PROMPT),
    systemPromptRef: path,
    evalSuiteRef: path,
    toolAllowlist: listOf(toolId, 256),
    requiresCapabilities: capabilities,
    memoryShape: closed({ scratchpad: flag, conversation: flag, longTerm: flag }),
    confidence: closed({ defaultThreshold: numberFrom(0, 1) }),
    handoff: closed({ taskSchemaRef: path, returnSchemaRef: path }),
    label: textOf(1, 100),
    description: textOf(0, 500),
    promptLibraryRef: text('the name of a prompt library: a-z, 0-9, . _ -, 128 characters at most', id =>
      TEMPLATE_ID.test(id),
    ),
    promptOverrides: closed(Object.fromEntries(PROMPT_KINDS.map(kind => [kind, promptRef]))),
  },
  ['agentId', 'persona', 'modelClass'],
)

/** What is wrong with a manifest; none when it is an AgentManifest. */
export function manifestProblems(given: JsonObject): readonly string[] {
  const both = given.systemPrompt !== undefined && given.systemPromptRef !== undefined
  const neither = given.systemPrompt === undefined && given.systemPromptRef === undefined
  return [
    ...FIELDS(given, ''),
    ...(both ? ['systemPrompt and systemPromptRef are both there; keep one of them'] : []),
    ...(neither
      ? ['systemPrompt is missing; write it here, below the front matter, or name its file in systemPromptRef']
      : []),
  ]
}
