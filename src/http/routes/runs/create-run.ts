import type { Json, JsonObject } from '../../../core/json.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import { unknownInputs } from '../../../core/workflow/unknown-inputs.js'
import type { CreateRun, InspectedRun, MakeResponse, RunRequest } from '../../../engine/api.js'
import { CreateRunBody, MAX_METADATA_BYTES, MAX_METADATA_DEPTH } from '../../../wire/run.js'
import { CreatedRunAnswer } from '../../../wire/trail/created-run.js'
import type { Caller } from '../../auth/key-cache.js'
import type { Edge } from '../../deps.js'
import { unavailableAnswer } from '../../framework-error.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { mockProviderRefusal } from '../../mock-provider.js'
import { type Call, type Route, route } from '../../route.js'
import { CAUSATION_CARRIER, causedBy } from '../../causation.js'
import { TRACE_HEADER, traceOf } from '../../trace-header.js'
import { explainFiles, putBack, takeIn } from './uploads.js'

export const createRun = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/runs',
    operation: 'createRun',
    summary: 'Start a run of a registered workflow, or of an agent',
    access: 'runs:create',
    body: CreateRunBody,
    formBytes: edge.config.workspace.maxFileBytes + edge.config.limits.maxRequestBodyBytes,
    idempotency: 'commit',
    headers: [
      { name: 'X-Dedup', description: '`enforce` refuses a second active run of the same scopeId' },
      { name: 'X-Force-Engine-Version', description: 'Test keys only' },
      TRACE_HEADER,
      CAUSATION_CARRIER,
    ],
    responses: { 201: { description: 'The run is durable and has started', schema: CreatedRunAnswer } },
    refusals: [
      'validation_error',
      'unknown_workflow',
      'unsupported_mock_provider',
      'unsupported_force_engine_version',
      'mock_provider_forbidden',
      'force_engine_version_forbidden',
      'run_already_active',
      'goal_invalid',
      'goal_closed',
      'goal_not_active',
      'goal_busy',
      'capability_required',
      'capability_not_provided',
      'workspace_too_large',
      'service_unavailable',
    ],
    handle(call) {
      const refusal = refusalOfRequest(edge, call)
      if (refusal !== undefined) return problem(refusal)
      return edge.idempotency.commit(call.keyed, response => createWithFiles(edge, call, response), renderCreated)
    },
  })

/** Files that came along are written first, and removed again where no run is made of them. */
async function createWithFiles(edge: Edge, call: Call<CreateRunBody>, response: MakeResponse | undefined) {
  const request = toCreateRun(edge, call)
  const taken = await takeIn(edge, call.caller, request.inputs, call.uploads)
  if ('code' in taken) return { ok: false, refusal: taken } as const
  const whole = { ...request, inputs: { ...request.inputs, ...taken.inputs } }
  const goalId = goalNamedIn(edge, call)
  const started =
    goalId === undefined ? edge.engine.create(whole, response) : edge.goals.contribute(goalId, whole, response)
  const answer = await started
  if (answer.ok) return answer
  await putBack(edge, call.caller, taken.files)
  return 'refusal' in answer ? { ...answer, refusal: explainFiles(answer.refusal, taken) } : answer
}

/** A run may have ended within its first commit; the protocol's answer still says how it began. */
export const createdBody = ({ runId, status }: InspectedRun) => ({
  runId,
  status: status === 'pending' || status.startsWith('waiting-') ? status : 'running',
  eventsUrl: `/v1/runs/${runId}/events`,
  statusUrl: `/v1/runs/${runId}`,
})

/** The protocol has inputs of any name accepted; whoever sent one that nothing takes is told. */
function warningsOf({ plan, state }: InspectedRun): { warnings?: string[] } {
  if (state.phase === 'absent') return {}
  const contexts = (state.gated?.gates ?? []).flatMap(({ gate }) => gate.context ?? [])
  const unknown = unknownInputs(plan.definition, Object.keys(state.started.inputs)).filter(
    name => !contexts.includes(`inputs.${name}`),
  )
  const told = unknown
    .slice(0, MOST_TOLD)
    .map(name => `inputs[${JSON.stringify(name)}]: nothing in the workflow takes it`)
  return told.length === 0 ? {} : { warnings: told }
}

const MOST_TOLD = 20

const renderCreated = (view: InspectedRun): HttpAnswer =>
  json(201, { ...createdBody(view), ...warningsOf(view) }, { location: `/v1/runs/${view.runId}` })

function refusalOfRequest(edge: Edge, call: Call<CreateRunBody>): Refusal | undefined {
  const { body, caller, request } = call
  const full = capacityRefusal(edge)
  if (full !== undefined) return full
  if (body.tenantId !== undefined && body.tenantId !== caller.account && body.tenantId !== caller.tenant) {
    return refuse('forbidden', 'body.tenantId is not the tenant of this key; leave it out.', { field: 'body.tenantId' })
  }
  return (
    unsupported(body) ??
    versionRefusal(edge, caller, request.headers['x-force-engine-version']) ??
    mockProviderRefusal(caller, body.configurable, edge.config.mockProviders) ??
    metadataRefusal(body.metadata, 'body.metadata') ??
    dedupRefusal(request.headers['x-dedup'], body.scopeId) ??
    goalRefusal(edge, call)
  )
}

