import type { WebhookHealth } from '../engine/ports/deliveries.js'

/**
 * When a subscription is left in peace (contract core §11.2).
 *
 *  B1  Four failures in a row open its circuit for an hour.
 *  B2  When the hour is over one delivery is tried; success closes the circuit, failure opens it for another hour.
 *  B3  A failure that was under way when the circuit opened does not keep it open longer.
 *  B4  A hundred failures within seven days end the subscription; nothing brings it back.
 */
export const FAILURES_TO_OPEN = 4
export const OPEN_MS = 60 * 60 * 1000
export const FAILURES_TO_END = 100
export const WINDOW_MS = 7 * 24 * 60 * 60 * 1000

export const HEALTHY: WebhookHealth = { state: 'active', consecutiveFailures: 0, openUntil: null, failures: [] }

export type Circuit = 'closed' | 'open' | 'half-open'

export function circuitOf({ openUntil }: WebhookHealth, now: number): Circuit {
  if (openUntil === null) return 'closed'
  return now < openUntil ? 'open' : 'half-open'
}

/** The same object when there is nothing to write down: most deliveries succeed. */
export function afterSuccess(health: WebhookHealth): WebhookHealth {
  if (health.consecutiveFailures === 0 && health.openUntil === null) return health
  return { ...health, consecutiveFailures: 0, openUntil: null }
}

export function afterFailure(health: WebhookHealth, now: number): WebhookHealth {
  const failures = [...health.failures.filter(at => at > now - WINDOW_MS), now].slice(-FAILURES_TO_END)
  const consecutiveFailures = health.consecutiveFailures + 1
  return {
    state: failures.length >= FAILURES_TO_END ? 'failed' : health.state,
    consecutiveFailures,
    openUntil: openUntil(health, consecutiveFailures, now),
    failures,
  }
}

function openUntil(health: WebhookHealth, consecutiveFailures: number, now: number): number | null {
  if (circuitOf(health, now) === 'open') return health.openUntil
  return consecutiveFailures >= FAILURES_TO_OPEN ? now + OPEN_MS : null
}
