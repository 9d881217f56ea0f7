import { own } from '../json.js'
import { failedOf, isFoundWanting, isKnown } from './failed-dimensions.js'
import type { Criterion, Gate } from './gate.js'
import type { Ballot, Judgement, Settled, Vote } from './judgement.js'
import { carries, neededOf, type Seat, seatsOf, votesOf } from './seats.js'
import { isPassing } from './vote.js'
import { rounded, weightedMean } from './weighted-mean.js'

/**
 * The verdict of a gate over what has been said so far.
 *
 * - It is decided only when nothing that is not known could change whether the result passes (R-DWS-36): a verifier that
 *   has not answered or gave no vote, a probe that could not find out. None of them ever counts as a pass.
 * - What a probe found to be wrong is wrong whatever anybody says: it is decided at once.
 *
 * `open`: verifiers have yet to answer. `undecided`: all have, and it is not enough.
 */
export function judgeVotes(
  gate: Gate,
  dimensions: readonly string[],
  ballot: Ballot,
): Judgement | 'open' | 'undecided' {
  const { settled } = ballot
  const policy = gate.multi_verifier
  const judged = gate.evaluation_criteria.filter(({ dimension }) => dimensions.includes(dimension))
  const seats = seatsOf(gate, dimensions, ballot)
  const hearing = { gate, judged, settled, seats }
  if (judged.some(criterion => isFoundWanting(settled, criterion))) return judgementOf(hearing, 'failed-probes')

  const awaited = seats.some(seat => seat.awaited)
  if (awaited && !policy.early_stop) return 'open'
  // Where nothing is judged, nothing is shown to hold.
  const isFoundOut = judged.length > 0 && judged.every(criterion => isKnown(settled, criterion))
  const atBest = carries(policy, seats, ({ vote }) => vote === undefined || isPassing(vote))
  const atWorst = isFoundOut && carries(policy, seats, ({ vote }) => vote !== undefined && isPassing(vote))
  if (atBest !== atWorst) return awaited ? 'open' : 'undecided'
  return judgementOf(hearing, atWorst ? 'quorum' : 'no-quorum')
}

type Hearing = {
  readonly gate: Gate
  readonly judged: readonly Criterion[]
  readonly settled: Settled
  readonly seats: readonly Seat[]
}

/** R-DWS-25: the quorum decides the verdict; what anybody found is kept. */
function judgementOf(
  { gate, judged, settled, seats }: Hearing,
  because: 'quorum' | 'no-quorum' | 'failed-probes',
): Judgement {
  const votes = votesOf(seats)
  const findings = [...settled.findings, ...votes.flatMap(vote => vote.findings)]
  const passes = because === 'quorum'
  const hasWarning = findings.some(({ classification }) => classification === 'warning')
  // The probes' word is not the verifiers', who may have said the opposite.
  const confidence = because === 'failed-probes' ? undefined : confidenceOf(gate, votes, passes)
  return {
    verdict: passes ? (hasWarning ? 'conditional_pass' : 'pass') : 'fail',
    scores: scoresOf(judged, settled, votes),
    findings,
    quorum: {
      votes: votes.length,
      passVotes: votes.filter(isPassing).length,
      needed: neededOf(gate.multi_verifier, seats),
    },
    ...(confidence === undefined ? {} : { confidence }),
    ...(passes ? { failed: [] } : failedOf(gate, judged, settled, seats)),
  }
}

function scoresOf(judged: readonly Criterion[], settled: Settled, votes: readonly Vote[]): Judgement['scores'] {
  return Object.fromEntries(
    judged.flatMap(({ dimension }) => {
      const given = votes.flatMap(({ scores, weight }) => {
        const value = own(scores, dimension)
        return value === undefined ? [] : [{ value, weight }]
      })
      const score = own(settled.scores, dimension) ?? weightedMean(given)
      return score === undefined ? [] : [[dimension, rounded(score)]]
    }),
  )
}

/** How far the votes agree with the verdict, times how sure they say they are. A lone one that does not say tells nothing. */
function confidenceOf(gate: Gate, votes: readonly Vote[], passes: boolean): number | undefined {
  const stated = votes.flatMap(({ confidence }) => (confidence === undefined ? [] : [{ value: confidence, weight: 1 }]))
  if (votes.length <= 1 && stated.length === 0) return undefined
  const byWeight = gate.multi_verifier.quorum_strategy === 'weighted'
  const agreeing = weightedMean(
    votes.map(vote => ({ value: isPassing(vote) === passes ? 1 : 0, weight: byWeight ? vote.weight : 1 })),
  )
  return agreeing === undefined ? undefined : rounded(agreeing * (weightedMean(stated) ?? 1))
}
