import fc from 'fast-check'
import type { Decision } from './setup.js'

/** The last is also a name that every object knows. */
export const WORKERS = ['w-red', 'w-blue', 'w-green', 'constructor'] as const

/** On both sides of every floor, and on it. */
const confidence = fc.constantFrom(0, 0.3, 0.49, 0.5, 0.6, 0.74, 0.75, 0.9, 1)

const nextWorker = fc.record(
  {
    kind: fc.constant('next-worker' as const),
    nextWorkerIds: fc.array(fc.constantFrom(...WORKERS), { minLength: 1, maxLength: 4 }),
    confidence,
  },
  { requiredKeys: ['kind', 'nextWorkerIds'] },
)

const carriedOut: fc.Arbitrary<Decision> = fc.oneof(
  { weight: 5, arbitrary: nextWorker },
  {
    weight: 1,
    arbitrary: fc.record(
      { kind: fc.constant('terminate' as const), reason: fc.constant('goal-reached'), confidence },
      { requiredKeys: ['kind'] },
    ),
  },
) as fc.Arbitrary<Decision>

const asking: fc.Arbitrary<Decision> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('clarify' as const),
      prompt: fc.constant('Which one?'),
      questions: fc.constant([
        { id: 'who', question: 'Who?' },
        { id: 'why', question: 'Why?' },
      ]),
      confidence,
    },
    { requiredKeys: ['kind'] },
  ),
  fc.record({ kind: fc.constant('ask-user' as const), prompt: fc.constant('Go on?') }),
  fc.record(
    {
      kind: fc.constant('escalate' as const),
      reason: fc.constant('stuck'),
      artifact: fc.constant({ draft: 1 }),
      confidence,
    },
    { requiredKeys: ['kind'] },
  ),
) as fc.Arbitrary<Decision>

/** Mostly work. */
export const decision: fc.Arbitrary<Decision> = fc.oneof(
  { weight: 5, arbitrary: carriedOut },
  { weight: 3, arbitrary: asking },
)
