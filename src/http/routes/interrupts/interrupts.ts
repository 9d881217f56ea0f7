import { Type } from 'typebox'
import { findOpen, type OpenInterrupt } from '../../../core/interrupt/decide.js'
import { mayHandOut } from '../../../core/interrupt/interrupt.js'
import { isObject, own } from '../../../core/json.js'
import { isNamed } from '../../../core/names.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import { OneOf } from '../../../core/schema/kinds.js'
import type { InspectedRun, ResolveInterruptCommand } from '../../../engine/api.js'
import {
  LinkAnswer,
  ListInterruptsAnswer,
  ListInterruptsQuery,
  Person,
  ResolveAnswer,
  ResolveBody,
} from '../../../wire/interrupt.js'
import { lacksScope } from '../../auth/authenticator.js'
import type { Caller } from '../../auth/key-cache.js'
import { overriding } from '../../auth/recording.js'
import { notSecond } from '../../auth/second-person.js'
import { readCursor, writeCursor } from '../../cursor.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import {
  asksOf,
  DEFAULT_LINK_SECONDS,
  interruptDoc,
  LINK_INTENTS,
  linkTo,
  MAX_LINK_SECONDS,
  MIN_LINK_SECONDS,
} from '../../interrupt-link.js'
import { type Route, route } from '../../route.js'
import { longJson } from '../../streaming/long-answer.js'

export const interruptRoutes = (edge: Edge): Route[] => [listInterrupts(edge), resolveInterrupt(edge), makeLink(edge)]

/** What an answer may be refused with, by key or by link. */
export const ANSWER_REFUSALS = [
  'validation_error',
  'forbidden',
  'interrupt_not_found',
  'run_paused',
  'interrupt_already_resolved',
  'interrupt_changed',
  'interrupt_expired',
  'interrupt_gone',
  'correlation_mismatch',
] as const

export const resolved =
  (nodeId: string) =>
  ({ runId, status }: InspectedRun): HttpAnswer =>
    json(200, { runId, nodeId, status })

const resolveInterrupt = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/runs/{runId}/interrupts/{nodeId}',
    operation: 'resolveInterrupt',
    summary: 'Answer what a node of a run asks',
    access: 'approvals:respond',
    body: ResolveBody,
    idempotency: 'commit',
    responses: { 200: { description: 'Answered, or counted as one of several votes', schema: ResolveAnswer } },
    refusals: [...ANSWER_REFUSALS, 'not_found', 'run_expired', 'interrupt_cancelled'],
    handle({ caller, params: { runId, nodeId }, body: { resumeValue }, keyed }) {
      const voter = voterIn(caller, resumeValue)
      if (typeof voter === 'object') return problem(voter)
      const answer: ResolveInterruptCommand = {
        type: 'resolve',
        nodeId,
        value: resumeValue,
        by: caller.principal,
        ...(voter === undefined ? {} : { voter }),
        via: 'key',
      }
      return edge.idempotency.commit(
        keyed,
        async response => {
          const view = await edge.engine.inspect(caller.tenant, runId)
          const open = view && findOpen(view.plan, view.state, { nodeId, via: 'key' }, edge.clock.now())
          const shown = open === undefined || 'code' in open ? null : open.asked.shown
          const { tenant, principal, keyId: credential } = caller
          return overriding(edge, { tenant, principal, credential }, { runId, shown, value: resumeValue }, async () => {
            const said = await fromSecond(edge, caller, open, answer)
            if ('code' in said) return { ok: false, refusal: said }
            return edge.engine.command(tenant, runId, said, response)
          })
        },
        resolved(nodeId),
      )
    },
  })

/** The answer to exactly what is asked now, unless that wants somebody else to let it pass. */
async function fromSecond(
  edge: Edge,
  { account, principal, madeBy }: Caller,
  open: OpenInterrupt | Refusal | undefined,
  answer: ResolveInterruptCommand,
): Promise<ResolveInterruptCommand | Refusal> {
  // Whatever is wrong with it is for the run to say.
  if (open === undefined || 'code' in open) return answer
  const { voter } = answer
  const named = voter === undefined || voter === principal ? [] : [{ account, principal: voter }]
  const brought = [{ account, principal, madeBy }, ...named]
  const refusal = await notSecond(edge.keys, open.asked.shown, answer.value, brought)
  return refusal ?? { ...answer, interruptId: open.asked.interruptId }
}

/** Whose vote it is: the key's own, unless the key may speak for others and the answer names somebody. */
function voterIn(caller: Caller, value: ResolveBody['resumeValue']): string | Refusal | undefined {
  if (!caller.scopes.has('approvals:delegate') || !isObject(value)) return undefined
  const voter = own(value, 'voter')
  if (voter === undefined) return undefined
  if (typeof voter === 'string' && isNamed('person', voter)) return voter
  const field = 'body.resumeValue.voter'
  return refuse('validation_error', `${field} must be a name of 1 to 128 characters.`, { field })
}

