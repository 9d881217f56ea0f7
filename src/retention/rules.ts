import type { ExpiredRuns } from '../engine/ports/retention.js'

/**
 * How long families of runs are kept after their root has ended, in days. What a workflow says counts before what its
 * tenant says, and that before what is said of all; what nothing is said of is kept for ever.
 */
export type RetentionRules = {
  readonly days?: number
  readonly tenants: { readonly [tenant: string]: number }
  readonly workflows: { readonly [workflowId: string]: number }
}

/** Longer than responses are remembered under an Idempotency-Key: a family that is purged has left none behind. */
export const MIN_RETENTION_DAYS = 3

const DAY_MS = 24 * 60 * 60 * 1000

/** The runs whose time is over: each rule with those that no rule before it speaks of. */
export function expiredBy({ days, tenants, workflows }: RetentionRules, now: number): Omit<ExpiredRuns, 'limit'>[] {
  const endedBefore = (kept: number) => now - kept * DAY_MS
  const exceptWorkflows = Object.keys(workflows)
  const ofWorkflows = Object.entries(workflows).map(([workflowId, kept]) => ({
    workflowId,
    endedBefore: endedBefore(kept),
  }))
  const ofTenants = Object.entries(tenants).map(([tenant, kept]) => ({
    tenant,
    exceptWorkflows,
    endedBefore: endedBefore(kept),
  }))
  const others = { exceptTenants: Object.keys(tenants), exceptWorkflows }
  return [...ofWorkflows, ...ofTenants, ...(days === undefined ? [] : [{ ...others, endedBefore: endedBefore(days) }])]
}
