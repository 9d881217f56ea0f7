import fc from 'fast-check'
import type { Fork } from '../../src/core/replay/events.js'

/** What someone says when asked; `garbage` fits nothing that is ever asked. */
export const WORDS = ['accept', 'reject', 'refine', 'garbage'] as const

export type Happening =
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'crash' | 'zombie' }
  | Command
  /** The next commit is refused, or is made and its answer lost. */
  | { readonly kind: 'refuse-commit' | 'lose-answer' }
  | Answer
  | ForkAt

/** Mostly to the run the story is about, now and then to a child or a fork. */
export type Command = { readonly kind: 'pause' | 'pause-now' | 'resume' | 'cancel'; readonly pick: number }

export type Answer = {
  readonly kind: 'answer'
  readonly word: (typeof WORDS)[number]
  readonly by: string
  readonly pick: number
  /** To anything that was ever asked, be it open, closed or of a run that has ended. */
  readonly late: boolean
  readonly twice: boolean
}

export type ForkAt = {
  readonly kind: 'fork'
  readonly mode: Fork['mode']
  readonly pick: number
  readonly at: number
  /** How long the fork takes to read its source, which goes on meanwhile. */
  readonly ms: number
}

const answer: fc.Arbitrary<Answer> = fc.record({
  kind: fc.constant('answer'),
  word: fc.constantFrom(...WORDS),
  by: fc.constantFrom('ann', 'bob'),
  pick: fc.nat({ max: 50 }),
  late: fc.boolean(),
  twice: fc.boolean(),
})

const fork: fc.Arbitrary<ForkAt> = fc.record({
  kind: fc.constant('fork'),
  mode: fc.constantFrom('replay', 'branch'),
  pick: fc.nat({ max: 50 }),
  at: fc.nat({ max: 500 }),
  ms: fc.nat({ max: 1_500 }),
})

const command = (...kinds: Command['kind'][]): fc.Arbitrary<Command> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    pick: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 50 }) }),
  })

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
    { weight: 4, arbitrary: answer },
    { weight: 3, arbitrary: fork },
    { weight: 2, arbitrary: command('pause', 'pause-now', 'resume') },
    { weight: 1, arbitrary: command('cancel') },
  ),
  { maxLength: 14 },
)
