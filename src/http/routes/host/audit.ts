import { refuse } from '../../../core/problem.js'
import type { AuditAnomaly, AuditRange, AuditReport } from '../../../engine/api.js'
import { AuditAnswer, AuditQuery } from '../../../wire/audit.js'
import { TrailAnswer, TrailQueryDoc } from '../../../wire/trail/audit-trail.js'
import { readAuditCursor, writeAuditCursor } from '../../audit-cursor.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/**
 * Checkpoints span all tenants; which runs they cover is told to nobody. Logs of the caller's tenant are followed, so much
 * of them in one request, and an anomaly's run is told to its tenant only.
 */
export const auditRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/audit/verify',
    operation: 'verifyAudit',
    summary: 'Whether signed checkpoints, and the logs of this tenant that they cover, are as they were written',
    access: 'audit:read',
    query: AuditQuery,
    responses: { 200: { description: 'What was checked, and what is wrong with it', schema: AuditAnswer } },
    refusals: ['validation_error'],
    async handle({ caller: { tenant }, query }) {
      const range = rangeOf(tenant, query)
      if ('code' in range) return problem(range)
      const report = await edge.audit.verify({ ...range, tenant })
      return json(200, await render(edge, tenant, report), { 'cache-control': 'no-store' })
    },
  }),
  route({
    method: 'GET',
    path: '/v1/host/assay/audit',
    operation: 'listAuditTrail',
    summary:
      'Who did what to which things of this tenant, by which key, and whether they were let: free of content, newest first',
    access: 'audit:read',
    query: TrailQueryDoc,
    responses: { 200: { description: 'A page of the audit trail', schema: TrailAnswer } },
    refusals: ['validation_error'],
    async handle({ caller: { tenant }, query: { before, limit = 50 } }) {
      const page = await edge.trail.list(tenant, { limit, ...(before === undefined ? {} : { before }) })
      const oldest = page.records.at(-1)?.seq ?? 1
      const records = page.records.map(({ tenant: _tenant, at, previous: _previous, ...record }) => ({
        ...record,
        timestamp: new Date(at).toISOString(),
      }))
      const answer = { records, chainValid: page.isWhole, next: oldest > 1 ? oldest : null }
      return json(200, answer, { 'cache-control': 'no-store' })
    },
  }),
]

function rangeOf(tenant: string, { fromSeq, toSeq, cursor }: AuditQuery): AuditRange | ReturnType<typeof refuse> {
  if (cursor !== undefined) {
    const place = fromSeq === undefined && toSeq === undefined ? readAuditCursor(tenant, cursor) : undefined
    if (place !== undefined) return { from: place.seq, place }
    const message =
      'query.cursor must be the nextCursor of an earlier answer to this tenant, without fromSeq and toSeq.'
    return refuse('validation_error', message, { field: 'query.cursor' })
  }
  const from = fromSeq ?? 0
  if (toSeq !== undefined && toSeq < from)
    return refuse('validation_error', 'query.toSeq must not be less than query.fromSeq.', { field: 'query.toSeq' })
  return { from, ...(toSeq !== undefined && { to: toSeq }) }
}

async function render(edge: Edge, tenant: string, { next, ...report }: AuditReport): Promise<AuditAnswer> {
  const anomalies: AuditAnomaly[] = []
  for (const anomaly of report.anomalies) anomalies.push(await forTenant(edge, tenant, anomaly))
  const nextCursor = next && writeAuditCursor(tenant, next)
  return { ...report, checkpoints: [...report.checkpoints], anomalies, ...(nextCursor && { nextCursor }) }
}

async function forTenant({ engine }: Edge, tenant: string, anomaly: AuditAnomaly): Promise<AuditAnomaly> {
  const { runId, ...rest } = anomaly
  if (runId === undefined) return rest
  return (await engine.tenantOf(runId)) === tenant ? anomaly : rest
}
