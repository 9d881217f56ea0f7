import fc from 'fast-check'
import type { Sketch } from '../../src/testing/workflow.js'

type Nodes = Sketch['nodes']
type Node = Nodes[string]

const RULES = ['all_success', 'any_success', 'all_complete', 'none_failed', 'any_failed'] as const

/** A child that every generated workflow may call. */
export const CHILD: Sketch = {
  id: 'child',
  nodes: {
    d: { type: 'core.delay', config: { ms: 700 } },
    w: { type: 'core.channelWrite', config: { channelName: 'told', value: 'x' } },
  },
  edges: ['d > w'],
}

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

/** Forward edges only, with any trigger rule and, now and then, a condition on a variable. */
const edgesOver = (names: readonly string[]): fc.Arbitrary<NonNullable<Sketch['edges']>> =>
  fc
    .array(
      fc.record({
        from: fc.nat({ max: names.length - 1 }),
        to: fc.nat({ max: names.length - 1 }),
        triggerRule: fc.constantFrom(...RULES),
        conditional: fc.nat({ max: 5 }),
      }),
      { maxLength: names.length * 2 },
    )
    .map(pairs =>
      pairs
        .filter(({ from, to }) => from < to)
        .map(({ from, to, triggerRule, conditional }) => ({
          path: `${names[from]} > ${names[to]}`,
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

export const randomWorkflow: fc.Arbitrary<Sketch> = fc.array(simple, { minLength: 1, maxLength: 7 }).chain(nodes => {
  const names = nodes.map((_, i) => `n${i}`)
  const named: Nodes = Object.fromEntries(nodes.map((node, i) => [names[i], node]))
  return fc.record({ edges: edgesOver(names), passes: fc.nat({ max: 3 }) }).map(({ edges, passes }): Sketch => {
    const sketch: Sketch = { id: 'random', nodes: named, edges, channels: { c: { reducer: 'append' } } }
    return passes === 0 ? sketch : withLoop(sketch, passes)
  })
})

export type Happening =
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'crash' | 'zombie' | 'pause' | 'pause-now' | 'resume' | 'cancel' }
  /** The next commit is refused, or is made and its answer lost. */
  | { readonly kind: 'refuse-commit' | 'lose-answer' }

export const happenings: fc.Arbitrary<readonly Happening[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 2_000 }).map((ms): Happening => ({ kind: 'time', ms })) },
    {
      weight: 4,
      arbitrary: fc.constantFrom<Happening>(
        { kind: 'crash' },
        { kind: 'zombie' },
        { kind: 'refuse-commit' },
        { kind: 'lose-answer' },
      ),
    },
    { weight: 2, arbitrary: fc.constantFrom<Happening>({ kind: 'pause' }, { kind: 'pause-now' }, { kind: 'resume' }) },
    { weight: 1, arbitrary: fc.constant<Happening>({ kind: 'cancel' }) },
  ),
  { maxLength: 12 },
)
