import { expect } from 'vitest'
import type { Store } from '../../src/engine/ports/store.js'
import { checkLog } from '../../src/log-check/check-log.js'
import type { CheckedRun, Finding } from '../../src/log-check/checked.js'
import { fromRows } from '../../src/log-check/read-log.js'
import { openStore } from '../../src/store/open-store.js'

/** Everything a store holds, as the log checker takes it. */
export async function storedRuns(database: string): Promise<CheckedRun[]> {
  const store = await openStore(database)
  try {
    return await runsIn(store)
  } finally {
    await store.close()
  }
}

/** The same of a store that is open; oldest run first. */
export async function runsIn(store: Store): Promise<CheckedRun[]> {
  const runs: CheckedRun[] = []
  for (const row of (await store.listRuns({ tenant: null, limit: 100_000 })).reverse()) {
    const definition = await store.getDefinition(row.workflowDigest)
    const events = fromRows(row.runId, await store.readEvents(row.runId, 0))
    runs.push({ runId: row.runId, tenant: row.tenant, row, definition: JSON.parse(definition!), events })
  }
  return runs
}

export const findingsOf = (runs: readonly CheckedRun[]): Finding[] => checkLog({ runs, complete: true })

/** R-HANDOFF-4: as many children as hand-offs that succeeded, and the very ones they name. */
export function expectChildrenHandedTo(runs: readonly CheckedRun[]): void {
  const named = runs.flatMap(({ events }) =>
    events.flatMap(({ type, payload }) => {
      const { phase, childRunId } = payload as { readonly phase?: string; readonly childRunId?: string }
      return type === 'core.workflowChain.event' && phase === 'dispatch.succeeded' ? [childRunId!] : []
    }),
  )
  const children = runs.filter(({ row }) => (row?.parentRunId ?? null) !== null)
  expect(named.sort()).toEqual(children.map(({ runId }) => runId).sort())
}

/** Fields of payloads that say when something was written. */
const TIMES = /"(writtenAt|requestedAt|resolvedAt|decidedAt)":"[^"]*"/g

/** Fields that are computed from ids, among others. */
const HASHES = /"(effect|shownHash|traceparent)":"[^"]*"/g

/** The logs without what two tellings of one story may differ in: ids, times and the claim they were written under. */
export function storyOf(runs: readonly CheckedRun[]) {
  const names = new Map(runs.map(({ runId }, i) => [runId, `run-${i}`]))
  const anonymous = <T>(value: T): T => {
    let text = JSON.stringify(value)
    for (const [runId, name] of names) text = text.replaceAll(runId, name)
    return JSON.parse(text.replace(TIMES, '"$1":"-"').replace(HASHES, '"$1":"-"')) as T
  }
  return runs.map(({ events, row }) => ({
    status: row?.status,
    events: events.map(({ sequence, type, nodeId, payload, secret, causationId }) =>
      anonymous({ sequence, type, nodeId, payload, secret: secret ?? null, causationId }),
    ),
  }))
}

/** What was said in a story, whichever was first. */
export const unordered = (story: ReturnType<typeof storyOf>) =>
  story.map(({ status, events }) => ({
    status,
    events: events.map(({ type, nodeId, payload, secret }) => JSON.stringify({ type, nodeId, payload, secret })).sort(),
  }))
