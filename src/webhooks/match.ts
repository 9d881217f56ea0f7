import type { Webhook } from '../engine/ports/deliveries.js'

/** Whether a subscription wants this event of a run of its own tenant. */
export const wants = (webhook: Webhook, type: string): boolean => webhook.events.some(wanted => covers(wanted, type))

/** Whether it wants to hear of a run with these tags at all. */
export const watches = (
  webhook: Webhook,
  run: { readonly tenant: string; readonly tags: readonly string[] },
): boolean =>
  webhook.health.state === 'active' &&
  webhook.tenant === run.tenant &&
  (webhook.tags.length === 0 || webhook.tags.some(tag => run.tags.includes(tag)))

/** `*` is every type, `run.*` those of a family, anything else one type. */
function covers(wanted: string, type: string): boolean {
  if (wanted === '*' || wanted === type) return true
  return wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1))
}
