import type { JsonObject } from '../core/json.js'
import type { BoundGate, Position } from '../core/verification/gate.js'
import { type Choose, chance, pick } from '../log-check/testing/choice.js'
import { boundGate } from './gates.js'
import { AGENT } from './invocations.js'
import { next } from './orchestration.js'
import type { Sketch } from './workflow.js'

/** A workflow and what its results are held to. */
export type GatedStory = {
  readonly workflow: Sketch
  readonly gates: readonly BoundGate[]
  readonly configurable?: JsonObject
  readonly forks: readonly ('replay' | 'branch')[]
}

const WORKERS = ['writer', 'reader']
/** Of the tools that agents have here, the one that gates may stand before. */
export const GATED_TOOL = 'mcp:weather.now'
const TEXT = { name: 'text', type: 'string' as const }

export function gatedStory(choose: Choose): GatedStory {
  const { workflow, places, actor } = pick(choose, PLACES)(choose)
  const wanted = chance(choose, 3) ? places : [pick(choose, places)]
  return {
    workflow,
    gates: wanted.map((position, i) => anyGate(choose, `g${i + 1}`, position, actor)),
    ...configurableFor(choose),
    forks: pick(choose, [[], [], ['branch'], ['replay'], ['branch', 'replay']] as const),
  }
}

function configurableFor(choose: Choose): { configurable?: JsonObject } {
  const maxLoopIterations = pick(choose, [undefined, undefined, 2, 4])
  const budget = pick(choose, [undefined, undefined, { maxTokens: 4_000, thresholdPercent: 50 }])
  const configurable = {
    ...(maxLoopIterations === undefined ? {} : { maxLoopIterations }),
    ...(budget === undefined ? {} : { budget }),
  }
  return Object.keys(configurable).length === 0 ? {} : { configurable }
}

type Place = { readonly workflow: Sketch; readonly places: readonly Position[]; readonly actor: string }

const at = (phase_id: string, placement: Position['placement'], worker_id?: string): Position => ({
  workflow_id: 'w',
  phase_id,
  placement,
  ...(worker_id === undefined ? {} : { worker_id }),
})

const PLACES: readonly ((choose: Choose) => Place)[] = [orchestra, orchestra, sub, agent, agent]

function orchestra(choose: Choose): Place {
  const turn = () =>
    next(...pick(choose, [['writer'], ['writer', 'reader'], ['reader', 'writer'], ['writer', 'writer']]))
  const ends = { kind: 'terminate', ...pick(choose, [{}, claim(choose, true), claim(choose, false)]) }
  const plan = [...Array.from({ length: 1 + choose(2) }, turn), ends]
  const hand = {
    ...pick(choose, [{ outputMapping: { text: 'text' } }, { outputMapping: { text: 'text' } }, {}]),
    ...(chance(choose, 3) ? { fanOutPolicy: 'parallel' } : {}),
    ...(chance(choose, 5) ? { outputAttestation: { checksum: true, requireApproval: true } } : {}),
  }
  return {
    workflow: {
      id: 'w',
      nodes: {
        sup: { type: 'core.orchestrator.supervisor', config: { mockDispatchPlan: plan } },
        hand: { type: 'core.dispatch', config: hand },
      },
      edges: ['sup > hand', 'hand > sup'],
      variables: [TEXT],
    },
    places: [
      at('hand', 'phase_exit'),
      at('hand', 'checkpoint', pick(choose, WORKERS)),
      at(pick(choose, ['sup', 'hand']), 'workflow_exit'),
    ],
    actor: 'writer',
  }
}

const claim = (choose: Choose, met: boolean): JsonObject => ({
  successCriteria: [{ key: pick(choose, ['correctness', 'done']), met }],
})

function sub(choose: Choose): Place {
  const config = {
    workflowId: 'writer',
    outputMapping: { text: 'text' },
    ...(chance(choose, 2) ? { onChildFailure: 'absorb' } : {}),
    ...(chance(choose, 4) ? { outputAttestation: { requireApproval: true } } : {}),
  }
  const settings = chance(choose, 3) ? { settings: { maxRetries: 1, retryDelayMs: 10 } } : {}
  return {
    workflow: {
      id: 'w',
      nodes: { a: { type: 'core.subWorkflow', config, ...settings }, b: 'core.noop' },
      edges: ['a > b'],
      variables: [TEXT],
    },
    places: [at('a', 'phase_exit'), at('a', 'workflow_exit')],
    actor: 'writer',
  }
}

function agent(choose: Choose): Place {
  const settings = chance(choose, 3) ? { settings: { maxRetries: 1, retryDelayMs: 10 } } : {}
  const config = { agentId: AGENT, ...(chance(choose, 2) ? { resultVariable: 'text' } : {}) }
  return {
    workflow: {
      id: 'w',
      nodes: { a: { type: 'core.agent', config, ...settings }, b: 'core.noop' },
      edges: ['a > b'],
      variables: [TEXT],
    },
    places: [
      at('a', pick(choose, ['phase_exit', 'checkpoint'])),
      { ...at('a', 'checkpoint'), tool_name: GATED_TOOL },
      at(pick(choose, ['a', 'b']), 'workflow_exit'),
    ],
    actor: AGENT,
  }
}

const VERIFIERS = [
  [],
  [{ agent_id: 'local.judge.one' }],
  [{ agent_id: 'local.judge.one' }, { agent_id: 'local.judge.two', weight: 2 }, { agent_id: 'local.judge.three' }],
]

function anyGate(choose: Choose, gate_id: string, position: Position, actor: string): BoundGate {
  const verifiers = pick(choose, [
    ...VERIFIERS,
    [{ agent_id: actor }],
    [{ agent_id: 'local.judge.one' }, { agent_id: actor }],
  ])
  const answer_timeout_ms = pick(choose, [undefined, 500])
  const bound = boundGate({
    gate_id,
    position,
    criteria: pick(choose, [
      [{ dimension: 'correctness' }],
      [{ dimension: 'correctness' }, { dimension: 'style' }],
      [{ dimension: 'correctness' }, { dimension: 'style' }],
      [{ dimension: 'correctness' }, FORMAT],
      [FORMAT],
    ]),
    verifiers,
    requirements: { allow_self_verification: chance(choose, 2) },
    quorum: {
      quorum_strategy: pick(choose, ['majority', 'unanimous', 'weighted', 'any'] as const),
      early_stop: chance(choose, 2),
    },
    behaviour: {
      blocking: !chance(choose, 6),
      on_fail: pick(choose, ['reject', 'conditional_pass', 'escalate'] as const),
      max_attempts: position.tool_name === undefined ? 1 + choose(3) : 1,
      rework: position.tool_name === undefined ? pick(choose, ['automatic', 'automatic', 'supervisor']) : 'automatic',
      reverification: pick(choose, ['targeted', 'full'] as const),
      confirm: pick(choose, ['full', 'full', 'none'] as const),
      stop_when_stuck: chance(choose, 4),
      auto_commit: pick(choose, ['always', 'always', 'licensed'] as const),
      min_confidence: pick(choose, [0, 0, 0.6]),
      retries: choose(2),
      ...(answer_timeout_ms === undefined ? {} : { answer_timeout_ms }),
    },
  })
  return { ...bound, hash: 'a'.repeat(64) }
}

const FORMAT = {
  dimension: 'format',
  probes: [{ probe_id: 'is-text', type: 'regex' as const, pattern: '.', absent: false }],
}
