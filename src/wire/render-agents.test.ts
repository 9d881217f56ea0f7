import { describe, expect, test } from 'vitest'
import type { WorkerState } from '../core/handoff/state.js'
import type { JsonObject } from '../core/json.js'
import type { Active, NodeState, RunState } from '../core/run/state.js'
import type { OnWorkers } from '../core/run/waiting.js'
import type { Orchestrator } from '../core/supervisor/state.js'
import type { Plan } from '../core/workflow/plan.js'
import { renderSnapshot } from './render.js'

const PINS: { readonly [nodeId: string]: JsonObject } = {
  sup: { agentId: 'core.chief', name: 'Chief', sourceManifestId: 'm-1' },
  write: { agentId: 'vendor.acme.writer', version: '1.2.0', memoryRef: 'notes' },
  check: { agentId: 'vendor.acme.critic' },
}
const ROLES: { readonly [nodeId: string]: string } = { sup: 'supervisor', hand: 'dispatch' }
const IDS = ['sup', 'hand', 'sub', 'write', 'check']

const plan = {
  definition: { id: 'w' },
  nodes: IDS.map((id, index) => ({ index, node: { id, agent: PINS[id] }, type: { role: ROLES[id] } })),
  channels: new Map(),
} as unknown as Plan

const orchestrator: Orchestrator = {
  agentId: 'core.chief',
  iteration: 2,
  decided: 9,
  decision: { kind: 'next-worker', nextWorkerIds: ['a'] },
  owed: false,
  workers: [],
}

const handing = (workers: readonly WorkerState[], more: object = { decided: 9 }): NodeState => ({
  is: 'waiting',
  on: 'workers',
  attempt: 0,
  failures: 0,
  since: 10,
  sinceAt: 0,
  wait: { kind: 'handoff', workers: ['a', 'b', 'c', 'd', 'e'], policy: 'parallel', inputs: {}, ...more },
  workers,
})

const asked = { kind: 'approval' }
/** A hand-off that asks whether to merge, or whoever else asks. */
const asking = (node: NodeState): NodeState =>
  ('workers' in node
    ? { ...node, hold: { is: 'merging', asked } }
    : { ...node, on: 'person', asked }) as unknown as NodeState

const { workers: _, ...started } = handing([]) as OnWorkers
const thinking = { ...started, on: 'host', wait: { kind: 'effect' } } as unknown as NodeState
const completed = (since: number, outputs: JsonObject = {}): NodeState => ({ is: 'completed', outputs, since })

/** A run whose nodes are as given; the others have not started. */
function shown(nodes: { readonly [nodeId: string]: NodeState }, more: Partial<Active> = {}, phase = 'active') {
  const state = {
    phase,
    mode: { kind: 'running' },
    outcome: { status: 'completed', outputs: {} },
    runId: 'r',
    started: { workflowId: 'w', inputs: {}, owner: { tenant: 't' } },
    startedAt: 0,
    endedAt: 0,
    variables: {},
    channels: {},
    hidden: { variables: [], channels: [] },
    nodes: IDS.map(id => nodes[id] ?? { is: 'idle' }),
    open: [],
    ...more,
  } as unknown as RunState
  return renderSnapshot({ runId: 'r', tenant: 't', state, status: 'running', plan })
}

describe('who acts', () => {
  test('R-ORCH-9 R-EVENT-8: the orchestrator is told once its node has started, as that pins it', () => {
    expect(shown({})).not.toHaveProperty('runOrchestrator')
    expect(shown({ sup: thinking }).runOrchestrator).toEqual(PINS.sup)
    expect(shown({ sup: thinking }, { orchestrator }).runOrchestrator).toEqual(PINS.sup)
  })

  test('R-ORCH-12: one without a pin has its id alone', () => {
    const unnamed = { ...orchestrator, agentId: 'host:orchestrator:sup' }
    expect(shown({}, { orchestrator: unnamed }).runOrchestrator).toEqual({ agentId: 'host:orchestrator:sup' })
  })

  test('R-ORCH-9: the agent is who acted last, as its node pins it, if one does', () => {
    expect(shown({}, { agentId: 'vendor.acme.critic' }).agent).toEqual(PINS.check)
    expect(shown({}, { agentId: 'vendor.acme.guest' }).agent).toEqual({ agentId: 'vendor.acme.guest' })
  })

  test('R-EVENT-8: before anybody acts it is the pin of the node that started last, the orchestrator aside', () => {
    expect(shown({})).not.toHaveProperty('agent')
    expect(shown({ sup: thinking })).not.toHaveProperty('agent')
    expect(shown({ write: { is: 'skipped', since: 4 } })).not.toHaveProperty('agent')
    expect(shown({ write: completed(3), check: completed(5) }).agent).toEqual(PINS.check)
    expect(shown({ write: completed(7), check: completed(5) }).agent?.agentId).toBe('vendor.acme.writer')
  })

  test('where its memory is stays out: this host keeps none', () => {
    expect(shown({ write: completed(3) }).agent).toEqual({ agentId: 'vendor.acme.writer', version: '1.2.0' })
  })
})

