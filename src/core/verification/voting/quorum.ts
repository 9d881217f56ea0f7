import { own } from '../../json.js'
import { askedOf, isSettledByProbes } from '../evidence.js'
import { type Criterion, type Gate, type MultiVerifier, verifiersOf } from '../gate.js'
import type { Ballot, Finding, Judgement, Settled, Vote } from './judgement.js'
import { isPassing, isVote } from './vote.js'

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

/**
 * Who is asked next, by position. Without `early_stop` everybody is. With it only as many as a pass still needs, in their
 * order, if all who are at work were in favour: so nobody is asked whose vote a pass does not need, and whoever is asked
 * is heard. Where only a vote against could still change something, they are asked one at a time.
 */
export function seatsToAsk(
  gate: Gate,
  dimensions: readonly string[],
  ballot: Ballot,
  isAtWork: (position: number) => boolean,
): readonly number[] {
  const policy = gate.multi_verifier
  const seats = seatsOf(gate, dimensions, ballot)
  const idle = seats.flatMap(({ awaited }, position) => (awaited && !isAtWork(position) ? [position] : []))
  if (!policy.early_stop) return idle
  const isEnough = (asked: readonly number[]) => {
    const hoped = new Set<Seat>()
    seats.forEach((seat, position) => {
      const isHopedFor = seat.vote ? isPassing(seat.vote) : isAtWork(position) || asked.includes(position)
      if (isHopedFor) hoped.add(seat)
    })
    return carries(policy, seats, seat => hoped.has(seat))
  }
  const isAnybodyAtWork = seats.some((_, position) => isAtWork(position))
  const least = isAnybodyAtWork ? 0 : 1
  const most = idle.findIndex((_, n) => n >= least && isEnough(idle.slice(0, n)))
  return most < 0 ? idle : idle.slice(0, most)
}

