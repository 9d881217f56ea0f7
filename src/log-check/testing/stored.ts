import type { CheckedRun } from '../checked.js'
import { chained } from './chained.js'
import type { SimulatedRun } from './simulated-run.js'

/** A simulated run as a store would hold it. */
export function toChecked(run: SimulatedRun): CheckedRun {
  const { mode, status, variables, channels } = run.standing
  const ended = mode === 'ended'
  const events = chained(run.events, run.world.older)
  const waits = mode === 'running' ? run.waiting() : undefined
  return {
    runId: run.runId,
    tenant: run.world.tenant,
    definition: run.workflow,
    events,
    outlets: { poll: run.events },
    invocations: run.invocations,
    snapshot: { variables: { ...variables, extra: [1, 2] }, channels },
    row: {
      status: waits ?? status,
      length: run.events.length,
      parentRunId: run.parent?.runId ?? null,
      parentNodeId: run.parent?.nodeId ?? null,
      endedAt: ended ? run.at : null,
      wakeAt: ended ? null : run.at,
      fork: run.origin?.fork ?? null,
      head: events.at(-1)?.link?.hash ?? '',
    },
  }
}
