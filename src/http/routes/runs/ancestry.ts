import { type Parent, parentOf } from '../../../engine/queries/ancestry.js'
import { AncestryAnswer } from '../../../wire/run.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/** R-XHOST-10: where it is not advertised, there is no such path. */
export const ancestryRoutes = (edge: Edge): Route[] => (edge.config.ancestry ? [getAncestry(edge)] : [])

const getAncestry = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/ancestry',
    operation: 'getRunAncestry',
    summary: 'The run that has started this one; ask again for its own',
    access: 'runs:read',
    responses: { 200: { description: 'The immediate parent, or null', schema: AncestryAnswer } },
    refusals: ['not_found', 'run_expired'],
    // R-XHOST-12: asked for as the run itself is.
    async handle({ caller, params: { runId } }) {
      const { hostId } = edge.config
      const parent = await parentOf(edge.engine, caller.tenant, runId)
      if (parent === undefined) return problem(await edge.engine.missing(caller.tenant, runId))
      // R-XHOST-9, R-XHOST-11: discovery is named of another host, and of none else.
      return json(200, { runId, hostId, parent: parent && { hostId, ...parentDoc(edge, parent) } })
    },
  })

/** Where a peer can be asked now; or, where it is none any more, where it could be asked when the run began. */
function parentDoc({ config }: Edge, { runId, cause, foreign }: Parent) {
  if (foreign === undefined) return { runId, cause }
  const { hostId } = foreign
  const { wellKnownUrl } = config.peers.find(peer => peer.hostId === hostId) ?? foreign
  return { runId, hostId, cause, wellKnownUrl }
}
