import type { Criterion, Gate } from './gate.js'
import type { Finding, ProbeResult, Settled } from './voting/judgement.js'

const PROBE_SOURCE = 'host:probe'

/** Whether the host's own checks decide a criterion; no verifier is asked for a score of it. */
export const isSettledByProbes = ({ probes, settled_by_probes }: Criterion): boolean =>
  settled_by_probes && probes.length > 0

/** Of these dimensions, those that verifiers must judge, in the order of the gate. */
export const askedOf = (gate: Gate, dimensions: readonly string[]): readonly string[] =>
  gate.evaluation_criteria
    .filter(criterion => dimensions.includes(criterion.dimension) && !isSettledByProbes(criterion))
    .map(({ dimension }) => dimension)

/** What the probes settle of these dimensions. */
export function settledBy(gate: Gate, dimensions: readonly string[], evidence: readonly ProbeResult[]): Settled {
  const criteria = gate.evaluation_criteria
    .filter(criterion => dimensions.includes(criterion.dimension) && isSettledByProbes(criterion))
    .map(criterion => ({ criterion, failed: failedOf(criterion, evidence), known: isKnown(criterion, evidence) }))
  return {
    scores: Object.fromEntries(
      criteria
        .filter(({ failed, known }) => known || failed.length > 0)
        .map(({ criterion: { dimension, scale }, failed }) => [dimension, failed.length > 0 ? scale.min : scale.max]),
    ),
    findings: criteria.flatMap(({ failed }) => failed.map(findingOf)),
    // One that failed is enough: what the others would have found changes nothing.
    unavailable: criteria
      .filter(({ failed, known }) => !known && failed.length === 0)
      .map(({ criterion }) => criterion.dimension),
  }
}

const resultsOf = ({ dimension }: Criterion, probeId: string, evidence: readonly ProbeResult[]) =>
  evidence.filter(result => result.dimension === dimension && result.probeId === probeId)

/** The first failure of each probe that failed. */
const failedOf = (criterion: Criterion, evidence: readonly ProbeResult[]): readonly ProbeResult[] =>
  criterion.probes.flatMap(({ probe_id }) =>
    resultsOf(criterion, probe_id, evidence)
      .filter(({ outcome }) => outcome === 'failed')
      .slice(0, 1),
  )

/** A probe of which nothing was heard found nothing out. */
const isKnown = (criterion: Criterion, evidence: readonly ProbeResult[]): boolean =>
  criterion.probes.every(({ probe_id }) => {
    const results = resultsOf(criterion, probe_id, evidence)
    return results.length > 0 && results.every(({ outcome }) => outcome !== 'unavailable')
  })

const findingOf = ({ probeId, dimension, evidence }: ProbeResult): Finding => ({
  finding_id: `p-${probeId}`,
  dimension,
  classification: 'blocking',
  description: `The check ${probeId} of ${dimension} does not hold.`,
  evidence:
    evidence.length > 0
      ? evidence
      : [{ evidence_type: 'metric', ref: probeId, detail: 'The check was run and failed.' }],
  recommendation: `Make the check ${probeId} hold.`,
  source: PROBE_SOURCE,
})
