import { refuse } from '../../../core/problem.js'
import { artifactIn, sequenceOf } from '../../../engine/queries/artifacts.js'
import { ArtifactAnswer } from '../../../wire/event.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

const NO_ARTIFACT = refuse('not_found', 'No such artifact, or it is not visible to this key.')

/** An artifact is named by the event that announced it; its content is what that event keeps from other readers. */
export const artifactRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/artifacts/{artifactId}',
    operation: 'getArtifact',
    summary: 'The content of an artifact',
    access: 'artifacts:read',
    recorded: { action: 'artifact.read', object: ({ runId, artifactId }) => `run:${runId}/${artifactId}` },
    responses: { 200: { description: 'The artifact', schema: ArtifactAnswer } },
    refusals: ['not_found'],
    async handle({ caller, params }) {
      const { runId, artifactId } = params
      const sequence = sequenceOf(artifactId)
      const events = sequence === undefined ? [] : await edge.engine.readEvents(caller.tenant, runId, sequence, 1)
      const artifact = artifactIn(events?.[0], artifactId)
      if (artifact === undefined) return problem(NO_ARTIFACT)
      const { artifactType, nodeId, at, content } = artifact
      const answer = { artifactId, artifactType, nodeId, createdAt: new Date(at).toISOString(), content }
      return json(200, answer, { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' })
    },
  }),
]
