import type { JsonObject } from '../core/json.js'
import type {
  ChannelDeclaration,
  NodeSettings,
  PortValue,
  WorkflowDefinition,
  WorkflowEdge,
  WorkflowNode,
  WorkflowSettings,
  WorkflowVariable,
} from '../core/workflow/definition.js'

type NodeSketch = {
  readonly type: string
  readonly config?: JsonObject
  readonly inputs?: { readonly [port: string]: PortValue }
  readonly settings?: NodeSettings
  readonly artifactType?: string
  readonly disabled?: boolean
  readonly outputSensitivity?: { readonly [port: string]: boolean }
}

type EdgeSketch =
  | string
  | ({ readonly path: string } & Partial<Omit<WorkflowEdge, 'id' | 'sourceNodeId' | 'targetNodeId'>>)

export type Sketch = {
  readonly id?: string
  readonly nodes: { readonly [id: string]: NodeSketch | string }
  /** `a > b` leads from a to b; `a.port > b` leaves through that port. */
  readonly edges?: readonly EdgeSketch[]
  readonly variables?: readonly WorkflowVariable[]
  readonly channels?: { readonly [name: string]: ChannelDeclaration }
  readonly settings?: WorkflowSettings
  readonly configurableSchema?: JsonObject
}

/** A whole definition from the few facts a test is about. */
export function sketch({
  id = 'sketch',
  nodes,
  edges = [],
  variables = [],
  channels,
  settings = {},
  configurableSchema,
}: Sketch): WorkflowDefinition {
  return {
    id,
    name: id,
    version: '1.0',
    nodes: Object.entries(nodes).map(([nodeId, node], i): WorkflowNode => {
      const { type, ...more } = typeof node === 'string' ? { type: node } : node
      return { id: nodeId, typeId: type, name: nodeId, position: { x: i * 100, y: 0 }, config: {}, inputs: {}, ...more }
    }),
    edges: edges.map((edge, i): WorkflowEdge => {
      const { path, ...more } = typeof edge === 'string' ? { path: edge } : edge
      const [from = '', to = ''] = path.split('>').map(end => end.trim())
      const [sourceNodeId = '', sourceOutput] = from.split('.')
      return {
        id: `e${i}`,
        sourceNodeId,
        targetNodeId: to,
        ...(sourceOutput === undefined ? {} : { sourceOutput }),
        ...more,
      }
    }),
    triggers: [{ id: 'manual', type: 'manual', enabled: true }],
    variables,
    metadata: {},
    settings,
    ...(channels ? { channels } : {}),
    ...(configurableSchema ? { configurableSchema } : {}),
  }
}
