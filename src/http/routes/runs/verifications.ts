import { refuse } from '../../../core/problem.js'
import { verificationsIn } from '../../../engine/queries/verifications.js'
import { renderConvergence } from '../../../wire/render-gates.js'
import { ListVerificationsAnswer, VerificationAnswer } from '../../../wire/verification.js'
import type { Edge } from '../../deps.js'
import { verificationAnswer, verificationSummary } from '../../documents/verification-doc.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/** What gates found in a run's results: content, so whoever may read artifacts may read it (R-SEC-2). */
export const verificationRoutes = (edge: Edge): Route[] => [listVerifications(edge), getVerification(edge)]

const PRIVATE = { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' }

const listVerifications = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/verifications',
    operation: 'listVerifications',
    summary: 'Every attempt of a run at a gate, in order, and whether the run reached its goal',
    access: 'artifacts:read',
    responses: { 200: { description: 'The attempts', schema: ListVerificationsAnswer } },
    refusals: ['not_found', 'run_expired'],
    async handle({ caller, params }) {
      const view = await edge.engine.inspect(caller.tenant, params.runId)
      const found = view && (await verificationsIn(edge.engine, caller.tenant, params.runId))
      if (view === undefined || found === undefined)
        return problem(await edge.engine.missing(caller.tenant, params.runId))
      const { state } = view
      const convergence = state.phase === 'absent' ? {} : renderConvergence(state)
      return json(200, { verifications: found.map(verificationSummary), ...convergence }, PRIVATE)
    },
  })

const getVerification = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/verifications/{number}',
    operation: 'getVerification',
    summary: 'Everything about one attempt: scores, findings, evidence, votes, feedback, cost',
    access: 'artifacts:read',
    responses: { 200: { description: 'The attempt', schema: VerificationAnswer } },
    refusals: ['not_found', 'run_expired'],
    async handle({ caller, params }) {
      const found = await verificationsIn(edge.engine, caller.tenant, params.runId)
      if (found === undefined) return problem(await edge.engine.missing(caller.tenant, params.runId))
      const one = found[Number(params.number) - 1]
      return one === undefined
        ? problem(noneOf(params.number, found.length))
        : json(200, verificationAnswer(one), PRIVATE)
    },
  })

function noneOf(number: string, count: number) {
  const known = count === 0 ? 'no gate has judged anything in it' : `it has 1 to ${count}`
  const message = `This run has no verification ${number}: ${known}. List them with GET /v1/runs/{runId}/verifications.`
  return refuse('not_found', message, { field: 'number', limit: count })
}
