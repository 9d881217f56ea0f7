import { PublicKeysAnswer, ReceiptAnswer } from '../../../wire/audit.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/** What a host says of a run for others to keep, and the keys by which they check it. */
export const receiptRoutes = (edge: Edge): Route[] => [getReceipt(edge), listPublicKeys(edge)]

const getReceipt = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/receipt',
    operation: 'getRunReceipt',
    summary:
      'How a run has ended and what its gates have said, without content, signed: anyone with the public key checks it',
    access: 'runs:read',
    responses: { 200: { description: 'The receipt; every byte of it counts', schema: ReceiptAnswer } },
    refusals: ['not_found', 'run_expired', 'run_not_ended', 'receipt_refused'],
    async handle({ caller, params }) {
      const issued = await edge.receipts.issue(caller.tenant, params.runId)
      if (!issued.ok) return problem(issued.refusal)
      const headers = { 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' }
      return { status: 200, body: issued.value, headers }
    },
  })

const listPublicKeys = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/audit/keys',
    operation: 'listPublicKeys',
    summary: 'The public keys that receipts and checkpoints are checked with',
    access: 'authenticated',
    responses: { 200: { description: 'A JWK set', schema: PublicKeysAnswer } },
    refusals: [],
    async handle() {
      return json(200, { keys: await edge.receipts.publicKeys() }, { 'cache-control': 'no-store' })
    },
  })
