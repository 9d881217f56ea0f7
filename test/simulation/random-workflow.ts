import fc from 'fast-check'
import type { JsonObject } from '../../src/core/json.js'
import type { Sketch } from '../../src/testing/workflow.js'
import { WORKERS, withOrchestrator } from './random-loop.js'

type Nodes = Sketch['nodes']
type Node = Nodes[string]

const RULES = ['all_success', 'any_success', 'all_complete', 'none_failed', 'any_failed'] as const

const told: Node = { type: 'core.channelWrite', config: { channelName: 'told', value: 'x' } }

/** Children that every generated workflow may call: one works, one asks, one asks and does not wait for long. */
export const CHILDREN: readonly Sketch[] = [
  { id: 'child', nodes: { d: { type: 'core.delay', config: { ms: 700 } }, w: told }, edges: ['d > w'] },
  { id: 'asker', nodes: { gate: 'core.approvalGate', w: told }, edges: ['gate > w'] },
  {
    id: 'hasty',
    nodes: { gate: { type: 'core.approvalGate', config: { timeoutMs: 900 } }, w: told },
    edges: ['gate.reject > w'],
  },
  ...WORKERS,
]

const simple: fc.Arbitrary<Node> = fc.oneof(
  fc.constant<Node>('core.noop'),
  fc.integer({ min: 0, max: 3_000 }).map((ms): Node => ({ type: 'core.delay', config: { ms } })),
  fc.record({ failures: fc.integer({ min: 0, max: 4 }), maxRetries: fc.integer({ min: 0, max: 3 }) }).map(
    ({ failures, maxRetries }): Node => ({
      type: 'core.fail',
      config: { failures },
      settings: { maxRetries, retryDelayMs: 200 },
    }),
  ),
  fc.integer({ min: 0, max: 9 }).map((value): Node => ({ type: 'core.setVariable', config: { name: 'v', value } })),
  fc
    .integer({ min: 0, max: 9 })
    .map((value): Node => ({ type: 'core.channelWrite', config: { channelName: 'c', value } })),
  fc
    .constantFrom('keyed', 'safe')
    .map((repeat): Node => ({ type: 'core.conformance.side-effect', config: { repeat } })),
  fc
    .record({ onChildFailure: fc.constantFrom('fail-parent', 'absorb'), propagateCancellation: fc.boolean() })
    .map((config): Node => ({ type: 'core.subWorkflow', config: { workflowId: 'child', ...config } })),
)

const limited = (config: JsonObject): fc.Arbitrary<JsonObject> =>
  fc
    .option(fc.integer({ min: 200, max: 4_000 }), { nil: undefined })
    .map(timeoutMs => (timeoutMs === undefined ? config : { ...config, timeoutMs }))

const GATE = { actions: ['accept', 'reject', 'refine'] }

/** Nodes that wait for someone, here or in a child. */
const asking: fc.Arbitrary<Node> = fc.oneof(
  fc
    .constantFrom<JsonObject>(GATE, { ...GATE, requiredApprovals: 2 })
    .chain(limited)
    .map((config): Node => ({ type: 'core.approvalGate', config })),
  limited({ questions: [{ id: 'q', question: 'Which?' }] }).map(
    (config): Node => ({ type: 'core.clarificationGate', config }),
  ),
  fc
    .constantFrom<JsonObject>(
      { kind: 'custom', data: { customKind: 'any' } },
      { kind: 'external-event', data: { eventType: 'paid', correlation: { order: 7 } } },
      { kind: 'low-confidence', data: { agentId: 'a', threshold: 0.8, observed: 0.3 } },
    )
    .chain(limited)
    .map((config): Node => ({ type: 'core.interrupt', config })),
  fc
    .record({ workflowId: fc.constantFrom('asker', 'hasty'), onChildFailure: fc.constantFrom('fail-parent', 'absorb') })
    .map((config): Node => ({ type: 'core.subWorkflow', config })),
)

const isGate = (node: Node | undefined): boolean => typeof node === 'object' && node.type === 'core.approvalGate'

/** Forward edges only, with any trigger rule and, now and then, a condition on a variable or another port of a gate. */
const edgesOver = (names: readonly string[], nodes: readonly Node[]): fc.Arbitrary<NonNullable<Sketch['edges']>> =>
  fc
    .array(
      fc.record({
        from: fc.nat({ max: names.length - 1 }),
        to: fc.nat({ max: names.length - 1 }),
        triggerRule: fc.constantFrom(...RULES),
        conditional: fc.nat({ max: 5 }),
        port: fc.constantFrom('', '', '.reject', '.refine'),
      }),
      { maxLength: names.length * 2 },
    )
    .map(pairs =>
      pairs
        .filter(({ from, to }) => from < to)
        .map(({ from, to, triggerRule, conditional, port }) => ({
          path: `${names[from]}${isGate(nodes[from]) ? port : ''} > ${names[to]}`,
          triggerRule,
          ...(conditional === 0
            ? { condition: { type: 'expression' as const, expression: 'has(variables.v) && variables.v > 4' } }
            : {}),
        })),
    )

/** A loop around one node, in front of everything else. */
const withLoop = (sketch: Sketch, passes: number): Sketch => ({
  ...sketch,
  nodes: {
    ...sketch.nodes,
    loop: { type: 'core.loop', config: { maxIterations: passes } },
    body: { type: 'core.delay', config: { ms: 100 } },
  },
  edges: [
    ...(sketch.edges ?? []),
    'loop.body > body',
    'body > loop',
    { path: 'loop.done > n0', triggerRule: 'all_success' },
  ],
})

const node = fc.oneof({ weight: 7, arbitrary: simple }, { weight: 3, arbitrary: asking })

const plainWorkflow: fc.Arbitrary<Sketch> = fc.array(node, { minLength: 1, maxLength: 7 }).chain(nodes => {
  const names = nodes.map((_, i) => `n${i}`)
  const named: Nodes = Object.fromEntries(nodes.map((each, i) => [names[i], each]))
  return fc.record({ edges: edgesOver(names, nodes), passes: fc.nat({ max: 3 }) }).map(({ edges, passes }): Sketch => {
    const sketch: Sketch = { id: 'random', nodes: named, edges, channels: { c: { reducer: 'append' } } }
    return passes === 0 ? sketch : withLoop(sketch, passes)
  })
})

export const randomWorkflow: fc.Arbitrary<Sketch> = fc.oneof(
  { weight: 2, arbitrary: plainWorkflow },
  { weight: 1, arbitrary: plainWorkflow.chain(withOrchestrator) },
)
