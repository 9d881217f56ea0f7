import type { PromptKind, PromptLayer } from '../../core/invocation/brief.js'
import { type Json, type JsonObject, own } from '../../core/json.js'
import { HOST_DEFAULTS, HOST_LIBRARY } from './host-prompts.js'
import { type PromptRef, parseRef, REF_RULE } from './ref.js'
import type { FindPrompt, PromptTemplate } from './template.js'

/** Where prompts of one invocation may come from. */
export type PromptPlaces = {
  /** The node's configuration: `systemPromptRef`, `userPromptRef`, `schemaHintPromptRef`, `fewShotPromptRefs`. */
  readonly node: JsonObject
  /** Prompts that the node has in its own words, by kind, with the names that events know them by. */
  readonly inline?: { readonly [Kind in PromptKind]?: Inline }
  readonly agent: AgentPrompts | undefined
  /** The workflow's defaults, by kind. */
  readonly workflow: JsonObject
}

/** What an agent brings along. */
export type AgentPrompts = {
  readonly intrinsic?: Intrinsic
  readonly overrides: JsonObject
  /** The library with its `default-<kind>` templates. */
  readonly library?: string
  /** Where its references are looked up first. */
  readonly home?: string
}

/** A system prompt that is written down in the agent itself goes by a name made of the agent's. */
export type Intrinsic =
  | { readonly is: 'text'; readonly source: string; readonly text: string }
  | { readonly is: 'template'; readonly template: PromptTemplate }

export type Inline = { readonly source: string; readonly text: string }

/** What a layer has for a kind: nothing, a prompt, a reference to one, or something that should have been one. */
export type Candidate = { readonly layer: PromptLayer } & Offer
export type Offer =
  | { readonly is: 'none'; readonly reason: string }
  | Intrinsic
  | ({ readonly is: 'inline' } & Inline)
  | { readonly is: 'ref'; readonly ref: PromptRef; readonly home?: string }
  | { readonly is: 'bad'; readonly problem: string }

const NONE: Offer = { is: 'none', reason: 'no candidate at this layer' }

/** R-PROMPT-2: every layer of a kind, highest precedence first. `nodeRef` is what the node says in this slot. */
export function candidates(
  kind: PromptKind,
  nodeRef: { readonly field: string; readonly value: Json | undefined },
  { agent, workflow, inline = {} }: PromptPlaces,
  find: FindPrompt,
): readonly Candidate[] {
  return [
    { layer: 'node', ...nodeOffer(nodeRef, inline[kind]) },
    ...agentLayers(kind, agent, find),
    { layer: 'workflow-defaults', ...offer(own(workflow, kind), `defaults.promptRefs.${kind}`) },
    { layer: 'host-defaults', ...offer(HOST_DEFAULTS[kind], 'the host default', HOST_LIBRARY) },
  ]
}

/** R-PROMPT-3: a reference counts before the node's own words. */
function nodeOffer(
  { field, value }: { readonly field: string; readonly value: Json | undefined },
  inline?: Inline,
): Offer {
  const named = offer(value, `config.${field}`)
  return named.is === 'none' && inline ? { is: 'inline', ...inline } : named
}

/** R-LIVE-5: for the system prompt the agent's own comes before what it would rather have. */
function agentLayers(kind: PromptKind, agent: AgentPrompts | undefined, find: FindPrompt): readonly Candidate[] {
  if (agent === undefined) {
    const layer = kind === 'system' ? 'agent-intrinsic' : 'agent-overrides'
    return [{ layer, is: 'none', reason: 'agentId unresolved' }]
  }
  const { overrides, home } = agent
  return [
    ...(kind === 'system' ? [{ layer: 'agent-intrinsic', ...(agent.intrinsic ?? NONE) } as const] : []),
    { layer: 'agent-overrides', ...offer(own(overrides, kind), `promptOverrides.${kind}`, home) },
    { layer: 'agent-library-default', ...libraryDefault(kind, agent, find) },
  ]
}

function libraryDefault(kind: PromptKind, { library }: AgentPrompts, find: FindPrompt): Offer {
  if (library === undefined) return NONE
  const ref = { libraryId: library, templateId: `default-${kind}` }
  const found = find(ref)
  if (!found.ok) return { is: 'none', reason: `the library has no default-${kind}` }
  return { is: 'ref', ref: { ...ref, version: found.template.version } }
}

function offer(value: Json | undefined, field: string, home?: string): Offer {
  if (value === undefined || value === null) return NONE
  const ref = parseRef(value)
  if (ref === undefined) return { is: 'bad', problem: `${field} is not a prompt reference; it must be ${REF_RULE}` }
  return { is: 'ref', ref, ...(home !== undefined && { home }) }
}
