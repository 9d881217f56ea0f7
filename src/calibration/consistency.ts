import { type Estimate, meanOf, rateOf } from './estimate.js'
import type { Hearing } from './hearing.js'

/**
 * How alike a judge scores the same result when it is asked more than once: 1 is always the same score, 0 the ends of
 * the scale. The scores of one result hang together however many pairs they make, so results are counted.
 */
export function consistencyOf(hearings: readonly Hearing[]): Estimate | undefined {
  const likeness = grouped(hearings.flatMap(scoresOf), ({ question }) => question).map(scores =>
    grouped(scores, ({ dimension }) => dimension).flatMap(likenessOf),
  )
  return rateOf(likeness.filter(ofResult => ofResult.length > 0).map(meanOf))
}

type Score = { readonly question: string; readonly dimension: string; readonly part: number }

/** As parts of the scale; those whose scale is not known say nothing. */
const scoresOf = ({ case: { digest }, opinions }: Hearing): Score[] =>
  opinions.flatMap(({ scores }) =>
    [...scores].flatMap(([dimension, score]) => {
      const range = digest.ranges.get(dimension)
      return range === undefined ? [] : [{ question: digest.question, dimension, part: score / range }]
    }),
  )

/**
 * Over every two of them, without making the pairs: in order, each score is added once for every one before it and taken
 * off once for every one after it. Nothing where there are no two.
 */
function likenessOf(scores: readonly Score[]): number[] {
  const n = scores.length
  if (n < 2) return []
  const parts = scores.map(({ part }) => part).sort((a, b) => a - b)
  const differences = parts.reduce((sum, part, i) => sum + (2 * i - n + 1) * part, 0)
  return [1 - differences / ((n * (n - 1)) / 2)]
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return [...groups.values()]
}
