/** A small world: one gate of two dimensions and one verifier, somewhere in a workflow, with everything that may be said. */

export const DIMENSIONS = ['one', 'two'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** Where the gate stands. */
export const PLACES = ['sub-workflow', 'absorbing sub-workflow', 'agent', 'exit', 'dispatch'] as const
export type Place = (typeof PLACES)[number]

/** What the supervisor says of its goal when it ends the loop. */
export const CLAIMS = ['met', 'unmet', 'empty', 'absent'] as const
export type Claim = (typeof CLAIMS)[number]

/** What a verifier says of a dimension that it was asked about. `warns` lets it pass; `none` is no word on it at all. */
export type Word = 'pass' | 'warns' | 'fail' | 'none'
/**
 * How the run of a worker ends: with a result; with a result and its own word that the goal was not reached; because
 * verification failed further down; for another reason.
 */
export type Work = 'result' | 'given up' | 'failed below' | 'broken'

export type World = {
  readonly place: Place
  readonly maxAttempts: number
  readonly onFail: 'reject' | 'conditional_pass' | 'escalate'
  readonly reverification: 'targeted' | 'full'
  readonly confirm: 'full' | 'none'
  readonly blocking: boolean
  /** Of a dispatch, where a supervisor speaks. */
  readonly claim?: Claim
  readonly words: readonly Word[]
  readonly works: readonly Work[]
}

/** One thing that was said, in the order of the story. */
export type Said =
  | { readonly work: Work }
  | { readonly vote: { readonly [Each in Dimension]?: Word } }
  | { readonly answer: 'accept' | 'reject' }

const DOCUMENTS = [1, 2, 3].flatMap(maxAttempts =>
  (['reject', 'conditional_pass', 'escalate'] as const).flatMap(onFail =>
    (['targeted', 'full'] as const).flatMap(reverification =>
      (['full', 'none'] as const).flatMap(confirm =>
        [true, false].map(blocking => ({ maxAttempts, onFail, reverification, confirm, blocking })),
      ),
    ),
  ),
)

const WORDS: readonly Word[] = ['pass', 'fail', 'none']

/** Every gate document at every place, with every claim of a supervisor; votes of pass, fail and none. */
const everyDocument = (): World[] =>
  DOCUMENTS.flatMap(document =>
    PLACES.flatMap((place): World[] => {
      const world = { ...document, place, words: WORDS, works: ['result'] as const }
      return place === 'dispatch' ? CLAIMS.map(claim => ({ ...world, claim })) : [world]
    }),
  )

/** Also workers that give up, and runs below them; verifiers that are of one mind on everything they are asked. */
const givingUp = (): World[] =>
  everyDocument()
    .filter(({ place }) => place !== 'agent' && place !== 'exit')
    .map(world => ({ ...world, words: [], works: ['result', 'given up', 'failed below', 'broken'] as const }))

/** Also verifiers that have a warning. */
const warning = (): World[] =>
  everyDocument()
    .filter(
      ({ place, claim = 'met', maxAttempts }) =>
        place !== 'absorbing sub-workflow' && claim === 'met' && maxAttempts < 3,
    )
    .map(world => ({ ...world, words: ['pass', 'warns', 'fail'] as const }))

export const worlds = (): World[] => [...everyDocument(), ...givingUp(), ...warning()]

/** What a verifier may say that is asked about these; without words of its own it is of one mind. */
export function votesIn({ words }: World, asked: readonly Dimension[]): Said[] {
  if (words.length === 0)
    return WORDS.map(word => ({ vote: Object.fromEntries(asked.map(dimension => [dimension, word])) }))
  return asked
    .reduce<{ [Each in Dimension]?: Word }[]>(
      (ballots, dimension) => ballots.flatMap(ballot => words.map(word => ({ ...ballot, [dimension]: word }))),
      [{}],
    )
    .map(vote => ({ vote }))
}
