import type { PeerReceipt } from '../../core/handoff/peer-receipt.js'
import type { JsonObject } from '../../core/json.js'
import type { PeerCreated, PeerLook, PeerOrder, Peers } from '../../engine/ports/peers.js'

type Unknown = Extract<PeerCreated, { is: 'unheard' }>

/** What becomes of a request that would create a run: it is done, or done and not answered, or lost on the way, or refused. */
export type Fate = 'done' | 'unanswered' | 'lost' | 'unsent' | 'refused'

type RunThere = { readonly tag: string; look: Exclude<PeerLook, { is: 'unheard' }>; cancels: number }

/** A host that work is handed to, with a line to it that can be cut. */
export class PeerDouble implements Peers {
  readonly runs = new Map<string, RunThere>()
  readonly orders: PeerOrder[] = []
  /** Of the next requests to create a run, in turn; after these all is well. */
  fates: Fate[] = []
  isDown = false
  /** Whether it says what runs it has. */
  lists = true
  looks = 0
  readonly #byKey = new Map<string, string>()
  #next = 0

  constructor(readonly lostAfterMs = 10_000) {}

  knows(peer: string): boolean {
    return peer === 'beta'
  }

  async create(_peer: string, order: PeerOrder, sending: () => void): Promise<PeerCreated> {
    if (this.isDown) return { ...silence, created: 'no' }
    sending()
    this.orders.push(order)
    const fate = this.fates.shift() ?? 'done'
    if (fate === 'refused') return { is: 'refused', error: { code: 'peer_refused', message: 'no', retryable: false } }
    if (fate === 'unsent') return { ...silence, created: 'no' }
    if (fate === 'lost') return UNKNOWN
    // P1: under one key there is one.
    const runId = this.#byKey.get(order.id) ?? `there-${++this.#next}`
    this.#byKey.set(order.id, runId)
    if (!this.runs.has(runId)) this.runs.set(runId, { tag: order.tag, look: GOING, cancels: 0 })
    return fate === 'done' ? { is: 'created', runId } : UNKNOWN
  }

  async find(_peer: string, tag: string) {
    if (this.isDown) return silence
    if (!this.lists) return { is: 'unable' } as const
    const found = [...this.runs].find(([, run]) => run.tag === tag)
    return found ? ({ is: 'found', runId: found[0] } as const) : ({ is: 'none' } as const)
  }

  async look(_peer: string, runId: string): Promise<PeerLook> {
    this.looks += 1
    return this.isDown ? silence : (this.runs.get(runId)?.look ?? { is: 'unheard', reason: 'refused' })
  }

  async cancel(_peer: string, runId: string) {
    const run = this.runs.get(runId)
    if (this.isDown || !run) return silence
    run.cancels += 1
    if (run.look.is === 'going') this.ends(runId, {}, 'cancelled')
    return { is: 'settled' } as const
  }

  follow(): void {
    // Whoever watches it looks again in time.
  }

  leave(): void {
    // Nothing is followed.
  }

  /** Forgets under which keys it was asked, as hosts do after a day. */
  forgetKeys(): void {
    this.#byKey.clear()
  }

  ends(
    runId: string,
    variables: JsonObject,
    status: 'completed' | 'failed' | 'cancelled' = 'completed',
    receipt?: PeerReceipt,
  ): void {
    const run = this.runs.get(runId)
    if (!run) throw new Error(`the peer has no run ${runId}`)
    run.look = {
      is: 'ended',
      status,
      variables,
      foreign: { hostId: 'beta.example', eventId: `${runId}:9` },
      ...(receipt && { receipt }),
    }
  }
}

const silence = { is: 'unheard', reason: 'unreachable' } as const
const UNKNOWN: Unknown = { is: 'unheard', reason: 'timeout', created: 'unknown' }
const GOING = { is: 'going', status: 'running' } as const
