import { RUN_BEGAN, STREAM_WORKFLOWS, type StreamRunBegan } from '../../core/standing/stream.js'
import type { Commit, StreamAppend } from '../../engine/ports/event-log.js'
import type { Tables } from './tables.js'

type Began = { readonly streamId: string; readonly rows: readonly StreamRunBegan[] }

/** What the triggers on events do in SQL (S16): the rows after this append, or the reason why it is not written. */
export function streamRunsAfter(tables: Tables, commit: Commit, { runId, events, create }: StreamAppend): Began[] {
  const begun = events
    .filter(({ type }) => type === RUN_BEGAN)
    .map(({ payload }) => JSON.parse(payload) as StreamRunBegan)
  if (begun.length === 0) return []
  const stream = create ?? tables.runs.get(runId)
  const tenants = new Map(commit.streams.flatMap(one => (one.create ? [[one.runId, one.create.tenant]] : [])))
  const first = (create ? events[0] : tables.events.get(runId)?.[0])?.payload ?? '{}'
  const { bounds } = JSON.parse(first) as { readonly bounds?: { readonly maxLoopIterations?: number } }
  let rows = tables.streamRuns.get(runId) ?? []
  for (const one of begun) {
    const tenant = tenants.get(one.runId) ?? tables.runs.get(one.runId)?.tenant
    if (!stream || !STREAM_WORKFLOWS.includes(stream.workflowId) || tenant !== stream.tenant) throw failed('begin')
    if (one.role === 'work' && one.ordinal > (bounds?.maxLoopIterations ?? one.ordinal)) throw failed('bound')
    const alike = rows.filter(({ role }) => role === one.role)
    if (one.ordinal !== alike.length + 1) throw failed('dense')
    if (one.tick !== undefined && alike.some(({ tick }) => tick === one.tick)) throw failed('tick')
    const all = [...rows, ...[...tables.streamRuns.values()].flat()]
    if (all.some(other => other.runId === one.runId)) throw failed('run_id')
    rows = [...rows, one]
  }
  return [{ streamId: runId, rows }]
}

const failed = (what: string): Error => new Error(`constraint failed: stream_runs_${what}`)
