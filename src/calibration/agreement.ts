import { meanOf } from './estimate.js'
import type { RecordedOpinion } from './opinion.js'

type Ballot = readonly Pick<RecordedOpinion, 'judge' | 'passes'>[]

/** Below this many results that both have judged, nothing is said of two judges. */
const ENOUGH = 10

/**
 * How many independent votes a panel is worth: n judges whose votes correlate by ρ on average give n / (1 + (n − 1)ρ).
 * Undefined until enough is known. Good judges also agree because the work is good or bad, which cannot be told from
 * agreeing in error, so a panel may be worth more than this and rarely less.
 */
export function effectiveVotes(history: readonly Ballot[]): number | undefined {
  const ballots = history.map(seated)
  const panel = ballots.reduce<readonly string[]>(
    (largest, ballot) => (ballot.size >= largest.length ? [...ballot.keys()] : largest),
    [],
  )
  const correlations = panel.flatMap((one, i) =>
    panel
      .slice(i + 1)
      .flatMap(other => correlationOf(ballots.flatMap(ballot => sharedVotes(ballot, one, other))) ?? []),
  )
  if (correlations.length === 0) return undefined
  return panel.length / (1 + (panel.length - 1) * Math.max(0, meanOf(correlations)))
}

/** A judge that votes more than once has several seats. */
function seated(ballot: Ballot): ReadonlyMap<string, boolean> {
  const votes = new Map<string, boolean>()
  const taken = new Map<string, number>()
  for (const { judge, passes } of ballot) {
    const seat = taken.get(judge) ?? 0
    taken.set(judge, seat + 1)
    votes.set(`${judge} ${seat}`, passes)
  }
  return votes
}

function sharedVotes(ballot: ReadonlyMap<string, boolean>, one: string, other: string): [boolean, boolean][] {
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
