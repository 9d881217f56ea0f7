import { NOTHING_SPENT, usdOf } from '../core/budget/budget.js'
import type { WorkerState } from '../core/handoff/state.js'
import type { Active, Ended, NodeState } from '../core/run/state.js'
import { invocationOf as atWorkIn, isSuspended, type OnWorkers, type Waiting } from '../core/run/waiting.js'
import type { Orchestrator } from '../core/supervisor/state.js'
import type { Plan, PlanNode } from '../core/workflow/plan.js'
import type { AgentRef } from './agent-ref.js'
import { ledgersOf, renderGates } from './render-gates.js'
import type { LoopSnapshot, NodeSnapshot, RunSnapshot } from './run.js'
import { spentOf } from './spent.js'

/** What a snapshot tells of agents: who decides, who acts, how the loop stands and what the workers do. */

const isSupervisor = ({ type }: PlanNode): boolean => type.role === 'supervisor'

type Pin = AgentRef & { readonly memoryRef?: string }

// The shape of a definition was checked when it was registered.
const pinOf = ({ node: { agent } }: PlanNode): Pin | undefined => agent as Pin | undefined

function shownPin(pin: Pin): AgentRef {
  const { memoryRef: _, ...shown } = pin
  return shown
}

/** As the first of these nodes that pins the agent describes it. */
function described(agentId: string, nodes: readonly PlanNode[]): AgentRef {
  const pin = nodes.map(pinOf).find(known => known?.agentId === agentId)
  return pin === undefined ? { agentId } : shownPin(pin)
}

type Existing = Active | Ended

/** R-ORCH-9, R-EVENT-8. */
export function renderAgents(plan: Plan, state: Existing): Pick<RunSnapshot, 'agent' | 'runOrchestrator' | 'loop'> {
  const { nodes } = plan
  const agent = state.agentId === undefined ? latestPin(nodes, state.nodes) : described(state.agentId, nodes)
  const runOrchestrator = orchestratorOf(nodes.filter(isSupervisor), state)
  return {
    ...(agent && { agent }),
    ...(runOrchestrator && { runOrchestrator }),
    ...(state.orchestrator && { loop: loopOf(plan, state, state.orchestrator) }),
  }
}

/** From the first decision on; before it, also while a decision is held, whoever the supervisor is meant for. */
function orchestratorOf(supervisors: readonly PlanNode[], { orchestrator, nodes }: Existing): AgentRef | undefined {
  if (orchestrator) return described(orchestrator.agentId, supervisors)
  const started = supervisors.find(({ index }) => sinceOf(nodes[index]) !== undefined)
  const pin = started && pinOf(started)
  return pin && shownPin(pin)
}

/** Nobody has acted yet that the log names: then whoever the latest node is meant for. */
function latestPin(nodes: readonly PlanNode[], states: readonly NodeState[]): AgentRef | undefined {
  let latest: { readonly since: number; readonly pin: Pin } | undefined
  for (const planNode of nodes) {
    const pin = pinOf(planNode)
    const since = sinceOf(states[planNode.index])
    if (pin === undefined || isSupervisor(planNode) || since === undefined) continue
    if (latest === undefined || since > latest.since) latest = { since, pin }
  }
  return latest && shownPin(latest.pin)
}

/** When something last happened to a node that was started. */
function sinceOf(state: NodeState | undefined): number | undefined {
  if (state === undefined || state.is === 'idle' || state.is === 'skipped') return undefined
  // A node that was stopped by a pause does not say when.
  return state.is === 'interrupted' ? -1 : state.since
}

function loopOf(plan: Plan, state: Existing, { iteration, decision }: Orchestrator): LoopSnapshot {
  const limit = state.started.configurable?.maxLoopIterations
  return {
    iteration,
    phase: phaseOf(plan, state),
    decision: decisionOf(decision),
    ...(typeof limit === 'number' && { limit }),
  }
}

/** The texts of a decision may quote what the log masks. */
function decisionOf(decision: Orchestrator['decision']): LoopSnapshot['decision'] {
  const { kind } = decision
  const confidence = 'confidence' in decision ? decision.confidence : undefined
  return {
    kind,
    ...(kind === 'next-worker' && { nextWorkerIds: [...decision.nextWorkerIds] }),
    ...(confidence !== undefined && { confidence }),
  }
}

function phaseOf(plan: Plan, state: Existing): LoopSnapshot['phase'] {
  const supervisor = state.nodes[plan.nodes.findIndex(isSupervisor)]
  if (state.phase === 'ended' || (supervisor?.is === 'completed' && supervisor.outputs.route === 'done')) return 'done'
  if (supervisor?.is === 'waiting') return isSuspended(supervisor) ? 'suspended' : 'deciding'
  const handing = state.nodes.find(isHandingOver)
  if (handing === undefined) return 'deciding'
  return isSuspended(handing) ? 'suspended' : 'dispatching'
}

/** At the loop's own hand-off, not at that of a sub-workflow beside it. */
const isHandingOver = (node: NodeState): node is OnWorkers =>
  node.is === 'waiting' && node.on === 'workers' && node.wait.decided !== undefined

/** What a waiting node has handed over, and to whom. */
export function renderHandoff(node: Waiting): Pick<NodeSnapshot, 'childRunId' | 'workers'> {
  if (node.on !== 'workers') return {}
  const { wait, workers } = node
  const running = workers.find(worker => worker.is === 'running')
  return {
    ...(running && { childRunId: running.childRunId }),
    workers: wait.workers.map((workerId, index) => workerSnapshot(workerId, workers[index])),
  }
}

type WorkerSnapshot = NonNullable<NodeSnapshot['workers']>[number]

function workerSnapshot(workerId: string, worker: WorkerState = { is: 'pending' }): WorkerSnapshot {
  const childRunId = 'childRunId' in worker ? worker.childRunId : undefined
  return {
    workerId,
    status: worker.is === 'done' ? worker.status : worker.is,
    ...(childRunId !== undefined && { childRunId }),
  }
}

/** While a gate looks at what a tool has brought, the agent does nothing; the gate is told apart. */
const PHASES = { thinking: 'thinking', using: 'using-tool', judging: 'between', between: 'between' } as const

/** The agent at work in a node: who, with which model, and how far; nothing of what is said. */
export function renderInvocation(node: Waiting): Pick<NodeSnapshot, 'invocation'> {
  const invocation = atWorkIn(node)
  if (invocation === undefined) return {}
  const { invocationId, brief, calls, now } = invocation
  const { agentId, provider, model } = brief
  return { invocation: { invocationId, agentId, provider, model, phase: PHASES[now.is], modelCalls: calls } }
}

/** R-BUDGET-2: what the run and its children have spent, what nobody knows the cost of, and the ceilings that hold. */
export function renderSpend(state: Existing): Pick<RunSnapshot, 'metrics' | 'assay'> {
  const { spend = NOTHING_SPENT, held, budget } = state
  const gates = renderGates(state)
  if (spend === NOTHING_SPENT && held === undefined && budget === undefined && gates.length === 0) return {}
  return {
    metrics: { openwopCost: { usd: usdOf(spend.costNano) } },
    assay: {
      spend: ledgersOf(spend, state),
      ...(held && { held: spentOf(held) }),
      ...(budget && { budget }),
      ...(gates.length > 0 && { gates }),
    },
  }
}
