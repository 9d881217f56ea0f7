import { createHmac, timingSafeEqual } from 'node:crypto'
import { type OpenInterrupt, openInterrupts } from '../core/interrupt/decide.js'
import { isReplay } from '../core/replay/events.js'
import { isWaiting } from '../core/run/state.js'
import type { InspectedRun } from '../engine/api.js'
import { shownHash } from '../engine/queries/shown-hash.js'
import { type InterruptDoc, renderInterrupt } from '../wire/interrupt.js'
import type { Caller } from './auth/key-cache.js'
import type { Edge } from './deps.js'

/** What a run asks, and the links that lead to it: open interrupts, links to them, and the tokens that links are. */

export const hashOf = ({ asked }: OpenInterrupt): string => shownHash(asked.kind, asked.shown)

/** A question as `caller` sees it; without one, as everybody does who may read the run. */
export const interruptDoc = (open: OpenInterrupt, caller?: Caller): InterruptDoc =>
  renderInterrupt(open, hashOf(open), caller !== undefined && mayOpen(caller, open))

/** The same for whoever holds a link to it: they are asked. */
export const linkedDoc = (open: OpenInterrupt): InterruptDoc => renderInterrupt(open, hashOf(open), true)

/** R-SEC-1: what a question is about in words is for whoever is asked, and for whoever may read artifacts. */
function mayOpen({ scopes, principal }: Caller, { asked }: OpenInterrupt): boolean {
  if (scopes.has('artifacts:read')) return true
  const { approversList } = asked.shown
  const isAsked = !Array.isArray(approversList) || approversList.includes(principal)
  return scopes.has('approvals:respond') && (isAsked || scopes.has('approvals:delegate'))
}

/** What a waiting run asks; nothing when it only waits for what a child asks, and a replay asks nobody. */
export const asksOf = (view: InspectedRun): OpenInterrupt[] =>
  isWaiting(view.status) && !isReplay(view.state) ? openInterrupts(view.plan, view.state) : []

/** Snapshots that are read within the same five minutes hold the same link, so that a reader's copy stays good. */
const SLOT_MS = 5 * 60_000

export type LinkTerms = Pick<LinkPayload, 'intent' | 'issuer' | 'subject'> & { readonly expiresAt: number }

/** A link to an open interrupt; it never outlives the time to answer. */
export function linkTo(edge: Edge, runId: string, open: OpenInterrupt, terms: LinkTerms) {
  const { nodeId, asked, dueAt } = open
  const { intent, issuer, subject } = terms
  const expiresAt = new Date(Math.min(terms.expiresAt, dueAt ?? Number.POSITIVE_INFINITY)).toISOString()
  const token = mintToken(edge.tokenSecrets, {
    runId,
    nodeId,
    interruptId: asked.interruptId,
    expiresAt,
    intent,
    shownHash: hashOf(open),
    issuer,
    ...(subject === undefined ? {} : { subject }),
  })
  return { token, url: `/v1/interrupts/${token}`, expiresAt, intent }
}

/** What a waiting run asks, with a link when the key may answer: who may only read must not be able to approve. */
export function interruptFor(edge: Edge, caller: Caller, view: InspectedRun): InterruptDoc | undefined {
  const [open] = asksOf(view)
  if (open === undefined) return undefined
  const doc = interruptDoc(open, caller)
  if (!caller.scopes.has('approvals:respond')) return doc
  const slot = Math.floor(edge.clock.now() / SLOT_MS) * SLOT_MS
  const { token, url } = linkTo(edge, view.runId, open, {
    intent: open.keyOnly ? 'inspect' : 'resolve',
    issuer: caller.principal,
    expiresAt: slot + DEFAULT_LINK_SECONDS * 1000,
  })
  return { ...doc, interruptToken: token, callbackUrl: url }
}

/**
 * Links that answer an interrupt without a key (contract core §7.5). A token is `payload.mac`, both base64url: whoever
 * has it may do what it says until it expires, and nothing about it is stored.
 */
export type LinkPayload = {
  readonly runId: string
  readonly nodeId: string
  readonly interruptId: string
  /** ISO 8601. */
  readonly expiresAt: string
  readonly intent: LinkIntent
  /** What the link was made to show; an answer to anything else is refused. */
  readonly shownHash: string
  /** The principal whose key asked for the link. */
  readonly issuer: string
  /** Whom the link is for, when that is somebody else. */
  readonly subject?: string
}

export const LINK_INTENTS = ['resolve', 'inspect'] as const
export type LinkIntent = (typeof LINK_INTENTS)[number]

export const MAX_TOKEN_CHARS = 4096
export const DEFAULT_LINK_SECONDS = 30 * 60
export const MIN_LINK_SECONDS = 60
export const MAX_LINK_SECONDS = 30 * 24 * 60 * 60

/** Signed with the first secret; the others only verify, so that secrets can be changed while links are out. */
export function mintToken(secrets: readonly string[], payload: LinkPayload): string {
  const [secret] = secrets
  if (secret === undefined) throw new Error('there is no secret to sign links with')
  const part = Buffer.from(payloadText(payload)).toString('base64url')
  return `${part}.${macOf(secret, part)}`
}

/** What a genuine token says, whether or not it has expired; undefined for anything that was not minted here. */
export function readToken(secrets: readonly string[], token: string): LinkPayload | undefined {
  if (token.length > MAX_TOKEN_CHARS) return undefined
  const [part = '', mac = '', ...rest] = token.split('.')
  if (rest.length > 0 || part === '') return undefined
  // Texts are compared, not bytes: a second spelling of the same mac is not the token that was given out.
  const genuine = secrets.map(secret => sameText(macOf(secret, part), mac)).includes(true)
  return genuine ? payloadOf(Buffer.from(part, 'base64url').toString()) : undefined
}

/** Fields in a fixed order, and no others: one payload has one text. */
const payloadText = (payload: LinkPayload): string => {
  const { runId, nodeId, interruptId, expiresAt, intent, shownHash, issuer, subject } = payload
  return JSON.stringify({ runId, nodeId, interruptId, expiresAt, intent, shownHash, issuer, subject })
}

function payloadOf(text: string): LinkPayload | undefined {
  try {
    const payload = JSON.parse(text) as LinkPayload
    return payloadText(payload) === text ? payload : undefined
  } catch {
    // Signed, but no payload: a secret is shared with something that signs other things.
    return undefined
  }
}

const macOf = (secret: string, part: string): string => createHmac('sha256', secret).update(part).digest('base64url')

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
