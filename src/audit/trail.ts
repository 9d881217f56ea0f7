import { sha256OfJson } from '../digest.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Trail, TrailEntry, TrailRecord, TrailStore } from '../engine/ports/audit.js'

/** Of hosts that write at once to one tenant's trail, one is first each time: so many may come before us. */
const MAX_TRIES = 100

/** Records of one tenant are written one after the other: each names the one before it. */
export function createTrail({
  store,
  clock,
}: {
  readonly store: TrailStore
  readonly clock: Pick<Clock, 'now'>
}): Trail {
  const lines = new Map<string, Promise<void>>()

  async function append(entry: TrailEntry): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const [last] = await store.readTrail(entry.tenant, { limit: 1 })
      const unsealed = {
        ...entry,
        seq: (last?.seq ?? 0) + 1,
        at: Math.max(clock.now(), last?.at ?? 0),
        previous: last?.hash ?? '',
      }
      if (await store.appendTrail({ ...unsealed, hash: hashOf(unsealed) })) return
    }
    throw new Error(`the audit trail of ${entry.tenant} is written to by too many at once`)
  }

  return {
    record(entry) {
      const before = lines.get(entry.tenant) ?? Promise.resolve()
      const add = () => append(entry)
      // What became of the one before is told to whoever recorded it.
      const mine = before.then(add, add)
      lines.set(entry.tenant, mine)
      const leave = () => {
        if (lines.get(entry.tenant) === mine) lines.delete(entry.tenant)
      }
      mine.then(leave, leave)
      return mine
    },
    async list(tenant, { limit, ...query }) {
      // One more, to which the oldest of the page is chained.
      const read = await store.readTrail(tenant, { ...query, limit: limit + 1 })
      const records = read.slice(0, limit)
      return { records, isWhole: records.every((record, i) => follows(record, read[i + 1])) }
    },
  }
}

const hashOf = ({
  tenant,
  seq,
  at,
  principal,
  credential,
  action,
  object,
  outcome,
  previous,
}: Omit<TrailRecord, 'hash'>) =>
  sha256OfJson({ tenant, seq, at, principal, credential, action, object, outcome, previous })

const follows = (record: TrailRecord, before: TrailRecord | undefined): boolean =>
  record.hash === hashOf(record) && record.previous === (before?.hash ?? '') && record.seq === (before?.seq ?? 0) + 1
