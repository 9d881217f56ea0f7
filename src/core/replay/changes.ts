import { MODEL_CLASSES, type ModelClass } from '../invocation/brief.js'
import { isObject, type Json, type JsonObject, own, withKey } from '../json.js'
import { isNamed } from '../names.js'
import { type Refusal, refuse } from '../problem.js'
import type { WorkflowDefinition } from '../workflow/definition.js'

/** What a branch does otherwise than its source, as whoever asks for it names it: one name, one value. */
export type Changes = {
  /** What is changed, in the order given; values are not among them, which may be content. */
  readonly names: readonly string[]
  /** The models of single agents, from the cut on. */
  readonly agents: { readonly [agentId: string]: AgentChange }
  /** Settings of nodes, from the cut on. */
  readonly nodes: readonly NodeChange[]
}

export type AgentChange = { readonly model?: string; readonly modelClass?: ModelClass }

export type NodeChange = {
  readonly name: string
  readonly nodeId: string
  /** Within the node's `config`. */
  readonly path: readonly string[]
  readonly value: Json
}

export const MAX_CHANGES = 50
const MAX_MODEL = 256

const FORMS = 'agents.AGENT.model, agents.AGENT.modelClass or nodes.NODE.config.FIELD'

/** The field of the request that a name stands in. */
export const fieldOf = (name: string): string => `assay.set[${JSON.stringify(name)}]`

export const unchangeable = (name: string, why: string): Refusal =>
  refuse('validation_error', `${fieldOf(name)} ${why}`, { field: fieldOf(name) })

/** What the names mean in this definition, or the first one that means nothing. */
export function changesIn(set: JsonObject, definition: WorkflowDefinition): Changes | Refusal {
  const names = Object.keys(set)
  if (names.length > MAX_CHANGES)
    return refuse('validation_error', `assay.set has ${names.length} names; give at most ${MAX_CHANGES}`, {
      field: 'assay.set',
    })
  let agents: Changes['agents'] = {}
  const nodes: NodeChange[] = []
  for (const name of names) {
    const value = own(set, name) ?? null
    const found = name.startsWith('agents.') ? agentChange(name, value) : nodeChange(name, value, definition)
    if ('code' in found) return found
    if ('nodeId' in found) nodes.push(found)
    else agents = withKey(agents, found.agentId, { ...own(agents, found.agentId), ...found.change })
  }
  return { names, agents, nodes }
}

function agentChange(name: string, value: Json): { agentId: string; change: AgentChange } | Refusal {
  const [, agentId, field] = /^agents\.(.+)\.([^.]+)$/.exec(name) ?? []
  if (agentId === undefined || (field !== 'model' && field !== 'modelClass') || !isNamed('actorId', agentId))
    return unchangeable(name, `is nothing that a branch can change; give ${FORMS}`)
  if (field === 'modelClass') {
    const modelClass = MODEL_CLASSES.find(known => known === value)
    return modelClass === undefined
      ? unchangeable(name, `must be one of ${MODEL_CLASSES.join(', ')}; got ${shown(value)}`)
      : { agentId, change: { modelClass } }
  }
  if (typeof value !== 'string' || value.trim() === '' || value.length > MAX_MODEL)
    return unchangeable(
      name,
      `must be a model, such as openai:gpt-5-mini, of at most ${MAX_MODEL} characters; got ${shown(value)}`,
    )
  return { agentId, change: { model: value } }
}

/** Ids of nodes may have dots, so the longest that fits is meant. */
function nodeChange(name: string, value: Json, { nodes }: WorkflowDefinition): NodeChange | Refusal {
  const [nodeId] = nodes
    .map(({ id }) => id)
    .filter(id => name.startsWith(`nodes.${id}.config.`))
    .sort((a, b) => b.length - a.length)
  if (nodeId === undefined) {
    if (!name.startsWith('nodes.')) return unchangeable(name, `is nothing that a branch can change; give ${FORMS}`)
    const known = nodes.slice(0, MOST_LISTED).map(({ id }) => id)
    return unchangeable(
      name,
      `must be nodes.NODE.config.FIELD, and NODE one of ${known.join(', ')}${nodes.length > MOST_LISTED ? ', …' : ''}`,
    )
  }
  const path = name.slice(`nodes.${nodeId}.config.`.length).split('.')
  return path.includes('')
    ? unchangeable(name, 'must name a field of the config, with a dot between each part of its path')
    : { name, nodeId, path, value }
}

const MOST_LISTED = 20

const shown = (value: Json): string => JSON.stringify(value).slice(0, 100)

/** The definition with these settings in the place of its own; nothing but the `config` of nodes is touched. */
export function changedDefinition(
  definition: WorkflowDefinition,
  changes: readonly NodeChange[],
): WorkflowDefinition | Refusal {
  let { nodes } = definition
  for (const { name, nodeId, path, value } of changes) {
    const index = nodes.findIndex(({ id }) => id === nodeId)
    const node = nodes[index]
    const config = node && placed(node.config, path, value)
    if (node === undefined || !isObject(config))
      return unchangeable(name, `leads through a value that has no fields of its own; give the whole of that value`)
    nodes = nodes.with(index, { ...node, config })
  }
  return { ...definition, nodes }
}

/** Objects that are missing on the way are made; a list has no more items than it had. */
function placed(within: Json, [step, ...rest]: readonly string[], value: Json): Json | undefined {
  if (step === undefined) return value
  if (Array.isArray(within)) {
    const index = /^\d+$/.test(step) ? Number(step) : -1
    const item = index >= 0 && index < within.length ? placed(within[index] as Json, rest, value) : undefined
    return item === undefined ? undefined : (within as readonly Json[]).with(index, item)
  }
  if (!isObject(within)) return undefined
  const item = placed(own(within, step) ?? {}, rest, value)
  return item === undefined ? undefined : withKey(within, step, item)
}
