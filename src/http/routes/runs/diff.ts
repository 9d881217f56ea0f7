import type { Json, JsonObject } from '../../../core/json.js'
import { isNamed } from '../../../core/names.js'
import {
  type ComparedEvent,
  diffStates,
  type EventDiff,
  LogComparison,
  type LogDiff,
} from '../../../core/replay/diff.js'
import type { InspectedRun } from '../../../engine/api.js'
import type { StoredEvent } from '../../../engine/ports/event-log.js'
import { CompareAnswer, DiffAnswer, DiffQuery, MAX_DIFF_CHARACTERS, MAX_EVENT_DIFFS } from '../../../wire/diff.js'
import { renderEvent, renderSnapshot } from '../../../wire/render.js'
import type { Edge } from '../../deps.js'
import { comparisonOf } from '../../documents/run-comparison.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { pagedLog } from '../../streaming/paged-log.js'
import { isOver, lengthOf } from '../../streaming/poll.js'

export const diffRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/host/assay/runs/{runId}/comparison',
    operation: 'compareRuns',
    summary: 'What two runs with a common past did after it, step by step, how they ended, and what each has cost',
    access: 'runs:read',
    query: DiffQuery,
    responses: { 200: { description: 'The comparison', schema: CompareAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired'],
    handle: ({ caller, params, query }) =>
      withBoth(edge, caller.tenant, params.runId, query.against, async (a, b) =>
        json(200, await comparisonOf(edge, a, b), { 'cache-control': 'no-store' }),
      ),
  }),
  route({
    method: 'GET',
    path: '/v1/runs/{runId}:diff',
    operation: 'diffRuns',
    summary: 'Where two runs differ, by their logs and by the state they are in',
    access: 'runs:read',
    query: DiffQuery,
    responses: { 200: { description: 'The differences', schema: DiffAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired'],
    handle: ({ caller, params, query }) =>
      withBoth(edge, caller.tenant, params.runId, query.against, (a, b) => rendered(edge, a, b)),
  }),
]

async function withBoth(
  { engine }: Edge,
  tenant: string,
  runId: string,
  against: string,
  answer: (a: InspectedRun, b: InspectedRun) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const a = await engine.inspect(tenant, runId)
  const b = isNamed('runId', against) ? await engine.inspect(tenant, against) : undefined
  if (a !== undefined && b !== undefined) return answer(a, b)
  return problem(await engine.missing(tenant, a === undefined ? runId : against))
}

type Entry = ComparedEvent & { readonly stored: StoredEvent }

/** What two runs say must be of the moment at which they were looked at, however long their logs are by now. */
const comparedLog = (view: InspectedRun) => ({ length: lengthOf(view), ended: isOver(view) })

const entry = (stored: StoredEvent): Entry => ({
  sequence: stored.sequence,
  type: stored.type,
  nodeId: stored.nodeId ?? undefined,
  payload: JSON.parse(stored.payload) as Json,
  stored,
})

/** Reads both logs page by page, side by side; of what is the same in both nothing is kept. */
async function compared(edge: Edge, a: InspectedRun, b: InspectedRun): Promise<LogDiff<Entry>> {
  let characters = 0
  const comparison = new LogComparison<Entry>(comparedLog(a), comparedLog(b), (diff, listed) => {
    characters += sizeOf('a' in diff ? diff.a : undefined) + sizeOf('b' in diff ? diff.b : undefined)
    return listed < MAX_EVENT_DIFFS && (listed === 0 || characters <= MAX_DIFF_CHARACTERS)
  })
  const logs = [a, b].map(view => ({ length: lengthOf(view), events: pagedLog(edge, view, 0) }))
  try {
    for (let seq = 0; seq < comparison.length; seq += 1) {
      const [ours, theirs] = await Promise.all(
        logs.map(async ({ length, events }) => (seq < length ? (await events.next()).value : undefined)),
      )
      if (!comparison.compare(seq, ours && entry(ours), theirs && entry(theirs))) break
    }
  } finally {
    for (const { events } of logs) await events.return(undefined)
  }
  return comparison.found
}

const sizeOf = (event: Entry | undefined): number => event?.stored.payload.length ?? 0

async function rendered(edge: Edge, a: InspectedRun, b: InspectedRun): Promise<HttpAnswer> {
  const { divergedAtSeq, eventDiffs, truncated } = await compared(edge, a, b)
  const docOf = ({ runId }: InspectedRun, { stored }: Entry) => renderEvent(runId, stored, edge)
  const diffText = (diff: EventDiff<Entry>) =>
    [
      `{"seq":${diff.seq},"op":"${diff.op}"`,
      ...(diff.op === 'added' ? [] : [`"aEvent":${docOf(a, diff.a)}`]),
      ...(diff.op === 'removed' ? [] : [`"bEvent":${docOf(b, diff.b)}`]),
    ].join(',')
  const stateDiff = JSON.stringify(diffStates(stateOf(a), stateOf(b)))
  const diffs = eventDiffs.map(diff => `${diffText(diff)}}`).join(',')
  const body = `{"a":"${a.runId}","b":"${b.runId}","divergedAtSeq":${divergedAtSeq},"eventDiffs":[${diffs}],"stateDiff":${stateDiff}${truncated ? ',"truncated":true' : ''}}`
  return { status: 200, body, headers: { 'cache-control': 'no-store' } }
}

/** As a snapshot shows it, so that what is masked there is masked here. */
const stateOf = (view: InspectedRun): JsonObject => {
  const { status, variables = {}, channels = {} } = renderSnapshot(view)
  return { status, variables, channels }
}
