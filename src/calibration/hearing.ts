import { meanOf } from './estimate.js'
import type { Case } from './labels.js'
import { narrowed, type Opinion } from './opinion.js'

/**
 * A case and what one judge held of it, more than once when it has several seats at the gate. Seats of one judge are
 * not independent of each other, so every estimate counts cases and never votes.
 */
export type Hearing = { readonly case: Case; readonly opinions: readonly Opinion[] }

/** Those that the judge had an opinion on. */
export const hearingsOf = (cases: readonly Case[], opinionsOf: (case_: Case) => readonly Opinion[]): Hearing[] =>
  cases.map(one => ({ case: one, opinions: opinionsOf(one) })).filter(isHeard)

/** As far as one dimension goes. */
export const onDimension = (hearings: readonly Hearing[], dimension: string): Hearing[] =>
  hearings
    .map(hearing => ({ ...hearing, opinions: hearing.opinions.flatMap(one => narrowed(one, dimension) ?? []) }))
    .filter(isHeard)

/** The share of its votes that failed the result. */
export const againstOf = ({ opinions }: Hearing): number => meanOf(opinions.map(({ passes }) => (passes ? 0 : 1)))

const isHeard = ({ opinions }: Hearing): boolean => opinions.length > 0