const LinkBody = Type.Object(
  {
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: MIN_LINK_SECONDS, maximum: MAX_LINK_SECONDS, default: DEFAULT_LINK_SECONDS }),
    ),
    intent: Type.Optional(OneOf(LINK_INTENTS, { default: 'resolve' })),
    subject: Type.Optional(Person),
  },
  { additionalProperties: false },
)

/** Changes nothing, so it takes no Idempotency-Key: a link is not kept anywhere. */
const makeLink = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/runs/{runId}/interrupts/{nodeId}:link',
    operation: 'linkInterrupt',
    summary: 'A link with which a person can answer, or only look, without a key',
    access: 'approvals:respond',
    body: LinkBody,
    bodyOptional: true,
    responses: { 201: { description: 'The link; whoever has it can use it', schema: LinkAnswer } },
    refusals: [
      'validation_error',
      'auth_elevation_required',
      'not_found',
      'run_expired',
      'interrupt_not_found',
      'interrupt_already_resolved',
      'interrupt_expired',
      'interrupt_gone',
    ],
    async handle({ caller, params, body }) {
      const { intent = 'resolve', subject, expiresInSeconds = DEFAULT_LINK_SECONDS } = body
      // A link for somebody else votes as that somebody, so making one is speaking for others.
      if (subject !== undefined && subject !== caller.principal && !caller.scopes.has('approvals:delegate'))
        return problem(lacksScope('approvals:delegate'))
      const view = await edge.engine.inspect(caller.tenant, params.runId)
      if (view === undefined) return problem(await edge.engine.missing(caller.tenant, params.runId))
      const now = edge.clock.now()
      const open = findOpen(view.plan, view.state, { nodeId: params.nodeId, via: 'key' }, now)
      if ('code' in open) return problem(open)
      if (open.keyOnly && intent === 'resolve') return problem(KEY_ONLY)
      if (intent === 'resolve' && !mayHandOut(open.asked, caller.principal, subject ?? caller.principal))
        return problem(OWN_RUN)
      const { account, principal, madeBy } = caller
      const isForOther = intent === 'resolve' && subject !== undefined && subject !== principal
      const puppet =
        isForOther && (await notSecond(edge.keys, open.asked.shown, ACCEPT, [{ account, principal, madeBy }]))
      if (puppet) return problem(puppet)
      const terms = { intent, issuer: caller.principal, expiresAt: now + expiresInSeconds * 1000 }
      const link = linkTo(edge, view.runId, open, subject === undefined ? terms : { ...terms, subject })
      return json(201, link, { 'cache-control': 'no-store' })
    },
  })

const ACCEPT = { action: 'accept' }

export const OWN_RUN = refuse(
  'forbidden',
  'Whoever started this run cannot make a link with which somebody else lets its result pass: its gate wants a second person. Make one for looking only (intent inspect), have somebody else make it, or let that person answer with a key.',
  { field: 'mayNotAccept' },
)

export const KEY_ONLY = refuse(
  'auth_elevation_required',
  'This interrupt is answered with a bearer key, not with a link.',
)

const listInterrupts = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/interrupts',
    operation: 'listInterrupts',
    summary: "What the tenant's runs wait for someone to answer, newest run first",
    access: 'runs:read',
    query: ListInterruptsQuery,
    responses: { 200: { description: 'What one page of waiting runs asks', schema: ListInterruptsAnswer } },
    refusals: ['validation_error'],
    async handle({ caller, query }) {
      const { cursor, limit = 50, runId: only } = query
      const before = cursor === undefined ? undefined : readCursor(caller.tenant, cursor)
      if (cursor !== undefined && before === undefined) return problem(BAD_CURSOR)
      if (only !== undefined)
        return longJson(
          edge,
          caller.tenant,
          { interrupts: await asksIn(edge, caller, only), nextCursor: null },
          NOT_STORED,
        )
      // One more than asked for tells whether there is a next page.
      const rows = await edge.engine.list({
        tenant: caller.tenant,
        status: ['waiting-approval', 'waiting-input', 'waiting-external'],
        ...(before === undefined ? undefined : { before }),
        limit: limit + 1,
      })
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      const interrupts: object[] = []
      for (const { runId } of page) interrupts.push(...(await asksIn(edge, caller, runId)))
      const nextCursor = last === undefined ? null : writeCursor(caller.tenant, last.runId)
      return longJson(edge, caller.tenant, { interrupts, nextCursor }, NOT_STORED)
    },
  })

const NOT_STORED = { 'cache-control': 'no-store' }

/** What one run asks; nothing where the tenant has no such run. */
async function asksIn({ engine }: Edge, caller: Caller, runId: string): Promise<object[]> {
  const view = await engine.inspect(caller.tenant, runId)
  if (view === undefined) return []
  const workflowId = view.plan.definition.id
  return asksOf(view).map(open => ({ runId, workflowId, ...interruptDoc(open, caller) }))
}

const BAD_CURSOR = refuse('validation_error', 'query.cursor is not one this list gave out; start again without it.', {
  field: 'query.cursor',
})
