import { findOpen, type OpenInterrupt } from '../../../core/interrupt/decide.js'
import { mayHandOut } from '../../../core/interrupt/interrupt.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import type { ResolveInterruptCommand } from '../../../engine/api.js'
import { LinkedInterrupt, ResolveAnswer, ResolveBody } from '../../../wire/interrupt.js'
import { accountOf } from '../../auth/key-cache.js'
import { overriding } from '../../auth/recording.js'
import { notSecond } from '../../auth/second-person.js'
import { compileCheck, type ShapeCheck } from '../../check.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { hashOf, type LinkPayload, linkedDoc, readToken } from '../../interrupt-link.js'
import { type Route, route } from '../../route.js'
import { ANSWER_REFUSALS, KEY_ONLY, OWN_RUN, resolved } from './interrupts.js'

/** Answering without a key: the token in the path is the credential, so it is repeated nowhere. */
export const interruptLinkRoutes = (edge: Edge): Route[] => [lookThroughLink(edge), answerThroughLink(edge)]

const PRIVATE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** One answer for every token that was not made here, whatever is wrong with it. */
const UNKNOWN = refuse('interrupt_not_found', 'No such interrupt, or the link is not genuine.')
const EXPIRED = refuse('interrupt_expired', 'The link has expired; ask for a new one.')
const CHANGED = refuse('interrupt_changed', 'What is asked is not what this link was made to show; ask for a new one.')
const INSPECT_ONLY = refuse('forbidden', 'This link is for looking only; ask for one that may answer.')

const refused = (refusal: Refusal): HttpAnswer => problem(refusal, PRIVATE)

type Known = { readonly link: LinkPayload; readonly tenant: string }

/** The run a genuine link belongs to. */
async function known(edge: Edge, token: string): Promise<Known | undefined> {
  const link = readToken(edge.tokenSecrets, token)
  const tenant = link && (await edge.engine.tenantOf(link.runId))
  return link === undefined || tenant === undefined ? undefined : { link, tenant }
}

/** What a link leads to, while it holds and the interrupt is open. */
async function follow(edge: Edge, { link, tenant }: Known): Promise<OpenInterrupt | Refusal> {
  const now = edge.clock.now()
  if (!(now < Date.parse(link.expiresAt))) return EXPIRED
  const view = await edge.engine.inspect(tenant, link.runId)
  return view === undefined ? UNKNOWN : findOpen(view.plan, view.state, { ...link, via: 'token' }, now)
}

const lookThroughLink = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/interrupts/{token}',
    operation: 'inspectInterruptByToken',
    summary: 'What a link asks',
    access: 'token',
    responses: { 200: { description: 'The interrupt, as it is shown to whoever answers', schema: LinkedInterrupt } },
    refusals: ['interrupt_not_found', 'interrupt_already_resolved', 'interrupt_expired', 'interrupt_gone'],
    async handle({ params }) {
      const found = await known(edge, params.token)
      if (found === undefined) return refused(UNKNOWN)
      const open = await follow(edge, found)
      if ('code' in open) return refused(open)
      const { requiredApprovals: _required, votes: _votes, ...doc } = linkedDoc(open)
      const { runId, expiresAt, intent } = found.link
      return json(200, { runId, ...doc, expiresAt, intent }, PRIVATE)
    },
  })

const answerThroughLink = (edge: Edge): Route => {
  const check = compileCheck(ResolveBody, 'body')
  return route({
    method: 'POST',
    path: '/v1/interrupts/{token}',
    operation: 'resolveInterruptByToken',
    summary: 'Answer through a link',
    access: 'token',
    body: ResolveBody,
    lateBody: true,
    idempotency: 'commit',
    responses: { 200: { description: 'Answered, or counted as one of several votes', schema: ResolveAnswer } },
    refusals: [...ANSWER_REFUSALS, 'auth_elevation_required'],
    async handle({ params, body, keyed }) {
      const found = await known(edge, params.token)
      if (found === undefined) return refused(UNKNOWN)
      const { link, tenant } = found
      const answer = await edge.idempotency.commit(
        // The credential is the link, so its tenant is where the response is remembered.
        keyed && { ...keyed, tenant },
        async response => {
          const said = await answerFor(edge, found, body, check)
          if ('code' in said) return { ok: false, refusal: said }
          const open = await follow(edge, found)
          const shown = 'code' in open ? null : open.asked.shown
          const whose = { tenant, principal: said.voter ?? link.issuer, credential: 'link' }
          const { runId } = link
          const { value } = said
          return overriding(edge, whose, { runId, shown, value }, () =>
            edge.engine.command(tenant, runId, said, response),
          )
        },
        resolved(link.nodeId),
      )
      return { ...answer, headers: { ...answer.headers, ...PRIVATE } }
    },
  })
}

async function answerFor(
  edge: Edge,
  found: Known,
  body: ResolveBody,
  check: ShapeCheck,
): Promise<ResolveInterruptCommand | Refusal> {
  const open = await follow(edge, found)
  if ('code' in open) return open
  const { link } = found
  if (open.keyOnly) return KEY_ONLY
  if (link.intent !== 'resolve') return INSPECT_ONLY
  const misshapen = check(body)
  if (misshapen !== undefined) return misshapen
  if (link.shownHash !== hashOf(open)) return CHANGED
  const who = link.subject ?? link.issuer
  if (!mayHandOut(open.asked, link.issuer, who)) return OWN_RUN
  const account = accountOf(found.tenant)
  const brought = [...new Set([link.issuer, who])].map(principal => ({ account, principal }))
  const puppet = await notSecond(edge.keys, open.asked.shown, body.resumeValue, brought)
  if (puppet !== undefined) return puppet
  const { nodeId, interruptId } = link
  return { type: 'resolve', nodeId, interruptId, value: body.resumeValue, by: `link:${who}`, voter: who, via: 'token' }
}
