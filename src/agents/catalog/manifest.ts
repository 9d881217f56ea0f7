import { Type } from 'typebox'
import { MODEL_CLASSES, type ModelClass, PROMPT_KINDS } from '../../core/invocation/brief.js'
import type { JsonObject } from '../../core/json.js'
import { isNamed, LONGEST_AGENT_ID, patternOf } from '../../core/names.js'
import {
  type Annotations,
  AnyObject,
  Characters,
  Closed,
  DistinctBy,
  Flag,
  ListOf,
  Matching,
  May,
  NumberFrom,
  OneOf,
  TextWhere,
} from '../../core/schema/kinds.js'
import { schemaProblems } from '../../core/schema/problems.js'
import { REF_PATTERN, REF_RULE, TEMPLATE_ID, VERSION } from '../prompts/ref.js'

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

const NAME_RULE = `a tier (core, vendor, community, private, local) and two or more names, such as local.acme.writer, ${LONGEST_AGENT_ID} characters at most`

export const PackageName = (more: Annotations = {}) =>
  TextWhere(NAME_RULE, name => isNamed('packageName', name), { pattern: patternOf('packageName'), ...more })

export const Capabilities = (description: string) =>
  DistinctBy(ListOf(Characters(1, 256), 0, 100, { description }), name => name)

const BesidePath = (description: string) => Characters(1, 1024, { description })

const ToolId = TextWhere(
  'SCOPE:TOOL, such as mcp:files.read, 256 characters at most',
  id => id.length <= 256 && isNamed('toolId', id),
  { pattern: '^[^\\s:]+:\\S+$' },
)

const PromptRefSchema = Type.Union(
  [
    Type.String({ pattern: REF_PATTERN.source }),
    Closed({
      templateId: Matching(TEMPLATE_ID, 'the id of a template', { description: 'Which template' }),
      libraryId: May(Matching(TEMPLATE_ID, 'the name of a library', { description: 'Of which library' })),
      version: May(Matching(VERSION, 'a version such as 1.0.0', { description: 'The latest where left out' })),
      variableOverrides: May(AnyObject({ description: 'Values of its variables' })),
    }),
  ],
  { 'x-must-be': REF_RULE },
)

/** An agent's file as people write it: those of a project need neither an id nor a persona. */
export const AgentFileSchema = Closed({
  agentId: May(PackageName({ description: "Who it is; of a project's own agents made from the file's name" })),
  persona: May(Characters(1, 200, { description: "Who it speaks as; the label or the file's name where left out" })),
  modelClass: OneOf(MODEL_CLASSES, { description: 'What kind of model it needs' }),
  systemPrompt: May(Characters(1, MAX_PROMPT, { description: 'What it is told; in a .md file what stands below' })),
  systemPromptRef: May(BesidePath('In place of systemPrompt: a file beside or below, or a template as prompt:ID')),
  evalSuiteRef: May(BesidePath('A file with examples to evaluate it by')),
  toolAllowlist: May(ListOf(ToolId, 0, 256, { description: 'The tools it may use; none where left out' })),
  requiresCapabilities: May(Capabilities('What the host must provide')),
  memoryShape: May(
    Closed(
      {
        scratchpad: May(Flag({ description: 'Notes within one task; they need no memory of the host' })),
        conversation: May(
          Flag({ description: 'What it was asked and answered before, in the memory scope of the run' }),
        ),
        longTerm: May(Flag({ description: 'What it has written down, in the memory scope of the run' })),
      },
      { description: 'What it remembers' },
    ),
  ),
  confidence: May(
    Closed(
      {
        defaultThreshold: May(
          NumberFrom(0, 1, { description: 'A result less sure than this is shown to a person first' }),
        ),
      },
      { description: 'How sure it must be' },
    ),
  ),
  handoff: May(
    Closed(
      {
        taskSchemaRef: May(BesidePath('A JSON Schema of what it is given')),
        returnSchemaRef: May(BesidePath('A JSON Schema of what it brings back')),
      },
      { description: 'What goes in and what comes out' },
    ),
  ),
  label: May(Characters(1, 100, { description: 'What people call it' })),
  description: May(Characters(0, 500, { description: 'What it is for' })),
  promptLibraryRef: May(
    Matching(TEMPLATE_ID, 'the name of a prompt library: a-z, 0-9, . _ -, 128 characters at most', {
      description: 'Where its templates are looked for first',
    }),
  ),
  promptOverrides: May(
    Closed(Object.fromEntries(PROMPT_KINDS.map(kind => [kind, May(PromptRefSchema)])), {
      description: 'Templates in place of those that would be used, by kind',
    }),
  ),
})

/** What is wrong with a manifest; none when it is an AgentManifest. */
export function manifestProblems(given: JsonObject): readonly string[] {
  const both = given.systemPrompt !== undefined && given.systemPromptRef !== undefined
  const neither = given.systemPrompt === undefined && given.systemPromptRef === undefined
  return [
    ...(given.agentId === undefined ? [`agentId is required: ${NAME_RULE}; add it`] : []),
    ...schemaProblems(AgentFileSchema, given),
    ...(both ? ['systemPrompt and systemPromptRef are both there; keep one of them'] : []),
    ...(neither
      ? ['systemPrompt is required; write it here, below the front matter, or name its file in systemPromptRef']
      : []),
  ]
}
