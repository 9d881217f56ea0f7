import type { JsonObject } from '../../core/json.js'
import { type Choose, chance, pick } from '../../log-check/testing/choice.js'
import { AGENT, agentNode } from '../invocations.js'
import { next, terminate } from '../orchestration.js'
import type { Sketch } from '../workflow.js'

/** Small random workflows over every node type that leaves something of its own in a log. */

export type Shape = {
  readonly kind: 'line' | 'graph' | 'loop' | 'orchestra'
  readonly nodes: readonly (keyof typeof NODES)[]
  /** The supervisor is an agent, not a script. */
  readonly isLive?: boolean
}

type Node = Exclude<Sketch['nodes'][string], string>
type Edges = NonNullable<Sketch['edges']>

/** Lets the workflow say what conformance agents and supervisors do. */
export const MAIN = 'conformance-main'

const MAPPING = { result: 'answer', count: 'n' }
const RULES = ['all_success', 'all_complete', 'none_failed', 'any_success', 'any_failed'] as const

const STATE: Pick<Sketch, 'variables' | 'channels'> = {
  variables: [
    { name: 'greeting', type: 'string', defaultValue: 'hello' },
    { name: 'count', type: 'number' },
    { name: 'answer', type: 'string' },
    { name: 'hidden', type: 'string', sensitive: true },
  ],
  channels: {
    lines: { reducer: 'append', maxSize: 3 },
    recent: { reducer: 'append', ttlMs: 50 },
    total: { reducer: 'counter', default: 10 },
    merged: { reducer: 'merge' },
    ballot: { reducer: 'votes' },
    chat: { reducer: 'message' },
    latest: { reducer: 'replace' },
    notes: { reducer: 'feedback' },
  },
}

const WRITES: readonly JsonObject[] = [
  { channelName: 'lines', value: 'a line' },
  { channelName: 'recent', value: 7 },
  { channelName: 'total', value: -3 },
  { channelName: 'merged', value: { a: 1 } },
  { channelName: 'ballot', value: { userId: 'ann', vote: true } },
  { channelName: 'chat', value: { messageId: 'm1', text: 'hello' } },
  { channelName: 'latest', value: null },
  { channelName: 'notes', value: { author: 'ann', text: 'a note' } },
]

const limited = (config: JsonObject, choose: Choose): JsonObject =>
  chance(choose, 4) ? { ...config, timeoutMs: 50 + choose(100) } : config

function approval(choose: Choose): JsonObject {
  const required = 1 + choose(3)
  return {
    actions: pick(choose, [
      ['accept', 'reject'],
      ['accept', 'reject', 'refine', 'edit-accept', 'ask'],
    ]),
    ...(required > 1 ? { requiredApprovals: required } : {}),
    ...(required > 1 && chance(choose, 2) ? { rejectionPolicy: 'majority' } : {}),
    ...(chance(choose, 2) ? { approversList: ['ann', 'bob', 'cy', 'dan'] } : {}),
  }
}

/** How results of other runs are taken over. */
const merging = (choose: Choose): JsonObject => ({
  ...pick(choose, [{}, { outputMapping: {} }, { outputMapping: MAPPING }, { outputMapping: MAPPING }]),
  ...pick<JsonObject>(choose, [
    {},
    {},
    { outputAttestation: { checksum: true } },
    { outputAttestation: { requireApproval: true } },
    { outputAttestation: { checksum: true, requireApproval: true } },
  ]),
})

const mockAgent = (choose: Choose): JsonObject => ({
  ...pick<JsonObject>(choose, [{}, { mockReasoning: { summary: 'so', streamChunks: ['so ', 'it ', 'is'] } }]),
  ...pick<JsonObject>(choose, [
    {},
    { mockToolCalls: [{ toolId: 'search', result: [1], durationMs: 3 }] },
    {
      mockToolCalls: [
        { toolId: 'search', error: { code: 'gone' } },
        { toolId: 'fetch', arguments: { q: 1 }, result: 'x' },
      ],
    },
  ]),
  ...pick<JsonObject>(choose, [{}, {}, { mockHandoff: { toAgentId: 'core.other', reason: 'busy' } }]),
  ...pick<JsonObject>(choose, [
    {},
    ...[0.9, 0.4].map(confidence => ({ mockDecision: { decision: 'buy', confidence } })),
  ]),
})

