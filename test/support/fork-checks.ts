import { expect } from 'vitest'
import type { Fork } from '../../src/core/replay/events.js'
import type { StoredEvent } from '../../src/engine/ports/event-log.js'
import type { RunRow } from '../../src/engine/ports/run-index.js'
import type { Store } from '../../src/engine/ports/store.js'

/** What an event says, whichever of two equal runs says it. */
export const said = ({ type, nodeId, payload }: Pick<StoredEvent, 'type' | 'nodeId' | 'payload'>): unknown => {
  const { runId: _, parentRunId: __, ...others } = JSON.parse(payload) as { readonly [field: string]: unknown }
  return { type, nodeId, payload: others }
}

type Forked = RunRow & { readonly fork: Fork }

/** A fork begins with the very events of its source; the source may have grown since. */
export async function expectSharedPrefix(store: Store, { runId, fork }: Forked): Promise<void> {
  const [own, source] = await Promise.all([
    store.readEvents(runId, 0, fork.fromSeq),
    store.readEvents(fork.sourceRunId, 0, fork.fromSeq),
  ])
  expect(own, `${runId} from ${fork.sourceRunId}:${fork.fromSeq}`).toEqual(source)
}

/**
 * A replay of a run that had ended says what its source said. Only where a person cancelled the source may it differ,
 * and then it says so. Tells which of the two it was; undefined when the source had not ended.
 */
export async function expectEqualReplay(store: Store, row: Forked): Promise<'equal' | 'diverged' | undefined> {
  const { runId, fork } = row
  const source = (await store.readRun(null, fork.sourceRunId))!
  if (fork.mode !== 'replay' || source.endedAt === null || fork.sourceLength < source.length) return undefined
  const [own, theirs] = [await store.readEvents(runId, 0), await store.readEvents(fork.sourceRunId, 0)]
  if (source.status === 'cancelled' && own.some(event => saysItParts(event, fork))) return 'diverged'
  expect(own.map(said), `${runId}, a replay of ${fork.sourceRunId} from ${fork.fromSeq}`).toEqual(theirs.map(said))
  return 'equal'
}

/** A log may also repeat what was said of the replay it comes from; that names another source. */
const saysItParts = ({ type, payload }: StoredEvent, { sourceRunId }: Fork): boolean =>
  type === 'replay.diverged' && (JSON.parse(payload) as { readonly sourceRunId: string }).sourceRunId === sourceRunId

export const isFork = (row: RunRow): row is Forked => row.fork !== null
