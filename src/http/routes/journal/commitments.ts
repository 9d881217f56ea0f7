import type { CommitmentArm } from '../../../core/commitment/decide.js'
import type { Commitment } from '../../../core/commitment/state.js'
import { workOf } from '../../../core/goal/goal-document.js'
import type { JsonObject } from '../../../core/json.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import {
  CommitmentAnswer,
  ListCommitmentsAnswer,
  ListCommitmentsQuery,
  MakeCommitmentBody,
} from '../../../wire/journal/commitment.js'
import { readCursor, writeCursor } from '../../cursor.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { switchedOff } from './moment.js'

/** Entries of memory that ask for a run (R-ARM-4, docs/design/arm.md). Where there is no memory there are none. */
export const commitmentRoutes = (edge: Edge): Route[] => {
  const rows = [makeCommitment(edge), listCommitments(edge), getCommitment(edge), cancelCommitment(edge)]
  return edge.config.memory.enabled ? rows : rows.map(row => ({ ...row, ...ABSENT, handle: () => OFF }))
}

const OFF = switchedOff('memory.enabled', 'memory')
/** Before anything is looked at. */
const ABSENT = { lateBody: true, lateQuery: true } as const
const OPTIONAL = 'capability_not_provided'
const PATH = '/v1/host/assay/commitments'
const NO_COMMITMENT = refuse(
  'not_found',
  `No such commitment, or not visible to this key; GET ${PATH} lists those there are.`,
)

const makeCommitment = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: PATH,
    operation: 'makeCommitment',
    summary: 'Write an entry of memory that asks for a run, at a time or when something holds; it fires once at most',
    access: 'runs:create',
    body: MakeCommitmentBody,
    idempotency: 'commit',
    responses: {
      201: { description: 'The entry is written, and the commitment is durable', schema: CommitmentAnswer },
    },
    refusals: ['validation_error', 'unknown_workflow', 'schedule_horizon_exceeded', 'quota_exceeded', OPTIONAL],
    async handle({ caller, keyed, body }) {
      const { scope, memoryRef: ref, memoryId: id, content, tags = [], ttlSeconds, commitment } = body
      const arm = armOf(commitment)
      if ('code' in arm) return problem(arm)
      const { tenant, principal } = caller
      const wanted = {
        tenant,
        principal,
        scopes: [...caller.scopes].sort(),
        entry: {
          scope,
          ref,
          content,
          tags,
          ...(id === undefined ? {} : { id }),
          ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
        },
        arm,
        work: workOf(commitment.run),
      }
      return edge.idempotency.commit<Commitment>(
        keyed,
        response => edge.commitments.make(wanted, response),
        made => json(201, render(made)),
      )
    },
  })

function armOf({ at, when, run }: MakeCommitmentBody['commitment']): CommitmentArm | Refusal {
  const field = 'body.commitment'
  if ((at === undefined) === (when === undefined))
    return refuse(
      'validation_error',
      `${field} must have either at, a time, or when, what must hold; give one of them`,
      { field },
    )
  if ((run.workflowId === undefined) === (run.agentId === undefined)) {
    const message = `${field}.run must name a workflowId or an agentId, and not both; give one of them`
    return refuse('validation_error', message, { field: `${field}.run` })
  }
  if (at !== undefined) return { kind: 'time', at: Date.parse(at) }
  const { intervalSeconds = 0, maxRuntimeSeconds = 30, probes = [] } = when ?? {}
  return {
    kind: 'predicate',
    everyMs: intervalSeconds * 1_000,
    maxRuntimeMs: maxRuntimeSeconds * 1_000,
    predicate: { probes: probes as JsonObject[] },
  }
}

const listCommitments = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: PATH,
    operation: 'listCommitments',
    summary: "The tenant's commitments, newest first",
    access: 'memory:read',
    query: ListCommitmentsQuery,
    responses: { 200: { description: 'One page of commitments', schema: ListCommitmentsAnswer } },
    refusals: ['validation_error', OPTIONAL],
    async handle({ caller, query: { open, cursor, limit = 50 } }) {
      const before = cursor === undefined ? undefined : readCursor(caller.tenant, cursor)
      if (cursor !== undefined && before === undefined) {
        const message = 'query.cursor is not one this list gave out; start again without it.'
        return problem(refuse('validation_error', message, { field: 'query.cursor' }))
      }
      const found = await edge.commitments.list({
        tenant: caller.tenant,
        open: open === 'true',
        limit: limit + 1,
        ...(before === undefined ? undefined : { before }),
      })
      const page = found.slice(0, limit)
      const last = found.length > limit ? page.at(-1) : undefined
      const nextCursor = last === undefined ? null : writeCursor(caller.tenant, last.commitmentId)
      return json(200, { commitments: page.map(render), nextCursor })
    },
  })

const getCommitment = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: `${PATH}/{commitmentId}`,
    operation: 'getCommitment',
    summary: 'One commitment',
    access: 'memory:read',
    responses: { 200: { description: 'The commitment', schema: CommitmentAnswer } },
    refusals: ['not_found', OPTIONAL],
    async handle({ caller, params }) {
      const found = await edge.commitments.find(caller.tenant, params.commitmentId)
      return found ? json(200, render(found)) : problem(NO_COMMITMENT)
    },
  })

const cancelCommitment = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: `${PATH}/{commitmentId}:cancel`,
    operation: 'cancelCommitment',
    summary: 'Call it off: it never fires. Its entry stays',
    access: 'runs:create',
    idempotency: 'lease',
    responses: { 200: { description: 'The commitment as it is now', schema: CommitmentAnswer } },
    refusals: ['not_found', 'commitment_over', OPTIONAL],
    async handle({ caller, params }) {
      const answer = await edge.commitments.cancel(caller.tenant, params.commitmentId)
      if (answer === undefined) return problem(NO_COMMITMENT)
      if (answer.ok) return json(200, render(answer.value))
      if ('replay' in answer) throw new Error('a cancelled commitment keeps no answers')
      return problem(answer.refusal)
    },
  })

const time = (at: number): string => new Date(at).toISOString()

function render({ commitmentId, entry, condition, arm, runId, dropped, held, createdAt }: Commitment) {
  const { kind } = arm.arm
  return {
    commitmentId,
    scope: entry.scope,
    memoryRef: entry.ref,
    memoryId: entry.id,
    condition,
    ...(kind === 'time' && { at: time(arm.arm.at) }),
    ...(kind === 'predicate' && { intervalSeconds: arm.arm.everyMs / 1_000 }),
    state: runId !== null ? 'fired' : dropped !== null ? 'dropped' : 'waiting',
    ...(runId !== null && { enqueuedRunId: runId }),
    ...(dropped !== null && { dropped }),
    held: held && { code: held.code, tries: held.failures, until: time(held.until) },
    createdAt: time(createdAt),
  } satisfies CommitmentAnswer
}
