import type { Licence } from '../gate.js'
import type { Vote } from './judgement.js'

/** How many results of one kind there were, and the share of them at least that the gate was right about. */
export type Side = { readonly n: number; readonly lower: number }

/** What a gate has shown of itself, when judged by these. */
export type TrackRecord = {
  /** Of bad results, those that it stops. */
  readonly badStopped: Side
  /** Of good results, those that it lets through. */
  readonly goodPassed: Side
  /** By verifier: the model that judged and the prompt it judged by, as `judgeOf` tells them. */
  readonly judges: { readonly [agentId: string]: string }
}

/** What a licence is for: another model, or another prompt, is another judge. */
export const judgeOf = ({ model = 'unknown', prompt = 'unknown' }: Pick<Vote, 'model' | 'prompt'>): string =>
  `${model} ${prompt}`

/** What a gate demands of each side. Gates from before the sides were told apart demand the same of both. */
export const demandsOf = (licence: Licence | Licence['bad_stopped']): Licence =>
  'bad_stopped' in licence ? licence : { bad_stopped: licence, good_passed: licence }

export function isLicensed(
  licence: Parameters<typeof demandsOf>[0],
  shown: Partial<TrackRecord> | undefined,
  votes: readonly Vote[],
): boolean {
  if (!shown?.badStopped || !shown.goodPassed || !holds(licence, shown.badStopped, shown.goodPassed)) return false
  return votes.every(vote => shown.judges?.[vote.agentId] === judgeOf(vote))
}

export function holds(licence: Parameters<typeof demandsOf>[0], badStopped: Side, goodPassed: Side): boolean {
  const { bad_stopped, good_passed } = demandsOf(licence)
  return reaches(badStopped, bad_stopped) && reaches(goodPassed, good_passed)
}

const reaches = ({ n, lower }: Side, { min_n, lower_bound }: Licence['bad_stopped']): boolean =>
  n >= min_n && lower >= lower_bound
