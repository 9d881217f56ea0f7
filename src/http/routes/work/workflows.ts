import { type Refusal, refuse } from '../../../core/problem.js'
import { schedulesOf } from '../../../core/workflow/triggers.js'
import type { Answer, WorkflowDoubts } from '../../../engine/api.js'
import type { WorkflowRecord } from '../../../engine/ports/workflows.js'
import {
  CheckWorkflowAnswer,
  ListWorkflowsAnswer,
  RegisteredWorkflowAnswer,
  WorkflowDefinitionBody,
} from '../../../wire/workflow.js'
import { lacksScope } from '../../auth/authenticator.js'
import type { Caller } from '../../auth/key-cache.js'
import type { Edge } from '../../deps.js'
import { etagMatches } from '../../etag.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

const NO_WORKFLOW = refuse('not_found', 'No such workflow, or it is not visible to this key.')

const WRITE_REFUSALS = [
  'validation_error',
  'capability_required',
  'schedule_horizon_exceeded',
  'quota_exceeded',
] as const

export const workflowRoutes = (edge: Edge): Route[] => [
  listWorkflows(edge),
  getWorkflow(edge),
  postWorkflow(edge),
  putWorkflow(edge),
  validateWorkflow(edge),
]

const listWorkflows = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/workflows',
    operation: 'listWorkflows',
    summary: 'Workflows this tenant can run',
    access: 'manifest:read',
    responses: { 200: { description: 'The workflows', schema: ListWorkflowsAnswer } },
    refusals: [],
    async handle({ caller }) {
      return json(200, { workflows: (await edge.engine.listWorkflows(caller.tenant)).map(renderRecord) })
    },
  })

const getWorkflow = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/workflows/{workflowId}',
    operation: 'getWorkflow',
    summary: 'A workflow definition, verbatim',
    access: 'manifest:read',
    headers: [{ name: 'If-None-Match', description: 'ETag of the definition the reader has' }],
    responses: {
      200: { description: 'The definition', schema: WorkflowDefinitionBody },
      304: { description: 'Unchanged' },
    },
    refusals: ['not_found'],
    async handle({ caller, params, request }) {
      const record = await edge.engine.getWorkflow(caller.tenant, params.workflowId)
      if (record === undefined) return problem(NO_WORKFLOW)
      const headers = { etag: `"${record.digest}"`, 'cache-control': 'private, no-cache' }
      if (etagMatches(request.headers['if-none-match'], headers.etag)) return { status: 304, body: '', headers }
      return { status: 200, body: record.definition, headers }
    },
  })

const postWorkflow = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/workflows',
    operation: 'registerWorkflow',
    summary: 'Register a workflow, or replace the one with its id',
    access: 'workflows:write',
    body: WorkflowDefinitionBody,
    idempotency: 'lease',
    responses: registered,
    refusals: WRITE_REFUSALS,
    handle: ({ caller, body }) => register(edge, caller, body),
  })

const putWorkflow = (edge: Edge): Route =>
  route({
    method: 'PUT',
    path: '/v1/workflows/{workflowId}',
    operation: 'replaceWorkflow',
    summary: 'Register or replace the workflow with this id',
    access: 'workflows:write',
    body: WorkflowDefinitionBody,
    idempotency: 'lease',
    responses: registered,
    refusals: WRITE_REFUSALS,
    handle({ caller, params, body }) {
      if (body.id === params.workflowId) return register(edge, caller, body)
      const message = `body.id must equal the id in the path, ${JSON.stringify(params.workflowId)}.`
      return problem(refuse('validation_error', message, { field: 'body.id' }))
    },
  })

const validateWorkflow = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/workflows:validate',
    operation: 'validateWorkflow',
    summary: 'Check a definition without storing it',
    access: 'workflows:write',
    body: WorkflowDefinitionBody,
    responses: { 200: { description: 'It could be registered', schema: CheckWorkflowAnswer } },
    refusals: WRITE_REFUSALS,
    async handle({ caller, body }) {
      const answer = await edge.engine.checkWorkflow(caller.tenant, body)
      if (!answer.ok) return problem(refusalIn(answer))
      return json(200, { valid: true, digest: answer.value.digest, ...warningsIn(answer.value) })
    },
  })

const registered = {
  201: { description: 'Registered', schema: RegisteredWorkflowAnswer },
  200: {
    description: 'Replaced; running runs keep the definition they started with',
    schema: RegisteredWorkflowAnswer,
  },
} as const

async function register(edge: Edge, caller: Caller, definition: WorkflowDefinitionBody): Promise<HttpAnswer> {
  // A schedule starts runs: whoever may not, may not have it done for them.
  const starts = schedulesOf(definition as Parameters<typeof schedulesOf>[0]).length > 0
  if (starts && !caller.scopes.has('runs:create')) return problem(lacksScope('runs:create'))
  const { tenant, principal, scopes } = caller
  const answer = await edge.engine.putWorkflow(tenant, definition, { principal, scopes: [...scopes] })
  if (!answer.ok) return problem(refusalIn(answer))
  const { record, created } = answer.value
  const body = { ...renderRecord(record), ...warningsIn(answer.value) }
  return json(created ? 201 : 200, body, { location: `/v1/workflows/${record.workflowId}` })
}

const warningsIn = ({ unknown, warnings }: WorkflowDoubts) =>
  unknown.length + warnings.length === 0 ? {} : { warnings: [...unknown, ...warnings] }

const renderRecord = (record: WorkflowRecord) => ({
  workflowId: record.workflowId,
  digest: record.digest,
  shared: record.tenant === null,
  updatedAt: new Date(record.updatedAt).toISOString(),
})

function refusalIn(answer: Extract<Answer<unknown>, { ok: false }>): Refusal {
  if ('refusal' in answer) return answer.refusal
  throw new Error('the engine gave a remembered response that was not asked for')
}
