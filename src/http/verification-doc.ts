import { NOTHING_SPENT, plus } from '../core/budget/budget.js'
import type { Classification } from '../core/verification/judgement.js'
import type { VerificationRecord } from '../core/verification/record.js'
import type { Verification } from '../engine/queries/verifications.js'
import { spentOf } from '../wire/spent.js'
import type { VerificationSummary } from '../wire/verification.js'

/** An attempt at a gate as readers see it. */

/** Who a verdict is by that a person gave in place of the verifiers. */
const HUMAN_OVERRIDE = 'host:human-override'

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

function sharedBy({ n, at, record, verified, best }: Verification) {
  const { gateId, gateName, attempt, nodeId, workerId, target, verdict, confidence } = record
  return {
    n,
    at: new Date(at).toISOString(),
    gateId,
    gateName,
    attempt,
    nodeId,
    ...(workerId !== undefined && { workerId }),
    target,
    verdict,
    outcome: verified?.verdict ?? ('none' as const),
    scores: scoresOf(record),
    ...(confidence !== undefined && { confidence }),
    ...costOf(record),
    verified: verified?.verdict === 'pass',
    label: labelOf(record, verified),
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

/** Why the result may be relied on, or that it may not. */
export function labelOf(
  { forced }: VerificationRecord,
  verified: Pick<NonNullable<Verification['verified']>, 'verdict' | 'agentId'> | undefined,
): VerificationSummary['label'] {
  if (verified?.verdict !== 'pass') return 'unverified'
  if (verified.agentId === HUMAN_OVERRIDE) return 'human-override'
  return forced ? 'forced' : 'verified'
}

function countsOf({ findings }: VerificationRecord): VerificationSummary['findings'] {
  const count = (wanted: Classification) => findings.filter(({ classification }) => classification === wanted).length
  return { blocking: count('blocking'), warning: count('warning'), advisory: count('advisory') }
}
