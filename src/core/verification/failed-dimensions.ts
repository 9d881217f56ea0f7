import { own } from '../json.js'
import type { Criterion, Gate } from './gate.js'
import type { Judgement, Settled, Vote } from './judgement.js'
import { carries, type Seat, votesOf } from './seats.js'
import { isSettledByProbes } from './evidence.js'

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
