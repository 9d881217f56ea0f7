import fc from 'fast-check'
import type { JsonObject } from '../../src/core/json.js'
import { loopOf, next } from '../../src/testing/orchestration.js'
import type { Sketch } from '../../src/testing/workflow.js'

const delay = (ms: number) => ({ type: 'core.delay', config: { ms } })
const sum = {
  type: 'core.setVariable',
  config: { name: 'sum' },
  inputs: { value: { type: 'expression' as const, expression: 'has(variables.given) ? variables.given + 1 : 1' } },
}

/** What an orchestrator may hand work to, besides the children of any workflow. */
export const WORKERS: readonly Sketch[] = [
  { id: 'quick', nodes: { sum } },
  { id: 'steady', nodes: { d: delay(500), sum }, edges: ['d > sum'] },
  { id: 'failing', nodes: { d: delay(300), f: { type: 'core.fail', config: { failures: 9 } } }, edges: ['d > f'] },
]

/** Of the last there is none. */
const worker = fc.constantFrom('quick', 'steady', 'steady', 'failing', 'asker', 'hasty', 'nobody')

const doubtful = (decision: JsonObject): fc.Arbitrary<JsonObject> =>
  fc
    .constantFrom(undefined, undefined, 0.2, 0.9)
    .map(confidence => (confidence === undefined ? decision : { ...decision, confidence }))

const decision: fc.Arbitrary<JsonObject> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(worker, { minLength: 1, maxLength: 3 }).chain(workers => doubtful(next(...workers))),
  },
  { weight: 1, arbitrary: doubtful({ kind: 'terminate', reason: 'enough' }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<JsonObject>({ kind: 'clarify', prompt: 'Which?' }, { kind: 'escalate', reason: 'Help' }),
  },
)

const supervisor: fc.Arbitrary<JsonObject> = fc
  .record({
    plan: fc.array(decision, { minLength: 1, maxLength: 4 }),
    timeoutMs: fc.option(fc.integer({ min: 200, max: 4_000 }), { nil: undefined }),
  })
  .map(({ plan, timeoutMs }) => ({
    rules: [
      ...plan.map((decide, i) => ({ when: `iteration == ${i + 1}`, decide })),
      { decide: { kind: 'terminate', reason: 'done' } },
    ],
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }))

const dispatch: fc.Arbitrary<JsonObject> = fc.record(
  {
    fanOutPolicy: fc.constantFrom('sequential', 'parallel', 'parallel'),
    inputMapping: fc.constant({ given: 'v' }),
    outputMapping: fc.constant({ v: 'sum' }),
    outputAttestation: fc.record({ checksum: fc.boolean(), requireApproval: fc.boolean() }),
    propagateCancellation: fc.boolean(),
    iterationCap: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: [] },
)

/** An orchestrator in front of everything else, or beside it. */
export const withOrchestrator = (sketch: Sketch): fc.Arbitrary<Sketch> =>
  fc.record({ supervisor, dispatch, first: fc.boolean() }).map(({ supervisor, dispatch, first }) => {
    const edges = ['sup > dispatch', 'dispatch > sup', ...(first ? ['sup > n0'] : [])]
    return loopOf(supervisor, { ...sketch, dispatch, edges: [...(sketch.edges ?? []), ...edges] })
  })
