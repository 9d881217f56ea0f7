import { meanOf } from './estimate.js'
import type { LabelledCase } from './labels.js'
import { narrowed, type RecordedOpinion } from './opinion.js'

/**
 * A case and what one judge held of it, more than once when it has several seats at the gate. Seats of one judge are
 * not independent of each other, so every estimate counts cases and never votes.
 */
export type Hearing = { readonly case: LabelledCase; readonly opinions: readonly RecordedOpinion[] }

/** Those that the judge had an opinion on. */
export const hearingsOf = (
  cases: readonly LabelledCase[],
  opinionsOf: (case_: LabelledCase) => readonly RecordedOpinion[],
): Hearing[] => cases.map(one => ({ case: one, opinions: opinionsOf(one) })).filter(isHeard)

/** As far as one dimension goes. */
export const onDimension = (hearings: readonly Hearing[], dimension: string): Hearing[] =>
  hearings
    .map(hearing => ({ ...hearing, opinions: hearing.opinions.flatMap(one => narrowed(one, dimension) ?? []) }))
    .filter(isHeard)

/** The share of its votes that failed the result. */
export const againstOf = ({ opinions }: Hearing): number => meanOf(opinions.map(({ passes }) => (passes ? 0 : 1)))

const isHeard = ({ opinions }: Hearing): boolean => opinions.length > 0
