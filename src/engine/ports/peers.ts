import type { Ceilings, Spend } from '../../core/budget/budget.js'
import type { PeerReceipt } from '../../core/handoff/peer-receipt.js'
import type { Silence } from '../../core/handoff/peer-work.js'
import type { JsonObject } from '../../core/json.js'
import type { Failure } from '../../core/problem.js'
import type { RunStatus } from '../../core/run/events.js'
import type { ForeignParent } from '../../core/handoff/foreign-cause.js'

/**
 * Other hosts, by the names that this one has for them. Nothing here throws: whatever a peer does, and whatever lies between,
 * is an answer that can be used or none. What is told of an answer is checked and bounded. docs/design/peers.md has each at
 * length:
 *
 *  P1  One run there for each hand-off: asked for under one key and one tag, looked up where an answer was lost.
 *  P2  `dispatch.failed` only when no run can have been created.
 *  P3  A peer is heard when it gives a usable answer; everything else is silence.
 *  P4  Silence is told once, and so is its end; lost is who is silent for longer than `lostAfter`, and tried then.
 *  P5  What is lost holds nobody, has no `child.*`, and counts as failed.
 *  P6  What comes later is never merged, and its run is cancelled.
 *  P7  Streams say when to look, and nothing else.
 *  P8  No id that a peer chooses can be one of this host.
 *  P9  What is masked is not merged, and what must not be seen is not sent.
 *  P10 What a peer brings is staged, hashed and judged here.
 *  P11 What it says to have cost is a claim.
 *  P12 A cause on another host is stored in the place of a cause, chained and shown.
 *  P13 The carrier is heard from keys that are bound to that very peer, and authorizes nothing.
 *  P14 A run that a peer has started tells of it with the first event that can.
 *  P15 A replay calls nobody; a branch has a run of its own there.
 *  P16 Everything is bounded: answers, streams, tries, and hops over hosts.
 *  P17 A signed receipt of a peer is evidence beside what is judged here, and never in its place.
 */
export interface Peers {
  /** How long a peer may be silent before what it has in hand is given up. */
  readonly lostAfterMs: number
  /** Whether it is configured, with a key to call it. */
  knows(peer: string): boolean
  /** Asks for a run, once. `sending` is called before the request that may create one leaves. */
  create(peer: string, order: PeerOrder, sending: () => void, signal: AbortSignal): Promise<PeerCreated>
  /** The run that has this tag. */
  find(peer: string, tag: string, signal: AbortSignal): Promise<PeerFound>
  /** How a run stands, in one document. */
  look(peer: string, runId: string, wanted: readonly string[], signal: AbortSignal): Promise<PeerLook>
  cancel(peer: string, runId: string, key: string, signal: AbortSignal): Promise<{ readonly is: 'settled' } | Unheard>
  /** Says that there may be news of a run; for a while, unless it is asked for again. */
  follow(peer: string, runId: string, news: () => void): void
  /** There is no need of it any more. */
  leave(peer: string, runId: string): void
}

export type Unheard = { readonly is: 'unheard'; readonly reason: Silence; readonly retryAfterMs?: number }

export type PeerOrder = {
  readonly workflowId: string
  readonly inputs: JsonObject
  /** The identity of the effect: what the run is known by, and the key under which it is created once. */
  readonly id: string
  readonly tag: string
  readonly traceparent: string
  readonly grant: Ceilings | undefined
  readonly timeoutMs: number
  readonly caller: Pick<ForeignParent, 'runId' | 'eventId' | 'cause'> & { readonly depth: number }
}

export type PeerCreated =
  | { readonly is: 'created'; readonly runId: string }
  /** It said no: this request has created nothing. */
  | { readonly is: 'refused'; readonly error: Failure }
  /** Nothing was sent, or it was not taken: this request has created nothing, and another may. */
  | (Unheard & { readonly created: 'no' })
  | (Unheard & { readonly created: 'unknown' })

export type PeerFound =
  | { readonly is: 'found'; readonly runId: string }
  | { readonly is: 'none' }
  /** It has no list that can be searched. */
  | { readonly is: 'unable' }
  | Unheard

export type PeerLook =
  | { readonly is: 'going'; readonly status: RunStatus }
  | {
      readonly is: 'ended'
      readonly status: 'completed' | 'failed' | 'cancelled'
      /** Those that were wanted and are there, but for what is masked. */
      readonly variables: JsonObject
      readonly error?: Failure
      readonly goalSatisfied?: false
      readonly claimed?: Partial<Spend>
      readonly foreign: { readonly hostId: string; readonly eventId: string }
      /** Absent where this host has no keys to check one with. */
      readonly receipt?: PeerReceipt
    }
  | Unheard

/** A host that works with no other. */
export const NO_PEERS: Peers = {
  lostAfterMs: 900_000,
  knows: () => false,
  create: async () => ({ is: 'unheard', reason: 'unreachable', created: 'no' }),
  find: async () => ({ is: 'unheard', reason: 'unreachable' }),
  look: async () => ({ is: 'unheard', reason: 'unreachable' }),
  cancel: async () => ({ is: 'unheard', reason: 'unreachable' }),
  follow: () => undefined,
  leave: () => undefined,
}
