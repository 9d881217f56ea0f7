import { type Refusal, refuse } from '../../core/problem.js'
import type { AuditAnomaly, AuditReport } from '../../engine/api.js'
import { AuditAnswer, AuditQuery, MAX_CHECKPOINTS } from '../../wire/audit.js'
import type { Edge } from '../deps.js'
import { json, problem } from '../http-answer.js'
import { type Route, route } from '../route.js'

/** Checkpoints span all tenants; which runs they cover is told to nobody, and an anomaly's run to its tenant only. */
export const auditRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/audit/verify',
    operation: 'verifyAudit',
    summary: 'Whether signed checkpoints, and the logs they cover, are as they were written',
    access: 'audit:read',
    query: AuditQuery,
    responses: { 200: { description: 'What was checked, and what is wrong with it', schema: AuditAnswer } },
    refusals: ['validation_error'],
    async handle({ caller, query: { fromSeq = 0, toSeq } }) {
      const refusal = await refuseRange(edge, fromSeq, toSeq)
      if (refusal !== undefined) return problem(refusal)
      const report = await edge.audit.verify({ from: fromSeq, ...(toSeq !== undefined && { to: toSeq }) })
      return json(200, await render(edge, caller.tenant, report), { 'cache-control': 'no-store' })
    },
  }),
]

async function refuseRange(edge: Edge, from: number, to: number | undefined): Promise<Refusal | undefined> {
  if (to !== undefined && to < from) {
    return refuse('validation_error', 'query.toSeq must not be less than query.fromSeq.', { field: 'query.toSeq' })
  }
  const beyond = from + MAX_CHECKPOINTS
  const isTooLong = to === undefined ? await exists(edge, beyond) : to >= beyond
  if (!isTooLong) return undefined
  const message = `The range has more than ${MAX_CHECKPOINTS} checkpoints; ask for fromSeq=${from}&toSeq=${beyond - 1}, then go on.`
  return refuse('validation_error', message, { field: 'query.toSeq', maxCheckpoints: MAX_CHECKPOINTS })
}

const exists = async ({ audit }: Edge, seq: number): Promise<boolean> =>
  (await audit.verify({ from: seq, to: seq })).checkpoints.length > 0

async function render(edge: Edge, tenant: string, report: AuditReport): Promise<AuditAnswer> {
  const anomalies: AuditAnomaly[] = []
  for (const anomaly of report.anomalies) anomalies.push(await forTenant(edge, tenant, anomaly))
  return { ...report, checkpoints: [...report.checkpoints], anomalies }
}

async function forTenant({ engine }: Edge, tenant: string, anomaly: AuditAnomaly): Promise<AuditAnomaly> {
  const { runId, ...rest } = anomaly
  if (runId === undefined) return rest
  return (await engine.tenantOf(runId)) === tenant ? anomaly : rest
}
