import type { Static, TSchema } from 'typebox'
import type { Json, JsonObject } from '../../core/json.js'
import type {
  ChannelDeclaration,
  EdgeCondition,
  NodeSettings,
  PortValue,
  TriggerRule,
  WorkflowSettings,
  WorkflowVariable,
} from '../../core/workflow/definition.js'
import type { CoreNode } from '../../core/workflow/nodes/registry.js'

/** Every type of node, by its name. */
export type NodeTypeId = CoreNode['typeId']

/** What the configuration of a type of node may say. */
export type NodeConfig<TypeId extends NodeTypeId> =
  Extract<CoreNode, { readonly typeId: TypeId }> extends { readonly config: infer Schema extends TSchema }
    ? Static<Schema>
    : JsonObject

/** A node: its type says what its configuration may be. */
export type NodeOf<TypeId extends NodeTypeId = NodeTypeId> = TypeId extends NodeTypeId
  ? {
      readonly type: TypeId
      readonly config?: NodeConfig<TypeId>
      readonly inputs?: { readonly [port: string]: PortValue }
      readonly settings?: NodeSettings
      readonly agent?: { readonly agentId: string; readonly [field: string]: Json }
      readonly name?: string
      readonly artifactType?: string
      readonly disabled?: boolean
      readonly outputSensitivity?: { readonly [port: string]: boolean }
    }
  : never

/** `a > b` leads from node a to node b; `a.port > b` leaves by that port. */
export type EdgeText<NodeId extends string> = `${NodeId}${'' | `.${string}`} > ${NodeId}`

/** An edge with more to say than where it leads. */
export type EdgeOf<NodeId extends string> = {
  readonly path: EdgeText<NodeId>
  readonly condition?: EdgeCondition
  readonly triggerRule?: TriggerRule
  readonly label?: string
}

/** A workflow as TypeScript writes it. */
export type WorkflowSketch<NodeId extends string> = {
  readonly id: string
  readonly name?: string
  readonly version?: string
  readonly description?: string
  readonly nodes: { readonly [Id in NodeId]: NodeOf }
  readonly edges?: readonly (EdgeText<NoInfer<NodeId>> | EdgeOf<NoInfer<NodeId>>)[]
  readonly variables?: readonly WorkflowVariable[]
  readonly channels?: { readonly [name: string]: ChannelDeclaration }
  readonly triggers?: readonly JsonObject[]
  readonly settings?: WorkflowSettings
  readonly configurableSchema?: JsonObject
  readonly metadata?: JsonObject
}

/** `export default defineWorkflow({ … })` in a file of `workflows/`: compiled to the same JSON that a YAML file says. */
export function defineWorkflow<const NodeId extends string>({
  nodes,
  edges = [],
  ...others
}: WorkflowSketch<NodeId>): JsonObject {
  const definition = {
    ...others,
    nodes: Object.entries<NodeOf>(nodes).map(([id, { type, ...node }]) => ({ id, typeId: type, ...node })),
    edges: edges.map(edge => edgeOf(typeof edge === 'string' ? { path: edge } : edge)),
  }
  return JSON.parse(JSON.stringify(definition)) as JsonObject
}

function edgeOf({ path, ...more }: EdgeOf<string>) {
  const [from = '', to = ''] = path.split(' > ')
  const [sourceNodeId = '', sourceOutput] = from.split('.')
  return { sourceNodeId, ...(sourceOutput === undefined ? {} : { sourceOutput }), targetNodeId: to, ...more }
}

/** A port's value: as written. */
export const value = (given: Json): PortValue => ({ type: 'static', value: given })

/** A port's value: what a CEL expression comes to when the node starts. */
export const expression = (source: string): PortValue => ({ type: 'expression', expression: source })

/** A port's value: a variable of the run. One that is `optional` may have no value, and then there is none. */
export const variable = (name: string, optional = false): PortValue => ({
  type: 'variable',
  variableName: name,
  ...(optional && { optional }),
})

/** A port's value: an output of a node that has completed, likewise. */
export const output = (nodeId: string, outputKey: string, optional = false): PortValue => ({
  type: 'connection',
  nodeId,
  outputKey,
  ...(optional && { optional }),
})
