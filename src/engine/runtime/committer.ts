import type { StoredQuotas } from '../../core/quotas.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Announcer } from '../ports/announcer.js'
import type { NewDelivery } from '../ports/deliveries.js'
import type { CommitResult, StreamAppend } from '../ports/event-log.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'
import type { Store } from '../ports/store.js'
import type { HostLease } from './host-lease.js'

/** One log in a commit: what is appended to it, and what is believed once that is durable. */
export type CommitPart = {
  readonly tenant: string
  readonly append: StreamAppend
  readonly wakes: readonly string[]
  readonly deliveries: readonly NewDelivery[]
  /** What it took to decide. */
  readonly steps: number
  /** It is durable. */
  readonly believe: () => void
  /** Nobody knows whether it is, or it is not: only the log can tell. */
  readonly doubt: () => void
}

/**
 * Writes logs together: all of them in one transaction, or none. The only caller of `store.commit`; whatever knows of what
 * was written is told of it here, in the order of commits.
 */
export class Committer {
  #commits = 0

  constructor(
    private readonly deps: {
      store: Store
      lease: HostLease
      turns: TurnTaking
      announcer: Announcer | undefined
    },
  ) {}

  async commit(
    parts: readonly CommitPart[],
    response?: RememberedResponse,
    quotas?: StoredQuotas,
  ): Promise<CommitResult> {
    const { store, lease, turns, announcer } = this.deps
    this.#commits += 1
    for (const { tenant, steps } of parts) turns.spent(tenant, steps)
    const deliveries = parts.flatMap(part => part.deliveries)
    const commit = {
      appendId: `${lease.hostId}.${this.#commits}`,
      hostId: lease.hostId,
      tenant: parts[0]!.tenant,
      streams: parts.map(({ append }) => append),
      wakes: parts.flatMap(({ wakes }) => wakes),
      ...(response ? { response } : {}),
      ...(deliveries.length > 0 ? { deliveries } : {}),
      ...(quotas ? { quotas } : {}),
    }
    const result = await store.commit(commit).catch(error => {
      for (const part of parts) part.doubt()
      throw error
    })
    for (const part of parts) {
      if (result.kind === 'committed') part.believe()
      else part.doubt()
    }
    if (result.kind === 'committed' && deliveries.length > 0) announcer?.committed(deliveries)
    // The claim moved, or the whole host was fenced: find out which before deciding anew.
    if (result.kind === 'fenced') await lease.renew()
    return result
  }
}