/** What is known where nothing can be decided: what was found, and what has not been shown to hold. */
export function knownSoFar(gate: Gate, dimensions: readonly string[], ballot: Ballot): Judgement {
  const judged = gate.evaluation_criteria.filter(({ dimension }) => dimensions.includes(dimension))
  return judgementOf({ gate, judged, settled: ballot.settled, seats: seatsOf(gate, dimensions, ballot) }, 'no-quorum')
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
  const findings = [...settled.findings, ...seats.flatMap(({ vote, remarks }) => vote?.findings ?? remarks)]
  const passes = because === 'quorum'
  const scores = scoresOf(judged, settled, votes)
  // What was outvoted, and a mean that is short of its threshold, are there for whoever relies on the pass.
  const isClean =
    findings.every(({ classification }) => classification === 'advisory') &&
    judged.every(({ dimension, pass_threshold }) => (own(scores, dimension) ?? pass_threshold) >= pass_threshold)
  // The probes' word is not the verifiers', who may have said the opposite.
  const confidence = because === 'failed-probes' ? undefined : confidenceOf(votes, passes)
  return {
    verdict: passes ? (isClean ? 'pass' : 'conditional_pass') : 'fail',
    scores,
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

/** R-VERIFY-9: the mean of what those on the winning side say; where none of them says it, nobody knows. */
export function confidenceOf(votes: readonly Vote[], passes: boolean): number | undefined {
  const winning = votes.filter(vote => isPassing(vote) === passes)
  const stated = winning.flatMap(({ confidence }) =>
    confidence === undefined ? [] : [{ value: confidence, weight: 1 }],
  )
  const mean = weightedMean(stated)
  return mean === undefined ? undefined : rounded(mean)
}

/** A verifier's place at the table, with its vote if it gave one. */
export type Seat = {
  readonly weight: number
  readonly vote?: Vote
  readonly awaited: boolean
  /** What somebody found who gave no vote. */
  readonly remarks: readonly Finding[]
}

/** One for each verifier of the gate, whether or not it has been asked; none where the probes decide alone. */
export function seatsOf(gate: Gate, dimensions: readonly string[], { answers }: Ballot): readonly Seat[] {
  const verifiers = askedOf(gate, dimensions).length > 0 ? verifiersOf(gate) : []
  return Array.from({ length: Math.max(verifiers.length, answers.length) }, (_, position) => {
    const answer = answers[position]
    const weight = answer?.weight ?? verifiers[position]?.weight ?? 1
    if (isVote(answer)) return { weight, vote: answer, awaited: false, remarks: [] }
    return { weight, awaited: answer === undefined, remarks: answer?.findings ?? [] }
  })
}

export const votesOf = (seats: readonly Seat[]): readonly Vote[] =>
  seats.flatMap(({ vote }) => (vote === undefined ? [] : [vote]))

/** Whether those in favour are enough (R-DWS-24, contract agents §23.2). A tie is not. */
export function carries(policy: MultiVerifier, seats: readonly Seat[], favours: (seat: Seat) => boolean): boolean {
  const inFavour = seats.filter(favours)
  if (inFavour.length < neededOf(policy, seats)) return false
  return policy.quorum_strategy !== 'weighted' || seats.length === 0 || outweigh(inFavour, seats)
}

/** How many must be in favour; nobody, where nobody had to be asked. */
export function neededOf({ quorum_strategy, min_agree }: MultiVerifier, seats: readonly Seat[]): number {
  if (seats.length === 0) return 0
  if (quorum_strategy === 'unanimous') return seats.length
  return Math.max(quorum_strategy === 'majority' ? Math.floor(seats.length / 2) + 1 : 1, min_agree)
}

/** More than half of the weight. A lead so small that adding in another order could make it is a tie. */
function outweigh(inFavour: readonly Seat[], seats: readonly Seat[]): boolean {
  const total = weightOf(seats)
  return 2 * weightOf(inFavour) - total > total * 1e-9
}

const weightOf = (seats: readonly Seat[]): number => sum(seats.map(({ weight }) => weight))

type Weighted = { readonly value: number; readonly weight: number }

/** Undefined for nothing. Where nothing has a weight, all count the same. */
export function weightedMean(items: readonly Weighted[]): number | undefined {
  if (items.length === 0) return undefined
  const total = sum(items.map(({ weight }) => weight))
  return total > 0
    ? sum(items.map(({ value, weight }) => value * weight)) / total
    : sum(items.map(({ value }) => value)) / items.length
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** To six decimals: in what order numbers were added is not to be seen in what is told about them. */
export const rounded = (number: number): number => Number(number.toFixed(6))

/**
 * The dimensions that a result sent back is judged by again. One that nobody found wanting is among them unless a quorum
 * has seen it hold: a verdict that needed few votes, or none, says nothing for what the others were to judge (R-DWS-23).
 */
export function failedOf(
  gate: Gate,
  judged: readonly Criterion[],
  settled: Settled,
  seats: readonly Seat[],
): Pick<Judgement, 'failed' | 'unproven'> {
  const isWanting = (criterion: Criterion) => [settled, ...votesOf(seats)].some(said => isFoundWanting(said, criterion))
  const isProven = (criterion: Criterion) =>
    isSettledByProbes(criterion)
      ? isKnown(settled, criterion)
      : carries(gate.multi_verifier, seats, ({ vote }) => vote !== undefined && isFoundGood(vote, criterion))
  const failed = gate.evaluation_criteria.filter(
    criterion => isWanting(criterion) || (judged.includes(criterion) && !isProven(criterion)),
  )
  const unproven = failed.filter(criterion => !isWanting(criterion))
  return { failed: failed.map(keyOf), ...(unproven.length === 0 ? {} : { unproven: unproven.map(keyOf) }) }
}

const keyOf = ({ dimension }: Criterion): string => dimension

/** Whether the probes have said what there is for them to say. */
export const isKnown = (settled: Settled, criterion: Criterion): boolean =>
  !isSettledByProbes(criterion) || own(settled.scores, criterion.dimension) !== undefined

const isFoundGood = (vote: Vote, criterion: Criterion): boolean =>
  own(vote.scores, criterion.dimension) !== undefined && !isFoundWanting(vote, criterion)

/** Whether a vote, or the probes, say that a criterion does not hold. */
export const isFoundWanting = (
  { scores, findings }: Pick<Vote | Settled, 'scores' | 'findings'>,
  { dimension, pass_threshold }: Criterion,
): boolean =>
  (own(scores, dimension) ?? pass_threshold) < pass_threshold ||
  findings.some(finding => finding.dimension === dimension && finding.classification === 'blocking')
