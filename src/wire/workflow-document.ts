import { type TSchema, Type } from 'typebox'
import { coreNodeTypes } from '../core/workflow/nodes/registry.js'
import { NodeSettingsSchema } from '../core/workflow/settings.js'
import { WorkflowDefinitionBody } from './workflow.js'

const nodeOf = (properties: object) => ({
  properties: { ...properties, settings: NodeSettingsSchema },
  required: ['id', 'typeId'],
  allOf: coreNodeTypes.map(({ typeId, config }) => ({
    anyOf: [{ not: { properties: { typeId: { const: typeId } } } }, { properties: { config: anywhere(config) } }],
  })),
})

/** R-REPLAY-15: a node of any type may say that it is not deterministic. */
const anywhere = (config: TSchema) => {
  const { properties } = config as { readonly properties?: object }
  return properties ? { ...config, properties: { ...properties, nondeterministic: { type: 'boolean' } } } : config
}

function documentOf({ nodes, edges, ...others }: typeof WorkflowDefinitionBody.properties): TSchema {
  const optional = Object.fromEntries(Object.entries(others).map(([name, field]) => [name, Type.Optional(field)]))
  return Type.Unsafe({
    ...Type.Object(
      {
        ...optional,
        nodes: Type.Unsafe({ ...nodes, items: { ...nodes.items, ...nodeOf(nodes.items.properties) } }),
        edges: Type.Optional(
          Type.Unsafe({ ...edges, items: { ...edges.items, required: ['sourceNodeId', 'targetNodeId'] } }),
        ),
      },
      { additionalProperties: false },
    ),
  })
}

/**
 * A workflow as a person writes it into a file: what `completeDefinition` fills in may be left out, and each node's
 * `config` is held to its type. For editors; registration has the last word.
 */
export const WorkflowDocument: TSchema = documentOf(WorkflowDefinitionBody.properties)
