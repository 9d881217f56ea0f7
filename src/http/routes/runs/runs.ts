import { refuse } from '../../../core/problem.js'
import type { RunStarted } from '../../../core/run/events.js'
import { HOST_WORKFLOW_IDS } from '../../../core/workflow/host-workflow-ids.js'
import type { RunRow } from '../../../engine/ports/run-index.js'
import { renderRow, renderSnapshot } from '../../../wire/render.js'
import { ListRunsAnswer, ListRunsQuery, RunSnapshot } from '../../../wire/run.js'
import { readCursor, writeCursor } from '../../cursor.js'
import type { Edge } from '../../deps.js'
import { childRunsOf, snapshotTag } from '../../documents/run-snapshot.js'
import { etagMatches } from '../../etag.js'
import { json, problem } from '../../http-answer.js'
import { interruptFor } from '../../interrupt-link.js'
import { type Route, route } from '../../route.js'
import { longJson } from '../../streaming/long-answer.js'
import { createRun } from './create-run.js'

export const runRoutes = (edge: Edge): Route[] => [createRun(edge), listRuns(edge), getRun(edge)]

const listRuns = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/runs',
    operation: 'listRuns',
    summary: "The tenant's runs, newest first",
    access: 'runs:read',
    query: ListRunsQuery,
    responses: { 200: { description: 'One page of runs', schema: ListRunsAnswer } },
    refusals: ['validation_error'],
    async handle({ caller, query }) {
      const { cursor, limit = 50, host, goalId, ...filters } = query
      const before = cursor === undefined ? undefined : readCursor(caller.tenant, cursor)
      if (cursor !== undefined && before === undefined) {
        const message = 'query.cursor is not one this list gave out; start again without it.'
        return problem(refuse('validation_error', message, { field: 'query.cursor' }))
      }
      // One more than asked for tells whether there is a next page.
      const asked = {
        ...filters,
        // The host's own runs are no work of the tenant's; whoever wants them says so.
        ...(host === 'true' || filters.workflowId !== undefined ? undefined : { except: HOST_WORKFLOW_IDS }),
        ...(before === undefined ? undefined : { before }),
        tenant: caller.tenant,
        limit: limit + 1,
      }
      const rows = await (goalId === undefined ? edge.engine.list(asked) : edge.goals.runsOf(goalId, asked))
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      const nextCursor = last === undefined ? null : writeCursor(caller.tenant, last.runId)
      const runs = await Promise.all(page.map(async row => renderRow(row, await gatedBy(edge, row))))
      return json(200, { runs, nextCursor })
    },
  })

/** Whose gates a worker's run has to pass is in its first event; a fork is nobody's worker. */
async function gatedBy({ engine }: Edge, { tenant, runId, parentRunId }: RunRow): Promise<RunStarted['gatedBy']> {
  if (parentRunId === null) return undefined
  const [first] = (await engine.readEvents(tenant, runId, 0, 1)) ?? []
  return first && (JSON.parse(first.payload) as RunStarted).gatedBy
}

const getRun = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/runs/{runId}',
    operation: 'getRun',
    summary: 'A run as it is now',
    access: 'runs:read',
    headers: [{ name: 'If-None-Match', description: 'ETag of the snapshot the reader has' }],
    responses: {
      200: { description: 'The snapshot', schema: RunSnapshot },
      304: { description: 'Unchanged' },
    },
    refusals: ['not_found', 'run_expired'],
    async handle({ caller, params, request }) {
      const view = await edge.engine.inspect(caller.tenant, params.runId)
      if (view === undefined) return problem(await edge.engine.missing(caller.tenant, params.runId))
      const children = await childRunsOf(edge.engine, view)
      const interrupt = interruptFor(edge, caller, view)
      const etag = snapshotTag(view, children, interrupt)
      const headers = { etag, 'cache-control': 'private, no-cache' }
      if (etagMatches(request.headers['if-none-match'], etag)) return { status: 304, body: '', headers }
      return longJson(edge, caller.tenant, renderSnapshot(view, children, interrupt), headers)
    },
  })
