import { DIMENSIONS, type Dimension, type Said, type Word, type World } from './worlds.js'

/**
 * What docs/contract/verification.md says must come of a gate document and of what was said, and of nothing else. Knows
 * no event and no state of the host.
 */
export type Foreseen =
  | { readonly next: 'work' }
  | { readonly next: 'vote'; readonly asked: readonly Dimension[] }
  | { readonly next: 'answer' }
  | { readonly next: 'nothing'; readonly end: End }

export type Label = 'verified' | 'conditional' | 'accepted' | 'verified in part' | 'forced' | 'unverified'

export type Verdict = {
  readonly by: 'verifier' | 'gate' | 'person'
  readonly verdict: 'pass' | 'fail' | 'revise'
  readonly attempt: number
  /** Judged for exactly that result; of a person's word it is not said. */
  readonly judged?: readonly Dimension[]
}

export type End = {
  /** The attempt whose result was merged. */
  readonly merged?: number
  /** Of what was merged. */
  readonly label?: Label
  readonly verdicts: readonly Verdict[]
  readonly attempts: number
  readonly run: 'completed' | 'failed'
  readonly goalSatisfied?: boolean
  readonly against: readonly Against[]
}

export type Against = 'fail' | 'revise' | 'forced' | 'part' | 'gave-up'

type Course = {
  readonly now: 'work' | 'vote' | 'unsettled' | 'exhausted' | 'over'
  readonly attempt: number
  /** In the round that is due. */
  readonly asked: readonly Dimension[]
  /** Passed or failed for the result of this attempt. */
  readonly judged: readonly Dimension[]
  readonly isWarned: boolean
  readonly isGivenUp: boolean
  readonly verdicts: readonly Verdict[]
  readonly merged?: number
  readonly label?: Label
}

export function foresee(world: World, said: readonly Said[]): Foreseen {
  const begun: Course = {
    now: 'work',
    attempt: 1,
    asked: DIMENSIONS,
    judged: [],
    isWarned: false,
    isGivenUp: false,
    verdicts: [],
  }
  const course = said.reduce((before, word) => heard(world, before, word), begun)
  switch (course.now) {
    case 'work':
      return { next: 'work' }
    case 'vote':
      return { next: 'vote', asked: course.asked }
    case 'over':
      return { next: 'nothing', end: endOf(world, course) }
    default:
      return { next: 'answer' }
  }
}

function heard(world: World, course: Course, said: Said): Course {
  if ('work' in said) {
    const { work } = said
    // R-VERIFY-12: given up until the same place succeeds.
    const isGivenUp = work === 'broken' ? course.isGivenUp : work !== 'result'
    const hasResult = work === 'result' || work === 'given up'
    return { ...course, isGivenUp, now: hasResult ? 'vote' : 'over' }
  }
  return 'vote' in said ? voted(world, course, said.vote) : answered(course, said.answer)
}

function voted(world: World, course: Course, vote: { readonly [Each in Dimension]?: Word }): Course {
  const { asked, attempt } = course
  // R-DWS-36: a vote that leaves out something is none; then nothing is decided, and never passed.
  if (asked.some(dimension => vote[dimension] === 'none'))
    return world.blocking ? { ...course, now: 'unsettled' } : wordless(course)
  const judged = [...course.judged, ...asked]
  const isWarned = course.isWarned || asked.some(dimension => vote[dimension] === 'warns')
  const after = { ...course, judged, isWarned }
  const failed = asked.filter(dimension => vote[dimension] === 'fail')
  if (failed.length > 0) return lost(world, after, failed)
  const left = DIMENSIONS.filter(dimension => !judged.includes(dimension))
  // R-DWS-23: before a merge, every dimension has been judged for exactly that result.
  if (left.length > 0 && world.confirm === 'full') return { ...after, asked: left }
  const verdict: Verdict = { by: 'verifier', verdict: 'pass', attempt, judged }
  const whole = isWarned ? 'conditional' : 'verified'
  return passed(after, verdict, world.blocking ? (left.length > 0 ? 'verified in part' : whole) : 'unverified')
}

