import { NOTHING_SPENT, plus } from '../../core/budget/budget.js'
import { labelTold, type PassLabel, type ResultLabel } from '../../core/verification/label.js'
import type { VerificationRecord } from '../../core/verification/record.js'
import type { Classification } from '../../core/verification/voting/judgement.js'
import type { Verification } from '../../engine/queries/verifications.js'
import { spentOf } from '../../wire/spent.js'
import type { VerificationSummary } from '../../wire/verification.js'

/** An attempt at a gate as readers see it. */

export const verificationSummary = (one: Verification): VerificationSummary => ({
  ...sharedBy(one),
  findings: countsOf(one.record),
})

/** R-DWS-13: everything that is known of it. */
export function verificationAnswer(one: Verification) {
  const { record, artifactId, verified, person } = one
  const { forced: _forced, standing: _standing, cost: _cost, work: _work, ...told } = record
  return {
    ...told,
    ...sharedBy(one),
    artifactId,
    ...(verified && {
      verdictBy: {
        agentId: verified.agentId,
        criteria: verified.criteria ?? [],
        at: new Date(verified.at).toISOString(),
      },
    }),
    ...(person && { person }),
  }
}

function sharedBy({ n, at, record, verified, best, receipt }: Verification) {
  const { gateId, gateName, attempt, nodeId, workerId, toolId, target, verdict, confidence } = record
  const label = labelOf(record, verified)
  return {
    n,
    at: new Date(at).toISOString(),
    gateId,
    gateName,
    attempt,
    nodeId,
    ...(workerId !== undefined && { workerId }),
    ...(toolId !== undefined && { toolId }),
    target,
    verdict,
    outcome: verified?.verdict ?? ('none' as const),
    scores: scoresOf(record),
    ...(confidence !== undefined && { confidence }),
    ...costOf(record),
    verified: label === 'verified' || label === 'conditional',
    label,
    ...(receipt && { peerReceipt: receipt }),
    ...(best && { best }),
  }
}

/** R-DWS-27: what the work has cost, and what judging it has. */
function costOf({ work, cost }: VerificationRecord): Pick<VerificationSummary, 'cost'> {
  if (work === undefined) return cost ? { cost: { verification: spentOf(cost) } } : {}
  const verification = plus(work.verification, cost ?? NOTHING_SPENT)
  return { cost: { execution: spentOf(work.execution), verification: spentOf(verification) } }
}

const scoresOf = ({ criteria }: VerificationRecord): { [dimension: string]: number } =>
  Object.fromEntries(criteria.flatMap(({ dimension, score }) => (score === undefined ? [] : [[dimension, score]])))

/** What may be said of the result. Of verdicts that older hosts told without a label, what their record shows. */
export function labelOf(record: VerificationRecord, verified: Verification['verified']): ResultLabel {
  return (verified && labelTold(verified, verified.label ?? labelBefore(record))) ?? 'unverified'
}

function labelBefore({ forced, criteria, verdict, blocking }: VerificationRecord): PassLabel | undefined {
  if (blocking === false) return undefined
  if (forced) return 'forced'
  if (criteria.some(({ settledBy }) => settledBy === 'earlier')) return 'verified in part'
  return verdict === 'pass' ? 'verified' : 'conditional'
}

function countsOf({ findings }: VerificationRecord): VerificationSummary['findings'] {
  const count = (wanted: Classification) => findings.filter(({ classification }) => classification === wanted).length
  return { blocking: count('blocking'), warning: count('warning'), advisory: count('advisory') }
}
