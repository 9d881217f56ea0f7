import { meanOf } from './estimate.js'
import type { Truth } from './labels.js'
import type { RecordedOpinion } from './opinion.js'

type Ballot = {
  readonly votes: readonly Pick<RecordedOpinion, 'judge' | 'passes'>[]
  /** Where it is known, and whether it is known does not depend on the votes. */
  readonly truth?: Truth | undefined
}

/**
 * How many independent votes a panel is worth, and what that goes by. By `errors`, where the truth of enough results is
 * known: judges that err together are one. By `votes` otherwise: good judges also agree because the work is good or bad,
 * so a panel may be worth more than this, and rarely less.
 */
export type EffectiveVotes = { readonly value: number; readonly from: 'votes' | 'errors' }

/** Below this many results that both have judged, nothing is said of two judges. */
const ENOUGH = 10
/** Two that meet more rarely than this, by the two that meet most often, meet only where others have disagreed. */
const OFTEN = 0.9

/** n judges whose votes, or errors, correlate by ρ on average give n / (1 + (n − 1)ρ). Undefined until enough is known. */
export function effectiveVotes(history: readonly Ballot[]): EffectiveVotes | undefined {
  const errors = history.flatMap(({ votes, truth }) =>
    truth === undefined ? [] : [seated(votes, passes => passes !== (truth === 'good'))],
  )
  // Who has not erred yet has not shown with whom it errs.
  const byErrors = errors.some(seats => [...seats.values()].includes(true)) ? worth(errors) : undefined
  if (byErrors !== undefined) return { value: byErrors, from: 'errors' }
  const byVotes = worth(history.map(({ votes }) => seated(votes, passes => passes)))
  return byVotes === undefined ? undefined : { value: byVotes, from: 'votes' }
}

type Seats = ReadonlyMap<string, boolean>

function worth(ballots: readonly Seats[]): number | undefined {
  const panel = ballots.reduce<readonly string[]>(
    (largest, ballot) => (ballot.size >= largest.length ? [...ballot.keys()] : largest),
    [],
  )
  const pairs = panel.flatMap((one, i) =>
    panel.slice(i + 1).map(other => ballots.flatMap(ballot => shared(ballot, one, other))),
  )
  const most = Math.max(0, ...pairs.map(({ length }) => length))
  const correlations = pairs.filter(({ length }) => length >= most * OFTEN).flatMap(pair => correlationOf(pair) ?? [])
  if (correlations.length === 0) return undefined
  return panel.length / (1 + (panel.length - 1) * Math.max(0, meanOf(correlations)))
}

/** A judge that votes more than once has several seats. */
function seated(votes: Ballot['votes'], saying: (passes: boolean) => boolean): Seats {
  const seats = new Map<string, boolean>()
  const taken = new Map<string, number>()
  for (const { judge, passes } of votes) {
    const seat = taken.get(judge) ?? 0
    taken.set(judge, seat + 1)
    seats.set(`${judge} ${seat}`, saying(passes))
  }
  return seats
}

function shared(ballot: Seats, one: string, other: string): [boolean, boolean][] {
  const [a, b] = [ballot.get(one), ballot.get(other)]
  return a === undefined || b === undefined ? [] : [[a, b]]
}

/** Phi. Two that never differed count as one; of a judge that always says the same, nothing else can be told. */
function correlationOf(pairs: readonly (readonly [boolean, boolean])[]): number | undefined {
  if (pairs.length < ENOUGH) return undefined
  if (pairs.every(([a, b]) => a === b)) return 1
  const share = (holds: (pair: readonly [boolean, boolean]) => boolean) => pairs.filter(holds).length / pairs.length
  const [a, b, both] = [share(([one]) => one), share(([, other]) => other), share(([one, other]) => one && other)]
  const spread = Math.sqrt(a * (1 - a) * b * (1 - b))
  return spread === 0 ? undefined : (both - a * b) / spread
}
