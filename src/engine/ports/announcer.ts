import type { NewDelivery } from './deliveries.js'
import type { StoredEvent } from './event-log.js'

/** Knows who wants to be told of events. */
export interface Announcer {
  /** What a commit of these events owes to subscribers. Asked at every commit, so cheap when nobody subscribes. */
  deliveriesFor(
    run: { readonly tenant: string; readonly runId: string; readonly tags: readonly string[] },
    events: readonly StoredEvent[],
  ): readonly NewDelivery[]
  /** They have become durable. */
  committed(deliveries: readonly NewDelivery[]): void
}
