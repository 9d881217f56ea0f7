import {
  type BoundGate,
  type Criterion,
  type Gate,
  HOST_VERIFIER,
  type MultiVerifier,
} from '../core/verification/gate.js'
import type { Fault, Finding, ProbeResult, Settled, Vote } from '../core/verification/voting/judgement.js'
import { boundGate } from './gates.js'

/** A criterion that a verifier scores from 0 to 1 and that holds from 0.5. */
export const criterion = (dimension: string, differently: Partial<Criterion> = {}): Criterion => ({
  dimension,
  scale: { min: 0, max: 1, type: 'float' },
  pass_threshold: 0.5,
  weight: 1,
  evidence_required: true,
  probes: [],
  settled_by_probes: true,
  ...differently,
})

/** A criterion that these probes settle. */
export const probed = (dimension: string, ...probeIds: string[]): Criterion =>
  criterion(dimension, { probes: probeIds.map(probe_id => ({ probe_id, type: 'equals', value: true })) })

export const gate = (criteria: readonly Criterion[], quorum: Partial<MultiVerifier> = {}): Gate =>
  boundGate({ gate_id: 'g', criteria, quorum }).gate

export const bound = (of: Gate): BoundGate => ({ ...boundGate(), gate: of })

export const NOTHING_SETTLED: Settled = { scores: {}, findings: [], unavailable: [] }

export const finding = (dimension: string, classification: Finding['classification'], id = 'f'): Finding => ({
  finding_id: id,
  dimension,
  classification,
  description: `${dimension} is ${classification}`,
  evidence: [{ evidence_type: 'artifact_reference', ref: '/output', detail: 'as it stands' }],
  source: HOST_VERIFIER,
})

/** A vote that passes unless it is said to differ. */
export const vote = (scores: Vote['scores'], differently: Partial<Vote> = {}): Vote => ({
  agentId: HOST_VERIFIER,
  weight: 1,
  scores,
  findings: [],
  verdict: 'pass',
  childRunId: 'c',
  ...differently,
})

export const fault = (weight = 1): Fault => ({ agentId: HOST_VERIFIER, weight, code: 'verifier_off_schema' })

export const probeResult = (
  dimension: string,
  probeId: string,
  outcome: ProbeResult['outcome'],
  evidence: ProbeResult['evidence'] = [],
): ProbeResult => ({ probeId, dimension, outcome, evidence })
