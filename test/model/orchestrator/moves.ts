import fc from 'fast-check'
import { decision } from './random-decision.js'
import type { Decision } from './setup.js'

/** One thing that happens to a run; what it is about is picked among what there is when it happens. */
export type Move =
  | Work
  | Answer
  | { readonly do: 'time'; readonly ms: number }
  | { readonly do: 'pause'; readonly drain: boolean }
  | { readonly do: 'resume' }
  | { readonly do: 'cancel'; readonly reason?: string }
  | { readonly do: 'crash'; readonly kept: boolean }
  /** Something that was delivered before comes once more. */
  | { readonly do: 'again'; readonly pick: number }
  | { readonly do: 'continue' }
  /** The host gives the run up. */
  | { readonly do: 'give up' }

export type Work = {
  readonly do: 'work'
  readonly pick: number
  readonly start: 'start' | 'refuse'
  readonly watch: 'wait' | 'rest' | 'complete' | 'fail' | 'cancel'
  /** What a completed worker has for each name that is wanted. */
  readonly brings: readonly Brought[]
  readonly agent?: string
  readonly twice: boolean
}

/** Nothing, what it was given itself, a value, or a value that must not be seen. */
export type Brought = 'nothing' | 'given' | { readonly value: string; readonly hidden: boolean }

export type Answer = {
  readonly do: 'answer'
  readonly word: 'accept' | 'reject' | 'edit' | 'edit wrongly' | 'refine' | 'garbage'
  readonly decision: Decision
  readonly value: string
  readonly asList: boolean
  readonly named: boolean
}

/** None is part of another, nor of anything else that a log says. */
export const VALUES = ['alpha', 'bravo', 'delta', 'gamma'] as const

const brought: fc.Arbitrary<Brought> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom<Brought>('nothing', 'given') },
  { weight: 3, arbitrary: fc.record({ value: fc.constantFrom(...VALUES), hidden: fc.constant(false) }) },
  { weight: 1, arbitrary: fc.record({ value: fc.constantFrom(...VALUES), hidden: fc.constant(true) }) },
)

/** One of these words, each as often as it says. */
const among = <T extends string>(weights: { readonly [word in T]: number }): fc.Arbitrary<T> =>
  fc.oneof(...Object.entries<number>(weights).map(([word, weight]) => ({ weight, arbitrary: fc.constant(word as T) })))

const work: fc.Arbitrary<Work> = fc.record(
  {
    do: fc.constant('work'),
    pick: fc.nat({ max: 20 }),
    start: among({ start: 6, refuse: 1 }),
    watch: among({ complete: 6, wait: 2, rest: 1, fail: 2, cancel: 1 }),
    brings: fc.array(brought, { minLength: 3, maxLength: 3 }),
    agent: fc.constantFrom('agent:a', 'agent:b'),
    twice: fc.boolean(),
  },
  { requiredKeys: ['do', 'pick', 'start', 'watch', 'brings', 'twice'] },
)

const answer: fc.Arbitrary<Answer> = fc.record({
  do: fc.constant('answer'),
  word: among({ accept: 5, reject: 2, edit: 4, 'edit wrongly': 1, refine: 1, garbage: 1 }),
  decision,
  value: fc.constantFrom(...VALUES),
  asList: fc.boolean(),
  named: fc.boolean(),
})

export const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    { weight: 30, arbitrary: work },
    { weight: 12, arbitrary: answer },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('time'), ms: fc.integer({ min: 1, max: 60 }) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('crash'), kept: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('again'), pick: fc.nat({ max: 50 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pause'), drain: fc.boolean() }) },
    { weight: 2, arbitrary: fc.constantFrom<Move>({ do: 'resume' }, { do: 'resume' }, { do: 'continue' }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Move>({ do: 'cancel' }, { do: 'cancel', reason: 'enough' }, { do: 'give up' }),
    },
  ),
  { maxLength: 40, size: 'max' },
)
