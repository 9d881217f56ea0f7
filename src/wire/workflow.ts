import { type Static, Type } from 'typebox'
import type { JsonObject } from '../core/json.js'
import { patternOf } from '../core/names.js'
import { OneOf } from '../core/schema/kinds.js'
import { REDUCER } from '../core/workflow/fields.js'
import { WorkflowSettingsSchema } from '../core/workflow/settings.js'
import { AgentPin } from './agent-ref.js'
import { ID_PATTERNS, NodeId, PartName, Tag } from './ids.js'

/** The shape of a workflow definition (contract core §9). What it means is checked by the engine when it compiles it. */

const closed = { additionalProperties: false }
const JsonMap = Type.Unsafe<JsonObject>({ type: 'object' })
const Name = PartName
const Text = Type.Optional(Type.String())
const Flag = Type.Optional(Type.Boolean())
const Point = Type.Object({ x: Type.Number(), y: Type.Number() })

const PortValue = Type.Union([
  Type.Object({ type: Type.Literal('static'), value: Type.Unknown() }, closed),
  Type.Object({ type: Type.Literal('expression'), expression: Type.String({ minLength: 1 }) }, closed),
  Type.Object(
    {
      type: Type.Literal('connection'),
      nodeId: NodeId,
      outputKey: PartName,
      optional: Flag,
    },
    closed,
  ),
  Type.Object({ type: Type.Literal('variable'), variableName: PartName, optional: Flag }, closed),
])

const Node = Type.Object(
  {
    id: NodeId,
    typeId: Type.String({ maxLength: 256, pattern: patternOf('nodeType') }),
    name: Name,
    position: Point,
    config: JsonMap,
    inputs: Type.Record(Type.String(), PortValue),
    credentialsRef: Text,
    settings: Type.Optional(JsonMap),
    outputRole: Type.Optional(OneOf(['primary', 'secondary'])),
    disabled: Flag,
    notes: Text,
    groupId: Text,
    agent: Type.Optional(AgentPin),
    envelopeContract: Type.Optional(JsonMap),
    artifactType: Text,
    cardType: Text,
    outputSensitivity: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
  },
  closed,
)

const Condition = Type.Object(
  {
    type: Type.Optional(OneOf(['expression', 'equals', 'notEquals', 'contains', 'regex'])),
    left: Text,
    right: Type.Optional(Type.Unknown()),
    expression: Text,
  },
  closed,
)

const Edge = Type.Object(
  {
    id: NodeId,
    sourceNodeId: NodeId,
    sourceOutput: Text,
    targetNodeId: NodeId,
    targetInput: Text,
    condition: Type.Optional(Condition),
    label: Text,
    triggerRule: Type.Optional(OneOf(['all_success', 'any_success', 'all_complete', 'none_failed', 'any_failed'])),
  },
  closed,
)

const TRIGGERS = [
  'manual',
  'schedule',
  'webhook',
  'event',
  'artifact',
  'canvas',
  'envelope',
  'command',
  'chat-message',
  'channel-write',
] as const

const Trigger = Type.Object(
  {
    id: Type.String({ minLength: 1 }),
    type: OneOf(TRIGGERS),
    name: Text,
    description: Text,
    config: Type.Optional(JsonMap),
    enabled: Flag,
    nodeId: Text,
    eventType: Text,
  },
  closed,
)

const Variable = Type.Object(
  {
    name: PartName,
    type: OneOf(['string', 'number', 'boolean', 'object', 'array']),
    description: Text,
    required: Flag,
    defaultValue: Type.Optional(Type.Unknown()),
    sensitive: Flag,
  },
  closed,
)

const Group = Type.Object(
  {
    id: PartName,
    name: Name,
    color: Text,
    collapsed: Flag,
    nodeIds: Type.Array(Type.String()),
    position: Point,
    size: Type.Object({ width: Type.Number(), height: Type.Number() }),
  },
  closed,
)

const AccessList = Type.Optional(
  Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: '^([a-z][a-zA-Z0-9._-]*\\*?|\\*)$' }), {
    maxItems: 256,
    uniqueItems: true,
  }),
)

const Channel = Type.Object(
  {
    reducer: Type.String({ pattern: REDUCER.source }),
    schema: Type.Optional(JsonMap),
    schemaVersion: Type.Optional(Type.Integer({ minimum: 1 })),
    compatibleWith: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { uniqueItems: true })),
    default: Type.Optional(Type.Unknown()),
    maxSize: Type.Optional(Type.Integer({ minimum: 1 })),
    ttlMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 31_536_000_000 })),
    options: Type.Optional(JsonMap),
    access: Type.Optional(
      Type.Union([OneOf(['public', 'private']), Type.Object({ readers: AccessList, writers: AccessList }, closed)]),
    ),
    sensitive: Flag,
  },
  closed,
)

const Metadata = Type.Object({
  tags: Type.Optional(Type.Array(Tag, { maxItems: 100 })),
  complianceClass: Type.Optional(OneOf(['public', 'pii', 'phi', 'pci', 'regulated'])),
  complianceConfig: Type.Optional(
    Type.Object({ maskingMode: Type.Optional(OneOf(['mask', 'omit', 'hash', 'passthrough'])) }),
  ),
})

export const WorkflowDefinitionBody = Type.Object(
  {
    id: Type.String({ pattern: ID_PATTERNS.workflowId }),
    name: Name,
    version: Type.String({ minLength: 1, maxLength: 128 }),
    nodes: Type.Array(Node, { minItems: 1 }),
    edges: Type.Array(Edge),
    triggers: Type.Array(Trigger),
    variables: Type.Array(Variable),
    metadata: Metadata,
    settings: WorkflowSettingsSchema,
    description: Text,
    type: Text,
    isActive: Flag,
    status: Type.Optional(OneOf(['active', 'inactive', 'draft', 'archived'])),
    tenantId: Text,
    scopeId: Text,
    slug: Type.Optional(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]*$' })),
    groups: Type.Optional(Type.Array(Group)),
    channels: Type.Optional(Type.Record(Type.String(), Channel)),
    configurableSchema: Type.Optional(JsonMap),
    defaults: Type.Optional(Type.Object({ promptRefs: Type.Optional(JsonMap) }, closed)),
    acceptsInheritedArtifacts: Type.Optional(Type.Array(JsonMap)),
    createdAt: Text,
    updatedAt: Text,
  },
  closed,
)
export type WorkflowDefinitionBody = Static<typeof WorkflowDefinitionBody>

const WorkflowAnswer = Type.Object({
  workflowId: Type.String(),
  digest: Type.String(),
  shared: Type.Boolean({ description: 'Comes with the project and belongs to every tenant' }),
  updatedAt: Type.String({ format: 'date-time' }),
})
const Warnings = Type.Optional(
  Type.Array(Type.String(), {
    description:
      'What may well be a mistake, each with the place and the fix: names that the workflow does not declare, settings that nothing reads, agents, workflows and tools that are not there now. Absent when there is nothing to say',
  }),
)
export const RegisteredWorkflowAnswer = Type.Object({ ...WorkflowAnswer.properties, warnings: Warnings })
export const ListWorkflowsAnswer = Type.Object({ workflows: Type.Array(WorkflowAnswer) })
export const CheckWorkflowAnswer = Type.Object({
  valid: Type.Literal(true),
  digest: Type.String(),
  warnings: Warnings,
})
