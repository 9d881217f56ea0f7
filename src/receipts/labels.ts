import type { PassLabel, ResultLabel } from '../core/verification/label.js'
import type { ReceiptAttempt, ReceiptGate, ReceiptVerdict } from './receipt.js'

/**
 * What may be said of a result by the receipt alone (docs/contract/verification.md, Labels): whose word it is, whether all
 * that the gate asks was judged, and what the votes came to. A gate that does not block says nothing.
 */
export function labelFrom(
  { blocking, criteria }: Pick<ReceiptGate, 'blocking' | 'criteria'>,
  { judgement }: Pick<ReceiptAttempt, 'judgement'>,
  { agentId, verdict, criteria: told }: Pick<ReceiptVerdict, 'agentId' | 'verdict' | 'criteria'>,
): PassLabel | undefined {
  if (!blocking || verdict !== 'pass') return undefined
  if (agentId === 'host:human-override' || PERSONS.some(key => told.includes(key))) return 'accepted'
  if (told.includes('gate.on-fail.conditional-pass')) return 'forced'
  if (criteria.some(key => !told.includes(key))) return 'verified in part'
  return judgement?.verdict === 'pass' ? 'verified' : 'conditional'
}

/** Keys by which a verdict tells that a person let a result pass in the verifiers' place. */
const PERSONS: readonly string[] = ['human-override', 'human-accepted']

/** Where several gates stand before a result, it is as good as the weakest of them says. */
export const weakestOf = (labels: readonly ResultLabel[]): ResultLabel =>
  labels.reduce((weakest, label) => (rankOf(label) > rankOf(weakest) ? label : weakest), 'verified')

const rankOf = (label: ResultLabel): number => FROM_BEST.indexOf(label)

const FROM_BEST: readonly ResultLabel[] = [
  'verified',
  'conditional',
  'accepted',
  'verified in part',
  'forced',
  'unverified',
]
