import type { AgentWanted, ModelClass, ModelRole } from '../core/invocation/brief.js'
import type { JsonObject } from '../core/json.js'
import type { Catalog } from './catalog/catalog.js'
import type { CatalogAgent } from './catalog/catalog-agent.js'
import type { MemoryShape } from './catalog/manifest.js'
import type { AgentPrompts } from './prompts/layers.js'

/** Who acts in an invocation, whether the catalogue or the workflow describes it. */
export type Actor = {
  readonly agentId: string
  readonly version?: string
  readonly modelClass: ModelClass
  /** `provider:model`, where the workflow says so. */
  readonly model?: string
  readonly toolAllowlist: readonly string[]
  /** What its manifest has it remember. */
  readonly memoryShape?: MemoryShape
  /** Under which reference, where the node says so; else its own id. */
  readonly memoryRef?: string
  readonly taskSchema?: JsonObject
  readonly returnSchema?: JsonObject
  readonly threshold?: number
  readonly prompts: AgentPrompts
  /** What the node says of the call, where it describes the agent itself. */
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly moreRetries?: number
}

/** Undefined when the catalogue has no such agent, or not in the version that is wanted. */
export function actorOf(wanted: AgentWanted, role: ModelRole, catalog: Pick<Catalog, 'get'>): Actor | undefined {
  const actor = described(wanted, role, catalog)
  return role === 'verifier' && actor ? judging(actor) : actor
}

/**
 * R-DWS-10, R-DWS-33: of an agent that judges only its model and its own prompt count. It has no tools and no memory,
 * and what it is given and must answer is the gate's to say.
 */
const judging = ({ agentId, version, modelClass, model, prompts: { intrinsic, home } }: Actor): Actor => ({
  agentId,
  ...(version !== undefined && { version }),
  modelClass,
  ...(model !== undefined && { model }),
  toolAllowlist: [],
  prompts: { ...(intrinsic && { intrinsic }), overrides: {}, ...(home !== undefined && { home }) },
})

function described(wanted: AgentWanted, role: ModelRole, catalog: Pick<Catalog, 'get'>): Actor | undefined {
  const { agentId } = wanted
  if ('inline' in wanted) {
    const { systemPrompt, modelClass, model, toolAllowlist = [], ...call } = wanted.inline
    return {
      agentId,
      modelClass: modelClass ?? (role === 'supervisor' ? 'reasoning' : 'general'),
      ...(model !== undefined && { model }),
      toolAllowlist,
      prompts: {
        ...(systemPrompt !== undefined && {
          intrinsic: { is: 'text', source: nameOfPrompt(agentId), text: systemPrompt },
        }),
        overrides: {},
      },
      ...call,
    }
  }
  const agent = catalog.get(agentId)
  if (agent === undefined || (wanted.version !== undefined && wanted.version !== agent.packVersion)) return undefined
  return { ...catalogued(agent), ...(wanted.memoryRef !== undefined && { memoryRef: wanted.memoryRef }) }
}

function catalogued(agent: CatalogAgent): Actor {
  const { manifest, packVersion, taskSchema, returnSchema } = agent
  const threshold = manifest.confidence?.defaultThreshold
  return {
    agentId: manifest.agentId,
    version: packVersion,
    modelClass: manifest.modelClass,
    toolAllowlist: manifest.toolAllowlist ?? [],
    ...(manifest.memoryShape && { memoryShape: manifest.memoryShape }),
    ...(taskSchema && { taskSchema }),
    ...(returnSchema && { returnSchema }),
    ...(threshold !== undefined && { threshold }),
    prompts: promptsOf(agent),
  }
}

/** What an agent of the catalogue brings along to the second layer of resolution. */
export function promptsOf({
  manifest,
  packName,
  packVersion,
  systemPrompt,
  systemTemplate,
}: CatalogAgent): AgentPrompts {
  const { agentId, promptOverrides = {}, promptLibraryRef } = manifest
  return {
    intrinsic: systemTemplate
      ? { is: 'template', template: systemTemplate }
      : { is: 'text', source: nameOfPrompt(agentId, packVersion), text: systemPrompt },
    overrides: promptOverrides,
    home: packName,
    ...(promptLibraryRef !== undefined && { library: promptLibraryRef }),
  }
}

/** A prompt that is part of an agent has no name of its own, and events want one in the form of a reference. */
export function nameOfPrompt(agentId: string, version?: string, kind = 'system'): string {
  const id = agentId
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '-')
    .replace(/^[^a-z0-9]+/, '')
  return `prompt:${id.slice(0, 120) || 'agent'}.${kind}${version === undefined ? '' : `@${version}`}`
}
