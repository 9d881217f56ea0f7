import { refuse } from '../../../core/problem.js'
import { problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

const ABSENT = problem(refuse('capability_not_provided', 'This host does not keep annotations of runs.'))

/** The protocol wants to hear that they are not here, rather than that the path is unknown (contract core §2). */
export const annotationRoutes = (): Route[] =>
  (['GET', 'POST'] as const).map(method =>
    route({
      method,
      path: '/v1/runs/{runId}/annotations',
      operation: method === 'GET' ? 'listAnnotations' : 'annotateRun',
      summary: 'Not provided',
      access: 'runs:read',
      responses: {},
      refusals: ['capability_not_provided'],
      handle: () => ABSENT,
    }),
  )
