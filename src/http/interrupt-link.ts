import type { OpenInterrupt } from '../core/run/interrupts.js'
import type { RunView } from '../engine/api.js'
import type { InterruptDoc } from '../wire/interrupt.js'
import type { Edge } from './deps.js'
import { DEFAULT_LINK_SECONDS, type LinkPayload, mintToken } from './interrupt-token.js'
import type { Caller } from './key-ring.js'
import { asksOf, hashOf, interruptDoc } from './open-interrupt.js'

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
export function interruptFor(edge: Edge, caller: Caller, view: RunView): InterruptDoc | undefined {
  const [open] = asksOf(view)
  if (open === undefined) return undefined
  const doc = interruptDoc(open)
  if (!caller.scopes.has('approvals:respond')) return doc
  const slot = Math.floor(edge.clock.now() / SLOT_MS) * SLOT_MS
  const { token, url } = linkTo(edge, view.runId, open, {
    intent: open.keyOnly ? 'inspect' : 'resolve',
    issuer: caller.principal,
    expiresAt: slot + DEFAULT_LINK_SECONDS * 1000,
  })
  return { ...doc, interruptToken: token, callbackUrl: url }
}
