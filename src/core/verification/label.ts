/**
 * What is said about a result, everywhere in the same word (docs/contract/verification.md).
 *
 * - `verified`: verifiers have passed every dimension of the gate for exactly this result.
 * - `conditional`: the same, and there are warnings, or somebody was outvoted.
 * - `verified in part`: they have passed what they were asked; some dimensions were not judged for this result.
 * - `accepted`: a person let it pass where the verifiers did not, could not, or could not see all of it.
 * - `forced`: it failed its last attempt and was let through all the same, as the gate says.
 * - `unverified`: no blocking gate has let it pass.
 */
export const RESULT_LABELS = [
  'verified',
  'conditional',
  'accepted',
  'verified in part',
  'forced',
  'unverified',
] as const
export type ResultLabel = (typeof RESULT_LABELS)[number]

/** Of a result that a gate has let pass. */
export type PassLabel = Exclude<ResultLabel, 'unverified'>

/** Keys by which `agent.verified` tells that a person let a result pass in the verifiers' place. */
const ACCEPTED_KEYS: readonly string[] = ['human-override', 'human-accepted']

/** What may be said of a result whose verifiers have passed it, once a person has let it pass, too. */
export function labelConfirmed(told: {
  readonly dwsVerdict?: string
  readonly judged?: 'whole' | 'part'
}): PassLabel | undefined {
  const { dwsVerdict, judged } = told
  if (judged === undefined) return undefined
  if (judged === 'part') return 'verified in part'
  return dwsVerdict === 'pass' ? 'verified' : 'conditional'
}

/** What a verdict says of the result, given what its verifiers' verdict would have it called. */
export function labelTold(
  told: { readonly agentId?: string; readonly verdict?: string; readonly criteria?: readonly string[] },
  rendered: PassLabel | undefined,
): PassLabel | undefined {
  const { agentId, verdict, criteria = [] } = told
  if (verdict !== 'pass') return undefined
  const isPersons = agentId === 'host:human-override' || criteria.some(key => ACCEPTED_KEYS.includes(key))
  return isPersons ? 'accepted' : rendered
}

/** Whether everything that the gate asks was judged for this result, by its verifiers or by a person. */
export const isWhole = (label: PassLabel | undefined): boolean =>
  label === 'verified' || label === 'conditional' || label === 'accepted'
