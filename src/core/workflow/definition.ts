import type { Json, JsonObject } from '../json.js'

/** A workflow as its author registered it (contract core §9). Stored verbatim; `graph.ts` compiles it into a plan. */
export type WorkflowDefinition = {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly nodes: readonly WorkflowNode[]
  readonly edges: readonly WorkflowEdge[]
  readonly triggers: readonly JsonObject[]
  readonly variables: readonly WorkflowVariable[]
  readonly channels?: { readonly [name: string]: ChannelDeclaration }
  readonly configurableSchema?: JsonObject
  readonly metadata: JsonObject
  readonly settings: WorkflowSettings
  readonly [extra: string]: unknown
}

export type WorkflowNode = {
  readonly id: string
  readonly typeId: string
  readonly name: string
  readonly position: { readonly x: number; readonly y: number }
  readonly config: JsonObject
  readonly inputs: { readonly [port: string]: PortValue }
  readonly settings?: NodeSettings
  readonly disabled?: boolean
  readonly outputRole?: 'primary' | 'secondary'
  readonly artifactType?: string
  readonly outputSensitivity?: { readonly [port: string]: boolean }
  readonly [extra: string]: unknown
}

/** `settings` of a node: bounds and retries. The protocol leaves the object free; these are the keys Assay reads. */
export type NodeSettings = {
  readonly timeoutMs?: number
  readonly maxRetries?: number
  readonly retryDelayMs?: number
  readonly retryBackoffFactor?: number
  readonly retryMaxDelayMs?: number
}

export type PortValue =
  | { readonly type: 'static'; readonly value: Json }
  | { readonly type: 'expression'; readonly expression: string }
  | { readonly type: 'connection'; readonly nodeId: string; readonly outputKey: string; readonly optional?: boolean }
  | { readonly type: 'variable'; readonly variableName: string; readonly optional?: boolean }

export type TriggerRule = 'all_success' | 'any_success' | 'all_complete' | 'none_failed' | 'any_failed'

export type WorkflowEdge = {
  readonly id: string
  readonly sourceNodeId: string
  readonly sourceOutput?: string
  readonly targetNodeId: string
  readonly targetInput?: string
  readonly condition?: EdgeCondition
  readonly label?: string
  readonly triggerRule?: TriggerRule
}

export type EdgeCondition = {
  readonly type?: 'expression' | 'equals' | 'notEquals' | 'contains' | 'regex'
  readonly left?: string
  readonly right?: Json
  readonly expression?: string
}

export type WorkflowVariable = {
  readonly name: string
  readonly type: 'string' | 'number' | 'boolean' | 'object' | 'array'
  readonly description?: string
  readonly required?: boolean
  readonly defaultValue?: Json
  readonly sensitive?: boolean
}

export type ChannelDeclaration = {
  readonly reducer: string
  readonly schema?: JsonObject
  readonly schemaVersion?: number
  readonly compatibleWith?: readonly number[]
  readonly default?: Json
  readonly maxSize?: number
  readonly ttlMs?: number
  readonly options?: JsonObject
  readonly access?:
    | 'public'
    | 'private'
    | { readonly readers?: readonly string[]; readonly writers?: readonly string[] }
  readonly sensitive?: boolean
}

export type WorkflowSettings = {
  readonly timeout?: number
  readonly maxRetries?: number
  readonly logLevel?: string
  readonly maxLoopbackIterations?: number
  readonly [extra: string]: unknown
}