describe('how the loop stands', () => {
  const phase = (nodes: { readonly [nodeId: string]: NodeState }, how?: string) =>
    shown(nodes, { orchestrator }, how).loop?.phase

  test('R-STATE-12: deciding, dispatching, suspended or done', () => {
    expect(phase({ sup: thinking })).toBe('deciding')
    expect(phase({ sup: asking(thinking) })).toBe('suspended')
    expect(phase({ sup: completed(9, { route: 'body' }), hand: handing([]) })).toBe('dispatching')
    expect(phase({ sup: completed(9, { route: 'body' }), hand: asking(handing([])) })).toBe('suspended')
    expect(phase({ sup: completed(9, { route: 'done' }), write: thinking })).toBe('done')
    expect(phase({ sup: completed(9, { route: 'body' }) }, 'ended')).toBe('done')
  })

  test('a sub-workflow beside the loop is not its hand-off', () => {
    const beside = { sup: completed(9, { route: 'again' }), sub: handing([], {}) }
    expect(phase(beside)).toBe('deciding')
  })

  test('counts turns, and says how many the run asked for', () => {
    expect(shown({}).loop).toBeUndefined()
    const decision = { kind: 'next-worker', nextWorkerIds: ['a'] }
    expect(shown({ sup: thinking }, { orchestrator }).loop).toEqual({ iteration: 2, phase: 'deciding', decision })
    const started = { workflowId: 'w', inputs: {}, owner: { tenant: 't' }, configurable: { maxLoopIterations: 4 } }
    expect(shown({ sup: thinking }, { orchestrator, started } as never).loop?.limit).toBe(4)
  })
})

test('of a decision its texts are left to the log, which masks what it must', () => {
  const decision = { kind: 'terminate', reason: 'the secret is out', confidence: 0.9 } as const
  const { loop } = shown({ sup: thinking }, { orchestrator: { ...orchestrator, decision } })
  expect(loop?.decision).toEqual({ kind: 'terminate', confidence: 0.9 })
})

test('R-HANDOFF-1: a node that hands work over shows every worker and the child that runs', () => {
  const inputs = { inputs: { secret: 1 }, unset: [] }
  const workers: WorkerState[] = [
    { is: 'done', status: 'failed', error: { code: 'boom', message: 'no' } },
    { is: 'completed', ended: 4, childRunId: 'c-2', outputs: { secret: 1 }, hidden: [] },
    { is: 'running', began: 1, succeeded: 2, childRunId: 'c-3', ...inputs },
    { is: 'dispatching', began: 3, ...inputs },
  ]
  const node = shown({ hand: handing(workers) }).nodeStates?.hand
  expect(node).toEqual({
    status: 'running',
    attempt: 0,
    childRunId: 'c-3',
    workers: [
      { workerId: 'a', status: 'failed' },
      { workerId: 'b', status: 'completed', childRunId: 'c-2' },
      { workerId: 'c', status: 'running', childRunId: 'c-3' },
      { workerId: 'd', status: 'dispatching' },
      { workerId: 'e', status: 'pending' },
    ],
  })
})

test('R-LIVE-17: a node with an agent at work shows who, with which model and how far, and nothing of what is said', () => {
  const brief = {
    agentId: 'local.a.writer',
    provider: 'openai',
    model: 'm',
    modelClass: 'writing',
    prompts: [],
    tools: [],
  }
  const invocation = {
    invocationId: 'r:write:1',
    brief,
    contents: 'secret-place',
    rounds: [],
    calls: 2,
    now: { is: 'using' },
  }
  const node = shown({ write: { ...thinking, on: 'agent', invocation } as unknown as NodeState }).nodeStates?.write
  expect(node?.invocation).toEqual({
    invocationId: 'r:write:1',
    agentId: 'local.a.writer',
    provider: 'openai',
    model: 'm',
    phase: 'using-tool',
    modelCalls: 2,
  })
})

describe('R-BUDGET-2: what was spent', () => {
  const spend = { tokens: 120, costNano: 1_500_000, toolCalls: 2, retries: 1 }

  test('is told once there is something to tell', () => {
    expect(shown({})).not.toHaveProperty('assay')
    expect(shown({}, { spend })).toMatchObject({
      assay: { spend: { tokens: 120, costUsd: 0.0015, toolCalls: 2, retries: 1 } },
      metrics: { openwopCost: { usd: 0.0015 } },
    })
  })

  test('R-BUDGET-3: what nobody knows the cost of is no part of it', () => {
    const held = { tokens: 1_100, costNano: 10_200_000, toolCalls: 0, retries: 0 }
    expect(shown({}, { held })).toMatchObject({
      assay: { spend: { tokens: 0, costUsd: 0 }, held: { tokens: 1_100, costUsd: 0.0102 } },
      metrics: { openwopCost: { usd: 0 } },
    })
  })

  test('stands beside the ceilings that hold', () => {
    expect(shown({}, { budget: { maxTokens: 5 } }).assay).toEqual({
      spend: { tokens: 0, costUsd: 0, toolCalls: 0, retries: 0 },
      budget: { maxTokens: 5 },
    })
  })
})
