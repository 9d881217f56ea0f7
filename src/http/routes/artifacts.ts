import { refuse } from '../../core/problem.js'
import { ArtifactAnswer } from '../../wire/event.js'
import type { Edge } from '../deps.js'
import { json, problem } from '../http-answer.js'
import { type Route, route } from '../route.js'

const NO_ARTIFACT = refuse('not_found', 'No such artifact, or it is not visible to this key.')

/** An artifact is named by the event that announced it; its content is what that event keeps from other readers. */
export const artifactRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/artifacts/{artifactId}',
    operation: 'getArtifact',
    summary: 'The content of an artifact',
    access: 'artifacts:read',
    responses: { 200: { description: 'The artifact', schema: ArtifactAnswer } },
    refusals: ['not_found'],
    async handle({ caller, params }) {
      const sequence = Number(params.artifactId.slice('art-'.length))
      const events = await edge.engine.readEvents(caller.tenant, params.runId, sequence)
      const event = events?.[0]
      if (event === undefined || event.sequence !== sequence || event.type !== 'artifact.created') {
        return problem(NO_ARTIFACT)
      }
      const { artifactType } = JSON.parse(event.payload) as { artifactType: string }
      const { content = null } = JSON.parse(event.secret ?? '{}') as { content?: unknown }
      const createdAt = new Date(event.at).toISOString()
      const answer = { artifactId: params.artifactId, artifactType, nodeId: event.nodeId, createdAt, content }
      return json(200, answer, { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' })
    },
  }),
]