const NODES = {
  noop: (): Node => ({ type: 'core.noop' }),
  delay: (choose: Choose): Node => ({ type: 'core.delay', config: { ms: choose(4) * 300 } }),
  fail: (choose: Choose): Node => ({
    type: 'core.fail',
    config: { failures: choose(4) },
    settings: { maxRetries: choose(3), retryDelayMs: 50 },
  }),
  effect: (choose: Choose): Node => ({
    type: 'core.conformance.side-effect',
    settings: { maxRetries: choose(3), retryDelayMs: 50 },
  }),
  variable: (choose: Choose): Node => ({
    type: 'core.setVariable',
    config: { name: pick(choose, ['result', 'result', 'hidden']), value: `value ${choose(9)}` },
  }),
  channel: (choose: Choose): Node => ({ type: 'core.channelWrite', config: pick(choose, WRITES) }),
  sub: (choose: Choose): Node => ({
    type: 'core.subWorkflow',
    config: {
      workflowId: pick(choose, ['child', 'child', 'asker', 'failing', 'writer']),
      ...merging(choose),
      ...(chance(choose, 2) ? { onChildFailure: 'absorb' } : {}),
    },
  }),
  approval: (choose: Choose): Node => ({ type: 'core.approvalGate', config: limited(approval(choose), choose) }),
  clarification: (choose: Choose): Node => ({
    type: 'core.clarificationGate',
    config: limited({ questions: ['why', 'how'].map(id => ({ id, question: `${id}?` })) }, choose),
  }),
  interrupt: (choose: Choose): Node => ({
    type: 'core.interrupt',
    config: limited(
      pick<JsonObject>(choose, [
        { kind: 'custom', data: { customKind: 'acme' } },
        { kind: 'external-event', data: { eventType: 'paid', correlation: { order: 7 } } },
        { kind: 'low-confidence', data: { agentId: 'a', threshold: 0.8, observed: 0.4 } },
      ]),
      choose,
    ),
  }),
  agent: (choose: Choose): Node =>
    agentNode({
      config: {
        ...(chance(choose, 24) ? { agentId: 'local.nobody' } : {}),
        ...(chance(choose, 6) ? { timeoutMs: 400 } : {}),
        resultVariable: 'result',
      },
      settings: { maxRetries: choose(3), retryDelayMs: 50, ...(chance(choose, 8) ? { timeoutMs: 250 } : {}) },
    }),
  mock: (choose: Choose): Node => ({ type: 'core.conformance.mock-agent', config: mockAgent(choose) }),
}

/** Runs that others hand work to. `nobody` is none of them. */
const WORKERS: readonly Sketch[] = [
  {
    id: 'child',
    nodes: {
      wait: { type: 'core.delay', config: { ms: 120 } },
      set: { type: 'core.setVariable', config: { name: 'answer', value: 'found' } },
      count: { type: 'core.setVariable', config: { name: 'n', value: 3 } },
    },
    edges: ['wait > set', 'set > count'],
  },
  { id: 'helper', nodes: { set: { type: 'core.setVariable', config: { name: 'helped', value: 1 } } } },
  { id: 'asker', nodes: { ask: { type: 'core.approvalGate', config: { timeoutMs: 2_000 } } } },
  { id: 'failing', nodes: { wait: { type: 'core.delay', config: { ms: 60 } }, no: 'core.fail' }, edges: ['wait > no'] },
  {
    id: 'writer',
    nodes: { a: agentNode({ config: { resultVariable: 'answer' }, settings: { maxRetries: 1, retryDelayMs: 50 } }) },
  },
]

export const CHILDREN: readonly Sketch[] = WORKERS.map(sketch => ({ ...STATE, ...sketch }))

export function workflow(shape: Shape, choose: Choose): Sketch {
  const more = { id: MAIN, ...STATE, settings: chance(choose, 3) ? { maxRetries: 1 } : {} }
  if (shape.kind === 'loop') return { ...more, ...loop(shape, choose) }
  if (shape.kind === 'orchestra') return { ...more, ...orchestra(shape, choose) }
  return { ...more, ...graph(shape, choose) }
}

type Graph = Pick<Sketch, 'nodes' | 'edges'>

const nodeOf = ({ nodes }: Shape, choose: Choose): Node => NODES[pick(choose, nodes)](choose)

function graph(shape: Shape, choose: Choose): Graph {
  const names = Array.from({ length: 2 + choose(5) }, (_, i) => `n${i}`)
  const isTolerant = shape.kind === 'graph' && chance(choose, 2)
  const edges: Edges = names.flatMap((to, i) => {
    const triggerRule = isTolerant ? pick(choose, RULES) : 'all_success'
    const sources = shape.kind === 'line' ? names.slice(Math.max(0, i - 1), i) : names.slice(0, i)
    return sources
      .filter(() => shape.kind === 'line' || chance(choose, 2))
      .map(from => ({ path: `${from} > ${to}`, triggerRule }))
  })
  return { nodes: Object.fromEntries(names.map(name => [name, nodeOf(shape, choose)])), edges }
}

