import type { JsonObject } from '../../../core/json.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import type { ForkRun, InspectedRun } from '../../../engine/api.js'
import { ForkAnswer, ForkBody } from '../../../wire/run.js'
import { lacksScope } from '../../auth/authenticator.js'
import type { Caller } from '../../auth/key-cache.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { mockProviderRefusal } from '../../mock-provider.js'
import { type Call, type Route, route } from '../../route.js'
import { TRACE_HEADER, traceOf } from '../../trace-header.js'
import { capacityRefusal, metadataRefusal } from './create-run.js'

export const forkRoutes = (edge: Edge): Route[] => [
  route({
    method: 'POST',
    path: '/v1/runs/{runId}:fork',
    operation: 'forkRun',
    summary: 'Replay a run from its log, or branch off from it; a branch repeats real effects',
    access: 'runs:create',
    alsoNeeds: 'runs:read',
    body: ForkBody,
    idempotency: 'commit',
    headers: [TRACE_HEADER],
    responses: { 201: { description: 'The fork is durable and has started', schema: ForkAnswer } },
    refusals: [
      'validation_error',
      'forbidden',
      'unsupported_mock_provider',
      'mock_provider_forbidden',
      'not_found',
      'run_expired',
      'invalid_from_seq',
      'replay_memory_snapshot_unavailable',
      'service_unavailable',
    ],
    handle(call) {
      const refusal = capacityRefusal(edge) ?? refusalOf(edge, call.caller, call.body)
      if (refusal !== undefined) return problem(refusal)
      const request = toForkRun(call)
      return edge.idempotency.commit(call.keyed, response => edge.engine.fork(request, response), rendered(request))
    },
  }),
]

const OVERLAY = 'body.runOptionsOverlay'
const SET = 'body.assay.set'

function refusalOf(
  edge: Edge,
  caller: Caller,
  { mode, fromSeq, runOptionsOverlay = {}, assay: { set = {}, memoryAsOf } = {} }: ForkBody,
): Refusal | undefined {
  if (mode === 'replay') {
    const given = [
      ...(Object.keys(runOptionsOverlay).length > 0 ? [OVERLAY] : []),
      ...(hasNames(set) ? [SET] : []),
      ...(memoryAsOf === undefined ? [] : ['body.assay.memoryAsOf']),
    ]
    const [field] = given
    if (field === undefined) return undefined
    const message = `${field} is for a branch; a replay does what its source did. Leave it out, or fork with mode branch.`
    return refuse('validation_error', message, { field })
  }
  // Whoever changes a workflow for one run must be allowed to change it for all.
  if (Object.keys(set).some(name => name.startsWith('nodes.')) && !caller.scopes.has('workflows:write'))
    return lacksScope('workflows:write')
  if (fromSeq === undefined) {
    const message = 'body.fromSeq is required for a branch; add the sequence of the first event that is not shared.'
    return refuse('validation_error', message, { field: 'body.fromSeq' })
  }
  return (
    mockProviderRefusal(caller, runOptionsOverlay.configurable, edge.config.mockProviders, OVERLAY) ??
    metadataRefusal(runOptionsOverlay.metadata, `${OVERLAY}.metadata`)
  )
}

const hasNames = (set: JsonObject | undefined): set is JsonObject => set !== undefined && Object.keys(set).length > 0

const toForkRun = ({ caller, params, body, request }: Call<ForkBody>): ForkRun => ({
  tenant: caller.tenant,
  scopes: [...caller.scopes].sort(),
  runId: params.runId,
  mode: body.mode,
  fromSeq: body.fromSeq ?? 0,
  ...(body.runOptionsOverlay === undefined ? {} : { overlay: body.runOptionsOverlay }),
  ...(hasNames(body.assay?.set) ? { set: body.assay.set } : {}),
  ...(body.assay?.memoryAsOf === undefined ? {} : { memoryAsOf: body.assay.memoryAsOf }),
  ...traceOf(request),
})

const rendered =
  ({ runId: sourceRunId, fromSeq, mode }: ForkRun) =>
  ({ runId, status }: InspectedRun): HttpAnswer => {
    const eventsUrl = `/v1/runs/${runId}/events`
    return json(201, { runId, sourceRunId, fromSeq, mode, status, eventsUrl }, { location: `/v1/runs/${runId}` })
  }
