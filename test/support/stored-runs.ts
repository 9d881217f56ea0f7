import type { Store } from '../../src/engine/ports.js'
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

/** Fields of payloads that say when something was written. */
const TIMES = /"(writtenAt|requestedAt|resolvedAt|decidedAt)":"[^"]*"/g

/** The logs without what two tellings of one story may differ in: ids, times and the claim they were written under. */
export function storyOf(runs: readonly CheckedRun[]): unknown[] {
  const names = new Map(runs.map(({ runId }, i) => [runId, `run-${i}`]))
  const anonymous = (value: unknown): unknown => {
    let text = JSON.stringify(value)
    for (const [runId, name] of names) text = text.replaceAll(runId, name)
    return JSON.parse(text.replace(TIMES, '"$1":"-"').replace(/"effect":"[^"]*"/g, '"effect":"-"'))
  }
  return runs.map(({ events, row }) => ({
    status: row?.status,
    events: events.map(({ sequence, type, nodeId, payload, secret, causationId }) =>
      anonymous({ sequence, type, nodeId, payload, secret: secret ?? null, causationId }),
    ),
  }))
}
