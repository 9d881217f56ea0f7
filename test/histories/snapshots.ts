import type { Json, JsonObject } from '../../src/core/json.js'
import { evolve } from '../../src/core/run/evolve.js'
import { type RunState, statusOf } from '../../src/core/run/state.js'
import { compile, isPlan } from '../../src/core/workflow/compile.js'
import type { WorkflowDefinition } from '../../src/core/workflow/definition.js'
import { coreNodeTypes } from '../../src/core/workflow/nodes/registry.js'
import type { Plan } from '../../src/core/workflow/plan.js'
import type { StoredEvent } from '../../src/engine/ports/event-log.js'
import { decode } from '../../src/engine/log/encode.js'
import { waitingFor } from '../../src/http/documents/run-snapshot.js'
import { renderSnapshot } from '../../src/wire/render.js'
import type { History, RecordedAppend, SnapshotChange } from './history.js'
import { runsOf } from './history.js'

/** The whole log of a run: what it shares with its source, then its own. */
export function wholeLog(history: History, run: RecordedAppend): readonly StoredEvent[] {
  const fork = run.create?.fork
  if (!fork) return run.events
  const source = runsOf(history).find(({ runId }) => runId === fork.sourceRunId)!
  return [...wholeLog(history, source).slice(0, fork.fromSeq), ...run.events]
}

export function planOf(history: History, run: RecordedAppend): Plan {
  const definition = JSON.parse(history.definitions[run.create!.workflowDigest]!) as WorkflowDefinition
  const nodeTypes = new Map(coreNodeTypes.map(type => [type.typeId, type]))
  const plan = compile(definition, run.create!.workflowDigest, {
    nodeTypes,
    capabilities: new Set(['assay.conformance']),
    accepted: true,
  })
  if (!isPlan(plan)) throw new Error(`${definition.id} does not compile: ${plan.message}`)
  return plan
}

/** What the log of a run folds to, event by event. */
export function statesOf(history: History, run: RecordedAppend, plan = planOf(history, run)): readonly RunState[] {
  const fork = run.create?.fork
  let state: RunState = fork ? { phase: 'absent', fork } : { phase: 'absent' }
  return wholeLog(history, run).map(row => (state = evolve(plan, state, decode(run.runId, row))))
}

/** What a reader sees of the run after each of its events. Which children it has is not told by its own log. */
export function snapshotsOf(history: History, run: RecordedAppend): readonly JsonObject[] {
  const plan = planOf(history, run)
  const { runId, create } = run
  return statesOf(history, run, plan).map(state => {
    const view = { runId, tenant: create!.tenant, state, status: statusOf(state), plan }
    return JSON.parse(JSON.stringify(renderSnapshot(view, [], waitingFor(view)))) as JsonObject
  })
}

/** Each snapshot as what has changed since the one before. */
export function changesOf(snapshots: readonly JsonObject[]): readonly SnapshotChange[] {
  let before: JsonObject = {}
  return snapshots.map(snapshot => {
    const isOther = (key: string) => JSON.stringify(before[key]) !== JSON.stringify(snapshot[key])
    const set = Object.fromEntries(Object.entries(snapshot).filter(([key]) => isOther(key)))
    const unset = Object.keys(before).filter(key => snapshot[key] === undefined)
    before = snapshot
    return { set, ...(unset.length > 0 ? { unset } : {}) }
  })
}

/** And back again. */
export function snapshotsFrom(changes: readonly SnapshotChange[]): readonly JsonObject[] {
  let snapshot: { [key: string]: Json } = {}
  return changes.map(({ set, unset = [] }) => {
    snapshot = Object.fromEntries(Object.entries({ ...snapshot, ...set }).filter(([key]) => !unset.includes(key)))
    return snapshot
  })
}
