import fc from 'fast-check'
import { type BoundGate, type MultiVerifier, QUORUMS } from '../../../src/core/verification/gate.js'
import type { ProbeResult } from '../../../src/core/verification/voting/judgement.js'
import { gateAt, subFlow } from '../../../src/testing/gate-stories.js'
import type { Luck } from '../../../src/testing/gate-world.js'
import { agentFlow } from '../../../src/testing/invocations.js'
import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import type { Sketch } from '../../../src/testing/workflow.js'

export const SHAPES = ['sub-workflow', 'agent', 'exit', 'exit of a loop', 'one by one', 'all at once'] as const
export type Shape = (typeof SHAPES)[number]

/** What a story is about: where the gates stand, and what they ask. */
export type Setup = {
  readonly shape: Shape
  readonly gates: readonly GateSetup[]
  readonly maxLoopIterations: number | undefined
}

export type GateSetup = {
  readonly verifiers: number
  readonly quorum: MultiVerifier['quorum_strategy']
  readonly earlyStop: boolean
  readonly maxAttempts: number
  readonly onFail: 'reject' | 'conditional_pass' | 'escalate'
  readonly blocking: boolean
  readonly retries: number
  readonly probed: boolean
  readonly licensed: boolean
  readonly full: boolean
  readonly bySupervisor: boolean
  /** Work that gets no better is not sent back again. */
  readonly stuck: boolean
  readonly patience: number | undefined
}

const often = (weight: number) =>
  fc.oneof({ arbitrary: fc.constant(true), weight }, { arbitrary: fc.constant(false), weight: 1 })
const rarely = (weight: number) => often(weight).map(value => !value)

const gate: fc.Arbitrary<GateSetup> = fc.record({
  verifiers: fc.integer({ min: 1, max: 3 }),
  quorum: fc.constantFrom(...QUORUMS),
  earlyStop: fc.boolean(),
  maxAttempts: fc.integer({ min: 1, max: 4 }),
  onFail: fc.constantFrom('reject', 'conditional_pass', 'escalate'),
  blocking: often(5),
  retries: fc.nat({ max: 2 }),
  probed: fc.boolean(),
  licensed: rarely(4),
  full: fc.boolean(),
  bySupervisor: rarely(4),
  stuck: rarely(3),
  patience: fc.constantFrom(undefined, 60_000),
})

export const setup: fc.Arbitrary<Setup> = fc.record({
  shape: fc.constantFrom(...SHAPES),
  gates: fc.array(gate, { minLength: 1, maxLength: 2 }),
  maxLoopIterations: fc.constantFrom(undefined, undefined, undefined, 2, 4, 6),
})

export const ACTIONS = ['accept', 'reject', 'refine'] as const

/** What happens to the run. `pick` chooses among what is owed, or among what was said before. */
export type Move =
  | { readonly do: 'work'; readonly pick: number; readonly luck: Luck }
  | { readonly do: 'answer'; readonly action: (typeof ACTIONS)[number] }
  | { readonly do: 'time'; readonly ms: number }
  | { readonly do: 'pause'; readonly drain: boolean }
  | { readonly do: 'resume' | 'crash' | 'cancel' }
  | { readonly do: 'again'; readonly pick: number }

const luck: fc.Arbitrary<Luck> = fc.record(
  {
    score: fc.constantFrom(10, 10, 8, 6, 5, 3, 1),
    finds: rarely(4),
    probe: fc.constantFrom<ProbeResult['outcome'][]>('held', 'held', 'held', 'failed', 'unavailable'),
    fails: rarely(5),
    confidence: fc.constantFrom(0.5, 0.9),
  },
  { requiredKeys: ['score', 'finds', 'probe', 'fails'] },
)

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 40, arbitrary: fc.record({ do: fc.constant('work' as const), pick: fc.nat({ max: 5 }), luck }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('answer' as const), action: fc.constantFrom(...ACTIONS) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(100, 2_000, 4_000, 61_000, 61_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pause' as const), drain: fc.boolean() }) },
  { weight: 3, arbitrary: fc.constant<Move>({ do: 'resume' }) },
  { weight: 4, arbitrary: fc.constant<Move>({ do: 'crash' }) },
  { weight: 1, arbitrary: fc.constant<Move>({ do: 'cancel' }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('again' as const), pick: fc.nat({ max: 30 }) }) },
)

export const moves = fc.array(move, { minLength: 5, maxLength: 50, size: 'max' })

const WORKERS = ['v', 'w']

export function workflowOf(shape: Shape): Sketch {
  if (shape === 'sub-workflow') return subFlow()
  if (shape === 'agent' || shape === 'exit') return agentFlow({ config: { resultVariable: 'got' } })
  const rules = [
    { when: 'iteration == 1', decide: next(...WORKERS) },
    // Whoever was refused says itself that there is more to do.
    { when: 'iteration > 2', decide: { ...terminate, successCriteria: [{ key: 'all', met: false }] } },
    { decide: terminate },
  ]
  const fanOutPolicy = shape === 'all at once' ? 'parallel' : 'sequential'
  return loopOf({ rules }, { dispatch: { outputMapping: { got: 'x' }, fanOutPolicy } })
}

const placeOf = (shape: Shape): readonly [phase: string, placement: 'phase_exit' | 'workflow_exit'] => {
  if (shape === 'exit') return ['a', 'workflow_exit']
  if (shape === 'exit of a loop') return ['sup', 'workflow_exit']
  return [shape === 'one by one' || shape === 'all at once' ? 'dispatch' : 'a', 'phase_exit']
}

export const DELAY_MS = 1_000
export const THRESHOLD = 7

export const gatesOf = ({ shape, gates }: Setup): BoundGate[] =>
  gates.map((given, i) =>
    gateAt(...placeOf(shape), {
      gate_id: `g${i + 1}`,
      criteria: [
        { dimension: 'one', pass_threshold: THRESHOLD, evidence_required: false },
        ...(given.probed
          ? [{ dimension: 'checked', probes: [{ probe_id: 'p', type: 'equals' as const, value: true }] }]
          : []),
      ],
      behaviour: {
        max_attempts: given.maxAttempts,
        on_fail: given.onFail,
        blocking: given.blocking,
        retries: given.retries,
        retry_delay_ms: DELAY_MS,
        auto_commit: given.licensed ? 'licensed' : 'always',
        reverification: given.full ? 'full' : 'targeted',
        rework: given.bySupervisor ? 'supervisor' : 'automatic',
        stop_when_stuck: given.stuck,
        ...(given.patience === undefined ? {} : { answer_timeout_ms: given.patience }),
      },
      quorum: { verifier_count: given.verifiers, quorum_strategy: given.quorum, early_stop: given.earlyStop },
    }),
  )
