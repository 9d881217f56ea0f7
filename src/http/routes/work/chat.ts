import type { Answer, CreateRun, InspectedRun, MakeResponse } from '../../../engine/api.js'
import { ChatAnswer, ChatBody } from '../../../wire/run.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, problem } from '../../http-answer.js'
import { type Mentioned, mentionIn } from '../../mention.js'
import { mockProviderRefusal } from '../../mock-provider.js'
import { type Call, type Route, route } from '../../route.js'
import { TRACE_HEADER, traceOf } from '../../trace-header.js'
import { capacityRefusal, createdBody } from '../runs/create-run.js'

/** R-LIVE-23, R-LIVE-25: a message to an agent is a run of that agent, like any other. */
export const chatRoutes = (edge: Edge): Route[] => [chat(edge)]

const chat = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/host/assay/chat',
    operation: 'chat',
    summary: 'Give work to the agent that a message mentions',
    access: 'runs:create',
    body: ChatBody,
    idempotency: 'commit',
    headers: [TRACE_HEADER],
    responses: { 201: { description: 'The run is durable and has started', schema: ChatAnswer } },
    refusals: ['validation_error', 'unsupported_mock_provider', 'mock_provider_forbidden', 'service_unavailable'],
    handle(call) {
      const { body, caller } = call
      const refusal = capacityRefusal(edge) ?? mockProviderRefusal(caller, body.configurable, edge.config.mockProviders)
      if (refusal !== undefined) return problem(refusal)
      let agentId = ''
      // Looked up only by the request that starts the run: a repetition is answered as before, whoever is known by then.
      const start = async (response: MakeResponse | undefined): Promise<Answer<InspectedRun>> => {
        const mentioned = mentionIn(
          body.message,
          edge.agents.list().map(agent => agent.agentId),
        )
        if ('code' in mentioned) return { ok: false, refusal: mentioned }
        agentId = mentioned.agentId
        return edge.engine.create(toCreateRun(call, mentioned), response)
      }
      return edge.idempotency.commit(call.keyed, start, view => renderStarted(view, agentId, body.conversationId))
    },
  })

const toCreateRun = ({ body, caller, request }: Call<ChatBody>, { agentId, task }: Mentioned): CreateRun => ({
  tenant: caller.tenant,
  principal: caller.principal,
  scopes: [...caller.scopes].sort(),
  agentId,
  source: 'chat-mention',
  inputs: { task },
  transport: 'rest',
  ...traceOf(request),
  ...(body.configurable === undefined ? undefined : { configurable: body.configurable }),
  ...(body.conversationId === undefined ? undefined : { scopeId: body.conversationId }),
})

const renderStarted = (view: InspectedRun, agentId: string, conversationId: string | undefined): HttpAnswer => ({
  status: 201,
  body: JSON.stringify({ ...createdBody(view), agentId, ...(conversationId !== undefined && { conversationId }) }),
  headers: { location: `/v1/runs/${view.runId}` },
})
