import { isNamed } from '../../../core/names.js'
import { NO_RUN, type Refusal, refuse } from '../../../core/problem.js'
import type { InspectedRun, RunCommand } from '../../../engine/api.js'
import {
  BulkCancelAnswer,
  BulkCancelBody,
  CancelAnswer,
  CancelBody,
  MAX_BULK_RUNS,
  PauseAnswer,
  PauseBody,
  ResumeAnswer,
  ResumeBody,
} from '../../../wire/run.js'
import type { Caller } from '../../auth/key-cache.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, json } from '../../http-answer.js'
import { type Call, type Route, route } from '../../route.js'

export const runControlRoutes = (edge: Edge): Route[] => [
  cancel(edge, '/v1/runs/{runId}/cancel', 'cancelRun'),
  cancel(edge, '/v1/runs/{runId}:cancel', 'cancelRunAlias'),
  bulkCancel(edge),
  pause(edge),
  resume(edge),
]

const because = (reason: string | undefined) => (reason === undefined ? undefined : { reason })

function command(
  edge: Edge,
  { caller, params, keyed }: Call,
  asked: RunCommand,
  render: (view: InspectedRun) => HttpAnswer,
) {
  return edge.idempotency.commit(
    keyed,
    response => edge.engine.command(caller.tenant, params.runId, asked, response),
    render,
  )
}

const cancel = (edge: Edge, path: string, operation: string): Route =>
  route({
    method: 'POST',
    path,
    operation,
    summary: 'Cancel a run and its children',
    access: 'runs:cancel',
    body: CancelBody,
    bodyOptional: true,
    idempotency: 'commit',
    endpoint: 'POST /v1/runs/{runId}/cancel',
    responses: { 200: { description: 'Cancelled, being cancelled, or how it had ended before', schema: CancelAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired'],
    handle: call =>
      command(edge, call, cancelCommand(call.caller, call.body.reason), view =>
        json(200, { runId: view.runId, status: cancelStatus(view) }),
      ),
  })

const cancelCommand = (caller: Caller, reason: string | undefined): RunCommand => ({
  type: 'cancel',
  by: caller.principal,
  ...because(reason),
})

const HAS_ENDED = ['completed', 'failed', 'cancelled']

const cancelStatus = ({ status }: InspectedRun): string => (HAS_ENDED.includes(status) ? status : 'cancelling')

const bulkCancel = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/runs:bulk-cancel',
    operation: 'bulkCancelRuns',
    summary: `Cancel up to ${MAX_BULK_RUNS} runs, each on its own`,
    access: 'runs:cancel',
    recorded: { action: 'runs.bulk-cancel', object: () => '-' },
    body: BulkCancelBody,
    idempotency: 'lease',
    responses: { 200: { description: 'One result per id, in the order asked', schema: BulkCancelAnswer } },
    refusals: ['validation_error'],
    async handle({ caller, body }) {
      const results = await Promise.all(body.runIds.map(runId => cancelOne(edge, caller, runId, body.reason)))
      return json(200, { results })
    },
  })

async function cancelOne(edge: Edge, caller: Caller, runId: string, reason: string | undefined): Promise<object> {
  if (!isNamed('runId', runId)) return notCancelled(runId, NO_RUN)
  const answer = await edge.engine.command(caller.tenant, runId, cancelCommand(caller, reason))
  if ('replay' in answer) throw new Error('the engine gave a remembered response that was not asked for')
  if (!answer.ok) return notCancelled(runId, answer.refusal)
  const status = cancelStatus(answer.value)
  if (status === 'cancelling' || status === 'cancelled') return { runId, ok: true, status }
  return notCancelled(runId, refuse('run_terminal', `the run has already ${status}; nothing is left to cancel`))
}

const notCancelled = (runId: string, { code, message }: Refusal) => ({ runId, ok: false, error: { code, message } })

const pause = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/runs/{runId}:pause',
    operation: 'pauseRun',
    summary: 'Pause a run, at once or after its current nodes',
    access: 'runs:cancel',
    body: PauseBody,
    bodyOptional: true,
    idempotency: 'commit',
    responses: { 202: { description: 'Paused, or pausing', schema: PauseAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired', 'run_paused', 'run_terminal', 'run_not_pausable'],
    handle: call => {
      const { drainPolicy = 'drain-current-node', reason } = call.body
      return command(edge, call, { type: 'pause', drainPolicy, ...because(reason) }, view =>
        json(202, { runId: view.runId, status: 'paused', pausedAt: pausedAt(view) }),
      )
    },
  })

const resume = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/runs/{runId}:resume',
    operation: 'resumeRun',
    summary: 'Go on with a paused run',
    access: 'runs:cancel',
    body: ResumeBody,
    bodyOptional: true,
    idempotency: 'commit',
    responses: { 202: { description: 'Running again', schema: ResumeAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired', 'run_not_paused', 'run_terminal'],
    handle: call =>
      command(edge, call, { type: 'resume', ...because(call.body.reason) }, view =>
        json(202, { runId: view.runId, status: 'running', resumedAt: lastAt(view) }),
      ),
  })

const pausedAt = (view: InspectedRun): string =>
  view.state.phase === 'active' && view.state.mode.kind === 'paused'
    ? new Date(view.state.mode.at).toISOString()
    : lastAt(view)

const lastAt = ({ state }: InspectedRun): string => new Date(state.phase === 'absent' ? 0 : state.lastAt).toISOString()
