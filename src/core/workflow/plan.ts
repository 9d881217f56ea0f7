import type { Expression, ExpressionScope } from '../expression.js'
import type { Meter } from '../meter.js'
import { absent } from '../present.js'
import type {
  ChannelDeclaration,
  TriggerRule,
  WorkflowDefinition,
  WorkflowEdge,
  WorkflowNode,
  WorkflowVariable,
} from './definition.js'
import type { NodeType } from './node-type.js'

/** A definition compiled for running: names resolved to indexes, expressions parsed, cycles understood. */
export type Plan = {
  readonly definition: WorkflowDefinition
  readonly digest: string
  readonly nodes: readonly PlanNode[]
  readonly indexOf: ReadonlyMap<string, number>
  readonly variables: ReadonlyMap<string, WorkflowVariable>
  readonly channels: ReadonlyMap<string, ChannelDeclaration>
  /** Nodes that no edge leads to, in definition order. */
  readonly entry: readonly number[]
}

export type PlanNode = {
  readonly index: number
  readonly node: WorkflowNode
  readonly type: NodeType
  readonly inbound: readonly PlanEdge[]
  readonly outbound: readonly PlanEdge[]
  /** Parsed expressions: `inputs.<port>` and `config.<name>`. */
  readonly expressions: ReadonlyMap<string, Expression>
  /** The agent that acts in it, if it names one. */
  readonly agentId: string | undefined
  /** Inside the loop of the workflow's supervisor. */
  readonly supervised: boolean
  /** For a loop: the nodes between its `body` port and the edges that lead back to it. */
  readonly body: readonly number[]
  readonly retry: Retry
  /** 0 means none. */
  readonly timeoutMs: number
}

export type Retry = {
  readonly max: number
  readonly delayMs: number
  readonly factor: number
  readonly maxDelayMs: number
}

export type PlanEdge = {
  readonly edge: WorkflowEdge
  readonly source: number
  readonly target: number
  readonly rule: TriggerRule
  /** The port of the source that it leaves by. */
  readonly port: string
  /** Leads from a loop's body back to the loop. */
  readonly back: boolean
  readonly condition: Condition | undefined
}

/** Whether data may flow over an edge. A condition that cannot be evaluated does not hold. */
/** Charges what it takes before it takes it; a meter that has no room for that throws OVER_BUDGET. */
export type Condition = (scope: ExpressionScope, meter: Meter) => boolean

/** The node at a place that the plan itself has named. */
export const planNodeAt = ({ nodes }: Pick<Plan, 'nodes'>, index: number): PlanNode =>
  nodes[index] ?? absent(`node ${index} in the plan`)

/** The node of that id, if the plan has one. */
export const planNodeOf = ({ nodes, indexOf }: Pick<Plan, 'nodes' | 'indexOf'>, nodeId: string): PlanNode | undefined =>
  nodes[indexOf.get(nodeId) ?? -1]

/** Whether the node of that id hands work to workers. */
export const handsOver = (plan: Pick<Plan, 'nodes' | 'indexOf'>, nodeId: string): boolean =>
  planNodeOf(plan, nodeId)?.type.hands === true
