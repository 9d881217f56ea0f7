import type { Gate, MultiVerifier } from './gate.js'
import type { Ballot, Vote } from './judgement.js'
import { askedOf } from './evidence.js'
import { verifiersOf } from './verifiers-of.js'
import { isVote } from './vote.js'
import { sum } from './weighted-mean.js'

/** A verifier's place at the table, with its vote if it gave one. */
export type Seat = { readonly weight: number; readonly vote?: Vote; readonly awaited: boolean }

/** One for each verifier of the gate, whether or not it has been asked; none where the probes decide alone. */
export function seatsOf(gate: Gate, dimensions: readonly string[], { answers }: Ballot): readonly Seat[] {
  const verifiers = askedOf(gate, dimensions).length > 0 ? verifiersOf(gate) : []
  return Array.from({ length: Math.max(verifiers.length, answers.length) }, (_, position) => {
    const answer = answers[position]
    const weight = answer?.weight ?? verifiers[position]?.weight ?? 1
    return isVote(answer) ? { weight, vote: answer, awaited: false } : { weight, awaited: answer === undefined }
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