/** A run that names a goal works for it, where there are goals (R-GOAL-14: without them it is only metadata). */
const goalNamedIn = ({ config }: Edge, { body }: Call<CreateRunBody>): string | undefined =>
  config.goals.enabled && body.metadata?.goalId !== undefined ? String(body.metadata.goalId) : undefined

function goalRefusal(edge: Edge, call: Call<CreateRunBody>): Refusal | undefined {
  if (goalNamedIn(edge, call) === undefined) return undefined
  const { body, caller, request } = call
  const field = 'body.metadata.goalId'
  if (typeof body.metadata?.goalId !== 'string')
    return refuse('goal_invalid', `${field} must be the id of a goal, as GET /v1/goals has it, or be left out.`, {
      field,
    })
  if (!caller.scopes.has('goals:write')) {
    const message = `A run that names a goal uses up one of its iterations, and this key lacks the scope goals:write; use one that has it, or leave ${field} out.`
    return refuse('forbidden', message, { scopeRequired: 'goals:write' })
  }
  if (request.headers['x-dedup'] === undefined) return undefined
  const message = `X-Dedup cannot be sent with ${field}: a goal has one contributing run at a time by itself. Leave the header out.`
  return refuse('validation_error', message, { field: 'X-Dedup' })
}

/** Whether the host takes one more run. */
export function capacityRefusal({ engine, config }: Edge): Refusal | undefined {
  const health = engine.health()
  if (!health.ok) return unavailableAnswer(config, 'The host is not taking new runs now; try again.')
  if (health.activeRuns < config.limits.maxActiveRuns) return undefined
  return unavailableAnswer(config, 'The host holds as many unfinished runs as it may; try again.')
}

function unsupported(body: CreateRunBody): Refusal | undefined {
  if (body.mode !== undefined) {
    return refuse('capability_not_provided', 'body.mode "eval" is not provided by this host; leave it out.')
  }
  for (const field of ['callbackUrl', 'residency', 'evalSuiteRef'] as const) {
    if (body[field] === undefined) continue
    return refuse('validation_error', `body.${field} is not supported by this host yet; leave it out.`, {
      field: `body.${field}`,
    })
  }
  if (body.workflowId === undefined || body.agentId === undefined) return undefined
  const message = 'body.workflowId and body.agentId cannot both be given: a run is of a workflow or of an agent.'
  return refuse('validation_error', message, { field: 'body.agentId' })
}

function versionRefusal(edge: Edge, caller: Caller, header: string | string[] | undefined): Refusal | undefined {
  if (header === undefined) return undefined
  if (!caller.test) return refuse('force_engine_version_forbidden', 'X-Force-Engine-Version needs a test key.')
  const { engineVersion } = edge.config
  if (header === String(engineVersion)) return undefined
  const range = { min: engineVersion, max: engineVersion }
  return refuse('unsupported_force_engine_version', `This host can only be forced to version ${engineVersion}.`, range)
}

export function metadataRefusal(metadata: JsonObject | undefined, field: string): Refusal | undefined {
  if (metadata === undefined) return undefined
  const bytes = Buffer.byteLength(JSON.stringify(metadata))
  if (bytes > MAX_METADATA_BYTES) {
    const message = `${field} takes ${bytes} bytes as JSON; the limit is ${MAX_METADATA_BYTES}. Move data into inputs.`
    return refuse('validation_error', message, { field, limit: MAX_METADATA_BYTES })
  }
  if (depthOf(metadata) <= MAX_METADATA_DEPTH) return undefined
  const message = `${field} nests deeper than ${MAX_METADATA_DEPTH} levels; flatten it.`
  return refuse('validation_error', message, { field, limit: MAX_METADATA_DEPTH })
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function dedupRefusal(header: string | string[] | undefined, scopeId: string | undefined): Refusal | undefined {
  if (header === undefined || (header === 'enforce' && scopeId !== undefined)) return undefined
  return header === 'enforce'
    ? refuse('validation_error', 'X-Dedup: enforce needs body.scopeId, which names what there may be one of.')
    : refuse('validation_error', 'X-Dedup must be "enforce" or left out.')
}

function toCreateRun(edge: Edge, call: Call<CreateRunBody>): CreateRun {
  const { workflowId, agentId } = call.body
  const request = toRequest(edge, call)
  // R-LIVE-24, R-MANIF-4. The schema of the body demands one of the two.
  return agentId === undefined
    ? { ...request, workflowId: workflowId as string }
    : { ...request, agentId, source: 'run-api' }
}

function toRequest({ config }: Edge, { body, caller, request }: Call<CreateRunBody>): RunRequest {
  return {
    tenant: caller.tenant,
    principal: caller.principal,
    scopes: [...caller.scopes].sort(),
    inputs: body.inputs ?? {},
    transport: 'rest',
    ...(body.configurable === undefined ? undefined : { configurable: body.configurable }),
    ...(body.tags === undefined ? undefined : { tags: body.tags }),
    ...(body.metadata === undefined ? undefined : { metadata: body.metadata }),
    ...(body.scopeId === undefined ? undefined : { scopeId: body.scopeId }),
    ...(body.assay?.memoryScope === undefined ? undefined : { memoryScope: body.assay.memoryScope }),
    ...(request.headers['x-dedup'] === 'enforce' ? { exclusiveScope: true } : undefined),
    ...traceOf(request),
    ...causedBy(request, caller, config.peers),
  }
}
