import type { JudgedVerdict } from '../../../calibration/verdicts.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import type { Gate } from '../../../core/verification/gate.js'
import { demandsOf, holds } from '../../../core/verification/voting/licence.js'
import {
  CalibrationAnswer,
  CalibrationQuery,
  ListVerdictsAnswer,
  ListVerdictsQuery,
} from '../../../wire/calibration.js'
import type { Edge } from '../../deps.js'
import { labelOf } from '../../documents/verification-doc.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/** How good the judges of a gate have been, and what they said of what. */
export const calibrationRoutes = (edge: Edge): Route[] => [getCalibration(edge), listVerdicts(edge)]

const getCalibration = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/gates/{gateId}/calibration',
    operation: 'getCalibration',
    summary: 'How good the judges of this gate have been, by verifier and dimension',
    access: 'manifest:read',
    query: CalibrationQuery,
    responses: { 200: { description: 'What is known, with 95 % intervals', schema: CalibrationAnswer } },
    refusals: ['not_found', 'validation_error'],
    async handle({ caller, params, query }) {
      const since = sinceOf(query.since)
      if (typeof since === 'object') return problem(since)
      const gate = await gateIn(edge, caller.tenant, params.gateId)
      if (gate === undefined) return problem(NO_GATE)
      const wanted = { limit: query.limit ?? 1000, ...(since !== undefined && { since }) }
      const { defects: _none, ...found } = await edge.verdicts.calibration(caller.tenant, params.gateId, wanted)
      return json(200, { ...found, licence: licenceOf(gate, found.standing) }, PRIVATE)
    },
  })

const listVerdicts = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/gates/{gateId}/verdicts',
    operation: 'listVerdicts',
    summary: 'What this gate has said of which results, newest first',
    // Results are content, so whoever may read artifacts may read them (R-SEC-2).
    access: 'artifacts:read',
    query: ListVerdictsQuery,
    responses: { 200: { description: 'Of each result the verdict that holds', schema: ListVerdictsAnswer } },
    refusals: ['not_found', 'validation_error'],
    async handle({ caller, params, query }) {
      const since = sinceOf(query.since)
      if (typeof since === 'object') return problem(since)
      if ((await gateIn(edge, caller.tenant, params.gateId)) === undefined) return problem(NO_GATE)
      const wanted = { limit: query.limit ?? 50, ...(since !== undefined && { since }) }
      const found = await edge.verdicts.list(caller.tenant, params.gateId, wanted)
      return json(200, { verdicts: found.map(render) }, PRIVATE)
    },
  })

const PRIVATE = { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' }
const NO_GATE = refuse('not_found', 'No such gate, or it is not visible to this key.')

/** The form has been checked; a second that no clock shows still has it. */
function sinceOf(text: string | undefined): number | Refusal | undefined {
  if (text === undefined) return undefined
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return at
  const message = `query.since must be a time such as 2026-01-31T12:00:00Z; got ${JSON.stringify(text)}.`
  return refuse('validation_error', message, { field: 'query.since' })
}

async function gateIn({ standards }: Edge, tenant: string, gateId: string): Promise<Gate | undefined> {
  const found = await standards.find(tenant, 'gate', gateId)
  return found && (JSON.parse(found.body) as Gate)
}

function licenceOf(
  { gate_behaviour }: Gate,
  { badStopped, goodPassed }: CalibrationAnswer['standing'],
): CalibrationAnswer['licence'] {
  const { auto_commit, licence } = gate_behaviour
  const held = holds(licence, badStopped, goodPassed)
  return { required: auto_commit === 'licensed', ...demandsOf(licence), held }
}

function render({ runId, sequence, record, verified }: JudgedVerdict) {
  const { nodeId, workerId, target, attempt, verdict: dwsVerdict, criteria, gateHash, resultHash, output } = record
  const { context } = record
  return {
    runId,
    sequence,
    at: new Date(verified.at).toISOString(),
    nodeId,
    ...(workerId !== undefined && { workerId }),
    target,
    attempt,
    verdict: verified.verdict,
    dwsVerdict,
    label: labelOf(record, verified),
    failed: criteria.flatMap(({ dimension, passed }) => (passed ? [] : [dimension])),
    gateHash,
    resultHash,
    output,
    ...(context !== undefined && { context }),
  }
}
