import type { Json, JsonObject } from '../../../src/core/json.js'
import type { OrchestratorDecision } from '../../../src/core/supervisor/decision.js'
import type { Sketch } from '../../../src/testing/workflow.js'

/** What a story is about: one workflow, what its run is given, and what the host asks of it. */
export type Setup = {
  /** A loop with or without the edge back, with a node behind it, a supervisor alone, or a sub-workflow. */
  readonly shape: 'loop' | 'open loop' | 'loop and after' | 'alone' | 'sub'
  readonly source: Source
  /** The agent that the supervisor names as its own. */
  readonly agent?: string
  /** How long an answer to the supervisor may take, by its configuration and by its settings. */
  readonly answerMs?: number
  readonly nodeMs?: number
  /** Of the dispatch or sub-workflow node. */
  readonly handing: Handing
  /** Static input ports of that node. */
  readonly ports: { readonly [port: string]: string }
  readonly floor: number
  readonly escalation: string
  /** The host's ceiling for turns, and what the run asks for. */
  readonly ceiling: number
  readonly configurable: { readonly maxLoopIterations?: number; readonly runTimeoutMs?: number }
  readonly variables: readonly { readonly name: string; readonly defaultValue?: string; readonly sensitive?: boolean }[]
  readonly inputs: { readonly [name: string]: string }
}

export type Decision = OrchestratorDecision & JsonObject

export type Source =
  | { readonly kind: 'plan'; readonly decisions: readonly Decision[] }
  | { readonly kind: 'rules'; readonly rules: readonly Rule[]; readonly otherwise: Decision }
  | {
      readonly kind: 'held'
      readonly confidence: number
      readonly pending: Decision
      readonly decisions: readonly Decision[]
    }

export type Rule = { readonly when: keyof typeof CONDITIONS; readonly decide: Decision }

/** What rules ask for. */
export const CONDITIONS = {
  early: 'iteration <= 2',
  'a worker failed': 'workers.exists(w, w.status == "failed")',
  'someone answered': 'answer != null',
  'p is set': 'has(variables.p)',
} as const

export type Mapping = { readonly [to: string]: string }

export type Handing = {
  readonly fanOutPolicy?: 'sequential' | 'parallel' | 'reject'
  readonly iterationCap?: number
  readonly inputMapping?: Mapping
  readonly outputMapping?: Mapping
  readonly perWorkerInputMappings?: { readonly [workerId: string]: Mapping }
  readonly perWorkerOutputMappings?: { readonly [workerId: string]: Mapping }
  readonly outputAttestation?: { readonly checksum?: boolean; readonly requireApproval?: boolean }
  readonly propagateCancellation?: boolean
  readonly onChildFailure?: 'fail-parent' | 'absorb'
}

/** The worker of a sub-workflow. */
export const SUB_WORKER = 'w-sub'

export const RUN_ID = 'run-1'

export const ESCALATION_THRESHOLD = 0.7

export function workflowOf(setup: Setup): Sketch {
  const { shape, handing, ports, variables } = setup
  const inputs = Object.fromEntries(
    Object.entries(ports).map(([port, value]) => [port, { type: 'static' as const, value }]),
  )
  const config = handing as JsonObject
  const common = {
    id: 'conformance-random',
    variables: variables.map(variable => ({ type: 'string' as const, ...variable })),
  }
  if (shape === 'sub')
    return {
      ...common,
      nodes: {
        sub: { type: 'core.subWorkflow', config: { ...config, workflowId: SUB_WORKER }, inputs },
        next: 'core.noop',
      },
      edges: ['sub > next'],
    }
  const lead = leadOf(setup)
  const hand = { type: 'core.dispatch', config, inputs }
  switch (shape) {
    case 'alone':
      return { ...common, nodes: { lead } }
    case 'open loop':
      return { ...common, nodes: { lead, hand }, edges: ['lead > hand'] }
    case 'loop':
      return { ...common, nodes: { lead, hand }, edges: ['lead > hand', 'hand > lead'] }
    case 'loop and after':
      return {
        ...common,
        nodes: { lead, hand, after: 'core.noop' },
        edges: ['lead > hand', 'hand > lead', 'lead > after'],
      }
  }
}

function leadOf({ source, answerMs, nodeMs, agent }: Setup) {
  return {
    type: 'core.orchestrator.supervisor',
    config: { ...configOf(source), ...(answerMs === undefined ? {} : { timeoutMs: answerMs }) },
    ...(nodeMs === undefined ? {} : { settings: { timeoutMs: nodeMs } }),
    ...(agent === undefined ? {} : { agent: { agentId: agent } }),
  }
}

function configOf(source: Source): { readonly [field: string]: Json } {
  switch (source.kind) {
    case 'plan':
      return { mockDispatchPlan: source.decisions }
    case 'held':
      return {
        mockDispatchPlan: source.decisions,
        mockConfidence: source.confidence,
        mockPendingDecision: source.pending,
      }
    case 'rules':
      return {
        rules: [
          ...source.rules.map(({ when, decide }) => ({ when: CONDITIONS[when], decide })),
          { decide: source.otherwise },
        ],
      }
  }
}