/** pre → loop ⇄ b0 → b1 … , loop → after. */
function loop(shape: Shape, choose: Choose): Graph {
  const body = Array.from({ length: 1 + choose(3) }, (_, i) => `b${i}`)
  const nodes = Object.fromEntries(['pre', ...body, 'after'].map(name => [name, nodeOf(shape, choose)]))
  return {
    nodes: { ...nodes, loop: { type: 'core.loop', config: { maxIterations: 1 + choose(3) } } },
    edges: [
      'pre > loop',
      'loop.body > b0',
      ...body.slice(1).map((name, i) => `b${i} > ${name}`),
      `${body.at(-1)} > loop`,
      'loop.done > after',
    ],
  }
}

/** pre? → lead ⇄ hand → tidy? , lead → after? A dispatch may leave the way back unsaid. */
function orchestra(shape: Shape, choose: Choose): Graph {
  const [hasPre, hasTidy, hasAfter] = [chance(choose, 2), chance(choose, 3), chance(choose, 2)]
  const pinned = chance(choose, 2) ? { agent: { agentId: 'acme.lead' } } : {}
  const lead = { type: 'core.orchestrator.supervisor', config: leading(shape, choose), ...pinned }
  return {
    nodes: {
      ...(hasPre ? { pre: nodeOf(shape, choose) } : {}),
      lead,
      hand: { type: 'core.dispatch', config: dispatching(choose) },
      ...(hasTidy ? { tidy: 'core.noop' } : {}),
      ...(hasAfter ? { after: nodeOf(shape, choose) } : {}),
    },
    edges: [
      ...(hasPre ? ['pre > lead'] : []),
      'lead > hand',
      ...(hasTidy ? ['hand > tidy', 'tidy > lead'] : chance(choose, 2) ? ['hand > lead'] : []),
      ...(hasAfter ? ['lead > after'] : []),
    ],
  }
}

function leading({ isLive }: Shape, choose: Choose): JsonObject {
  const limit = chance(choose, 6) ? { timeoutMs: 300 } : {}
  if (isLive) return { prompt: 'lead them', ...limit }
  const plan = Array.from({ length: 1 + choose(4) }, () => decision(choose))
  const held = chance(choose, 3)
    ? { mockConfidence: pick(choose, [0.3, 0.9]), mockPendingDecision: decision(choose) }
    : {}
  return { mockDispatchPlan: plan, ...held, ...limit }
}

const dispatching = (choose: Choose): JsonObject => ({
  ...merging(choose),
  ...(choose(3) > 0 ? { fanOutPolicy: 'parallel' } : {}),
  ...(chance(choose, 3) ? { iterationCap: 1 } : {}),
  ...(chance(choose, 3) ? { perWorkerOutputMappings: { helper: { fresh: 'helped' } } } : {}),
})

/** What a supervisor may decide. */
export function decision(choose: Choose): JsonObject {
  const sure = pick<JsonObject>(choose, [
    {},
    {},
    { confidence: 0.9 },
    { confidence: 0.3 },
    { confidence: 0.3 },
    { confidence: 0.5 },
  ])
  const crew = Array.from({ length: 1 + choose(3) }, () => pick(choose, CREW))
  return pick<JsonObject>(choose, [
    { ...next(...crew), ...sure },
    { ...next(...crew), ...sure },
    { ...next(...crew), ...sure },
    { ...terminate, ...pick(choose, ENDS), ...sure },
    { kind: 'clarify', prompt: 'Which?' },
    { kind: 'ask-user', prompt: 'Which?' },
    { kind: 'escalate', title: 'Look!', artifact: [1] },
  ])
}

const CREW = ['child', 'child', 'child', 'helper', 'failing', 'asker', 'writer', AGENT, 'nobody']

const ENDS: readonly JsonObject[] = [
  {},
  { reason: 'goal-reached' },
  { successCriteria: [{ key: 'tests', met: true }] },
  { successCriteria: [{ key: 'tests', met: false }] },
]

/** Who may be asked to act: an agent of the catalogue, and the supervisor under either of its names. */
export const AGENTS = [AGENT, 'acme.lead', 'host:orchestrator:lead']