/** R-DWS-22 */
function lost(world: World, course: Course, failed: readonly Dimension[]): Course {
  const { attempt, judged, verdicts } = course
  if (!world.blocking) return wordless(course)
  const said = (verdict: 'revise' | 'fail'): readonly Verdict[] => [
    ...verdicts,
    { by: 'verifier', verdict, attempt, judged },
  ]
  if (attempt < world.maxAttempts)
    return {
      ...course,
      now: 'work',
      attempt: attempt + 1,
      asked: world.reverification === 'full' ? DIMENSIONS : failed,
      judged: [],
      isWarned: false,
      verdicts: said('revise'),
    }
  if (world.onFail === 'conditional_pass')
    return passed(course, { by: 'gate', verdict: 'pass', attempt, judged }, 'forced')
  return { ...course, now: world.onFail === 'escalate' ? 'exhausted' : 'over', verdicts: said('fail') }
}

function answered(course: Course, answer: 'accept' | 'reject'): Course {
  const { attempt, now, verdicts } = course
  if (answer === 'accept') return passed(course, { by: 'person', verdict: 'pass', attempt }, 'accepted')
  const refusal: readonly Verdict[] = now === 'unsettled' ? [{ by: 'person', verdict: 'fail', attempt }] : []
  return { ...course, now: 'over', verdicts: [...verdicts, ...refusal] }
}

/** A gate that does not block says nothing against a result. */
const wordless = (course: Course): Course => ({ ...course, now: 'over', merged: course.attempt, label: 'unverified' })

const passed = (course: Course, verdict: Verdict, label: Label): Course => ({
  ...course,
  now: 'over',
  verdicts: [...course.verdicts, verdict],
  merged: verdict.attempt,
  label,
})

/** R-VERIFY-19 */
function endOf(world: World, course: Course): End {
  const { verdicts, attempt: attempts, merged, label } = course
  const against = againstIn(course)
  const { run, isReached } = world.claim === undefined ? alone(world, course) : led(world, course)
  const goalSatisfied = against.length > 0 || isReached === false ? false : isReached
  return {
    ...(merged === undefined ? {} : { merged, label: label! }),
    verdicts,
    attempts,
    run,
    ...(run === 'failed' || goalSatisfied === undefined ? {} : { goalSatisfied }),
    against: run === 'failed' ? [] : against,
  }
}

function againstIn({ verdicts, label, isGivenUp }: Course): Against[] {
  const standing = verdicts.at(-1)?.verdict ?? 'pass'
  return [
    ...(standing === 'pass' ? [] : [standing]),
    ...(label === 'forced' ? (['forced'] as const) : []),
    ...(label === 'verified in part' ? (['part'] as const) : []),
    ...(isGivenUp ? (['gave-up'] as const) : []),
  ]
}

type Outcome = { readonly run: 'completed' | 'failed'; readonly isReached?: boolean }

/** Without a supervisor: the gate says so, or nobody. */
function alone({ place, blocking }: World, { merged, label }: Course): Outcome {
  if (merged === undefined) return { run: place === 'absorbing sub-workflow' ? 'completed' : 'failed' }
  const isWhole = label === 'verified' || label === 'conditional' || label === 'accepted'
  return { run: 'completed', ...(blocking && isWhole ? { isReached: true } : {}) }
}

/** A supervisor ends the run with something standing against it only if it says itself that something is not met. */
function led({ claim }: World, course: Course): Outcome {
  const standing = againstIn(course).some(what => what !== 'forced' && what !== 'part')
  if (claim === 'unmet') return { run: 'completed', isReached: false }
  if (standing) return { run: 'failed' }
  return { run: 'completed', ...(claim === 'met' ? { isReached: true } : {}) }
}
