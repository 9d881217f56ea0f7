import { refuse } from '../../../core/problem.js'
import { problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

const ABSENT = problem(
  refuse('capability_not_provided', 'Prompts are files of the project here; this host does not serve them.'),
)

const OPERATIONS = [
  ['GET', '/v1/prompts', 'listPrompts'],
  ['POST', '/v1/prompts', 'createPrompt'],
  ['POST', '/v1/prompts:render', 'renderPrompt'],
  ['GET', '/v1/prompts/{promptId}', 'getPrompt'],
  ['PUT', '/v1/prompts/{promptId}', 'replacePrompt'],
  ['DELETE', '/v1/prompts/{promptId}', 'removePrompt'],
] as const

/** A host that resolves prompts and does not serve them must say so (`prompts.endpointsSupported`). */
export const promptRoutes = (): Route[] =>
  OPERATIONS.map(([method, path, operation]) =>
    route({
      method,
      path,
      operation,
      summary: 'Not provided',
      access: 'manifest:read',
      responses: {},
      refusals: ['capability_not_provided'],
      handle: () => ABSENT,
    }),
  )
