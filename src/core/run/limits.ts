import type { Asked } from '../interrupt/state.js'
import { failure } from '../problem.js'
import { GATE_QUESTION } from '../verification/record.js'
import type { Plan, PlanNode } from '../workflow/plan.js'
import type { RunLimits } from './decision-context.js'
import type { StopRequested } from './events.js'
import type { Active, NodeState } from './state.js'
import { heldUntil, questionOf } from './waiting.js'

const lowered = (state: Active, name: string, ceiling: number): number => {
  const wanted = state.started.configurable?.[name]
  return typeof wanted === 'number' ? Math.min(wanted, ceiling) : ceiling
}

type Failing = Extract<StopRequested, { outcome: 'failed' }>

/** How the run must stop because one more node would be one too many, or undefined. */
export function executionBreach(state: Active, limits: RunLimits, nodeId: string): Failing | undefined {
  const limit = lowered(state, 'recursionLimit', limits.maxNodeExecutions)
  if (state.executions < limit) return undefined
  const observed = state.executions + 1
  const message = `the run may start ${limit} nodes and node "${nodeId}" would be number ${observed}; raise configurable.recursionLimit or shorten the workflow`
  return {
    outcome: 'failed',
    error: failure('recursion_limit_exceeded', message, { details: { limit, observed } }),
    failedNodeId: nodeId,
    breach: { kind: 'node-executions', limit, observed, nodeId },
  }
}

/** R-STATE-3, R-BOUND-2: how the run must stop because the orchestrator's next turn would be one too many. */
export function loopBreach(state: Active, limits: RunLimits, planNode: PlanNode): Failing | undefined {
  const { node, type, index } = planNode
  if (type.role === undefined) return undefined
  const isTurn = type.role === 'supervisor'
  const { iterationCap } = node.config
  const limit = isTurn
    ? lowered(state, 'maxLoopIterations', limits.maxLoopIterations)
    : typeof iterationCap === 'number'
      ? iterationCap
      : Number.POSITIVE_INFINITY
  const taken = isTurn ? (state.orchestrator?.iteration ?? 0) : (state.starts[index] ?? 0)
  if (taken < limit) return undefined
  const observed = taken + 1
  const [what, setting] = isTurn
    ? ['take', 'configurable.maxLoopIterations']
    : ['hand work over in', `config.iterationCap of node "${node.id}"`]
  const message = `the orchestrator may ${what} ${limit} turns and would begin number ${observed}; raise ${setting} or let it terminate earlier`
  return loopStop(message, limit, observed, node.id)
}

/**
 * R-DWS-34: how often the host may send work back in this run. The bound of the orchestrator's turns, as a count of its
 * own; where nobody takes turns, the host's ceiling.
 */
export const reworkLimit = (plan: Plan, state: Active, limits: RunLimits): number =>
  plan.nodes.some(({ type }) => type.role === 'supervisor')
    ? lowered(state, 'maxLoopIterations', limits.maxLoopIterations)
    : limits.maxLoopIterations

const loopStop = (message: string, limit: number, observed: number, nodeId: string): Failing => ({
  outcome: 'failed',
  error: failure('loop_limit_exceeded', message, { retryable: false, details: { limit, iteration: observed } }),
  failedNodeId: nodeId,
  breach: { kind: 'loop-iterations', limit, observed, nodeId },
})

/** How the run must stop because its time is over, or undefined. Trips on elapsed > limit, never at it. */
export function durationBreach(plan: Plan, state: Active, limits: RunLimits, now: number): Failing | undefined {
  const wall = lowered(state, 'runTimeoutMs', limits.maxRunDurationMs)
  const elapsed = now - state.startedAt
  if (elapsed > wall) return timedOut(wall, elapsed, 'configurable.runTimeoutMs')
  const own = plan.definition.settings.timeout ?? 0
  const idle = state.idleMs + (state.idleSince === null ? 0 : now - state.idleSince)
  return own > 0 && elapsed - idle > own ? timedOut(own, elapsed - idle, 'settings.timeout') : undefined
}

const timedOut = (limit: number, observed: number, setting: string): Failing => ({
  outcome: 'failed',
  error: failure(
    'run_timeout',
    `the run may take ${limit} ms and has taken ${observed}; raise ${setting} if it needs longer`,
    {
      details: { limitMs: limit, elapsedMs: observed },
    },
  ),
  breach: { kind: 'run-duration', limit, observed },
})

/** The first moment at which durationBreach can report. */
export function deadline(plan: Plan, state: Active, limits: RunLimits): number {
  const wall = state.startedAt + lowered(state, 'runTimeoutMs', limits.maxRunDurationMs) + 1
  const own = plan.definition.settings.timeout ?? 0
  if (own === 0 || state.idleSince !== null) return wall
  return Math.min(wall, state.startedAt + own + state.idleMs + 1)
}

/** When time alone moves this node: a timer, a timeout or a retry; Infinity when nothing does. */
export function nodeDueAt(planNode: PlanNode, node: NodeState, mayStart: boolean): number {
  if (node.is === 'retrying') return mayStart ? node.dueAt : Number.POSITIVE_INFINITY
  if (node.is !== 'waiting') return Number.POSITIVE_INFINITY
  const question = questionOf(node)
  if (question) return answerDueAt(planNode, question)
  if (node.halted) return Number.POSITIVE_INFINITY
  switch (node.on) {
    // The time of a node is for its work; judging it has limits of its own.
    case 'workers':
    case 'gate':
      return heldUntil(node) ?? Number.POSITIVE_INFINITY
    case 'person':
      return Number.POSITIVE_INFINITY
    default: {
      const timeout = planNode.timeoutMs > 0 ? node.sinceAt + planNode.timeoutMs + 1 : Number.POSITIVE_INFINITY
      return node.wait.kind === 'timer' ? Math.min(timeout, node.sinceAt + node.wait.ms) : timeout
    }
  }
}

/** When an answer comes too late: by the interrupt's own limit or the node's, whichever is shorter. */
export function answerDueAt({ timeoutMs, type }: PlanNode, asked: Asked): number {
  // The time of a node that hands work over is its workers' time.
  const own = type.hands || asked.isBudget || asked.data.artifactType === GATE_QUESTION ? 0 : timeoutMs
  const limits = [asked.timeoutMs ?? 0, own].filter(limit => limit > 0)
  return limits.length === 0 ? Number.POSITIVE_INFINITY : asked.requestedAt + Math.min(...limits)
}
