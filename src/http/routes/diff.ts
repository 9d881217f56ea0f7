import type { Json, JsonObject } from '../../core/json.js'
import { isNamed } from '../../core/names.js'
import { type ComparedEvent, diffLogs, diffStates, type EventDiff } from '../../core/replay/diff.js'
import type { InspectedRun } from '../../engine/api.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import { DiffAnswer, DiffQuery, MAX_EVENT_DIFFS } from '../../wire/diff.js'
import { renderEvent, renderSnapshot } from '../../wire/render.js'
import type { Edge } from '../deps.js'
import { type HttpAnswer, problem } from '../http-answer.js'
import { type Route, route } from '../route.js'

export const diffRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/runs/{runId}:diff',
    operation: 'diffRuns',
    summary: 'Where two runs differ, by their logs and by the state they are in',
    access: 'runs:read',
    query: DiffQuery,
    responses: { 200: { description: 'The differences', schema: DiffAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired'],
    async handle({ caller, params, query }) {
      const a = await readRun(edge, caller.tenant, params.runId)
      const b = isNamed('runId', query.against) ? await readRun(edge, caller.tenant, query.against) : undefined
      if (a !== undefined && b !== undefined) return rendered(edge, a, b)
      return problem(await edge.engine.missing(caller.tenant, a === undefined ? params.runId : query.against))
    },
  }),
]

type Entry = ComparedEvent & { readonly stored: StoredEvent }
type Read = { readonly view: InspectedRun; readonly events: readonly Entry[]; readonly ended: boolean }

async function readRun({ engine }: Edge, tenant: string, runId: string): Promise<Read | undefined> {
  const view = await engine.inspect(tenant, runId)
  const stored = view && (await engine.readEvents(tenant, runId, 0))
  if (view === undefined || stored === undefined) return undefined
  // The log may have grown since the view was taken; the two must tell of the same moment.
  const length = view.state.phase === 'absent' ? 0 : view.state.next
  return { view, events: stored.slice(0, length).map(entry), ended: view.state.phase === 'ended' }
}

const entry = (stored: StoredEvent): Entry => ({
  sequence: stored.sequence,
  type: stored.type,
  nodeId: stored.nodeId ?? undefined,
  payload: JSON.parse(stored.payload) as Json,
  stored,
})

function rendered(edge: Edge, a: Read, b: Read): HttpAnswer {
  const { divergedAtSeq, eventDiffs, truncated } = diffLogs(a, b, MAX_EVENT_DIFFS)
  const docOf = ({ view }: Read, { stored }: Entry) => renderEvent(view.runId, stored, edge)
  const diffText = (diff: EventDiff<Entry>) =>
    [
      `{"seq":${diff.seq},"op":"${diff.op}"`,
      ...(diff.op === 'added' ? [] : [`"aEvent":${docOf(a, diff.a)}`]),
      ...(diff.op === 'removed' ? [] : [`"bEvent":${docOf(b, diff.b)}`]),
    ].join(',')
  const stateDiff = JSON.stringify(diffStates(stateOf(a), stateOf(b)))
  const diffs = eventDiffs.map(diff => `${diffText(diff)}}`).join(',')
  const body = `{"a":"${a.view.runId}","b":"${b.view.runId}","divergedAtSeq":${divergedAtSeq},"eventDiffs":[${diffs}],"stateDiff":${stateDiff}${truncated ? ',"truncated":true' : ''}}`
  return { status: 200, body, headers: { 'cache-control': 'no-store' } }
}

/** As a snapshot shows it, so that what is masked there is masked here. */
const stateOf = ({ view }: Read): JsonObject => {
  const { status, variables = {}, channels = {} } = renderSnapshot(view)
  return { status, variables, channels }
}
