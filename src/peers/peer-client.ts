import type { PeerReceipt } from '../core/handoff/peer-receipt.js'
import type { JsonObject } from '../core/json.js'
import { failure } from '../core/problem.js'
import type { Egress } from '../egress/egress.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { PeerCreated, PeerFound, PeerLook, PeerOrder, Peers, Unheard } from '../engine/ports/peers.js'
import type { Secrets } from '../secrets/secrets.js'
import { CAUSATION_HEADER, causationText } from './causation.js'
import { endEventIn, hostIdIn, lastSequenceIn, lookIn, refusalCodeIn, runIdIn, runsTagged } from './answers.js'
import { askPeer, type PeerAnswer, silenceOfStatus, unheard } from './request.js'
import { RunStreams } from './run-streams.js'
import { type PeerSettings, type PeersSettings, wellKnownOf } from './settings.js'

export type PeersDeps = {
  readonly egress: Pick<Egress, 'open'>
  readonly secrets: Pick<Secrets, 'resolve'>
  readonly clock: Clock
  readonly log: Log
  readonly settings: PeersSettings
  /** What this host is called by others. */
  readonly hostId: string
  /** Whether what a peer gives for the receipt of a run is one, by the keys that are configured for that peer. */
  readonly judgeReceipt: (peer: string, text: string, seen: SeenRun) => PeerReceipt
}

/** A run of a peer, as this host has seen it end. */
type SeenRun = { readonly runId: string; readonly hostId: string; readonly events: number }

/** For how long a host is believed to be the one that it said it is. */
const IDENTITY_MS = 10 * 60_000
/** A request that creates nothing needs no more room than this for what it says. */
const SMALL_BYTES = 256 * 1024
/** Beyond every log: a poll from here says how long it is. */
const BEYOND = Number.MAX_SAFE_INTEGER - 1
const MOST_TAGGED = 100
/** The peer has looked at the request and does not want it; another like it would not be taken either. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 405, 406, 413, 415, 422, 431, 501])
/** It has none of this run, or none for this key. */
const NOT_OFFERED: ReadonlySet<number> = new Set([401, 403, 404, 405, 406, 409, 410, 501])
const TAKEN_LATER: ReadonlySet<number> = new Set([409, 425, 429, 503])

type Sent = PeerAnswer | { readonly ok: false; readonly reason: 'refused'; readonly sent: false }

/** The client of other OpenWOP hosts (docs/design/peers.md). */
export class PeerClient implements Peers {
  readonly #believed = new Map<string, number>()
  readonly #streams: RunStreams

  constructor(private readonly deps: PeersDeps) {
    this.#streams = new RunStreams({ egress: deps.egress, clock: deps.clock, keyOf: peer => this.#keyOf(peer) })
  }

  get lostAfterMs(): number {
    return this.deps.settings.lostAfter
  }

  knows(peer: string): boolean {
    return this.#settings(peer)?.keyRef !== undefined
  }

  async create(peer: string, order: PeerOrder, sending: () => void, signal: AbortSignal): Promise<PeerCreated> {
    const stranger = await this.#stranger(peer, signal)
    if (stranger) return stranger
    const { id, traceparent, caller } = order
    const headers = {
      'idempotency-key': id,
      traceparent,
      [CAUSATION_HEADER]: causationText({ hostId: this.deps.hostId, ...caller }),
    }
    const body = JSON.stringify(requestOf(order))
    sending()
    const answer = await this.#ask(peer, 'POST', '/v1/runs', { headers, body, signal })
    if (!answer.ok) return { ...unheard(answer.reason), created: answer.sent ? 'unknown' : 'no' }
    const { status, body: said, retryAfterMs } = answer
    if (status === 200 || status === 201) {
      const runId = runIdIn(said)
      return runId === undefined ? { ...unheard('unusable'), created: 'unknown' } : { is: 'created', runId }
    }
    if (TAKEN_LATER.has(status)) return { ...unheard('busy', retryAfterMs), created: 'no' }
    if (!REFUSALS.has(status)) return { ...unheard(silenceOfStatus(status)), created: 'unknown' }
    const code = refusalCodeIn(said)
    const message = `peer "${peer}" did not take the work: ${status} ${code}`
    return {
      is: 'refused',
      error: failure('peer_refused', message, { retryable: false, details: { peer, status, code } }),
    }
  }

  /** Undefined when the host at that address is the one it is taken for. */
  async #stranger(peer: string, signal: AbortSignal): Promise<PeerCreated | undefined> {
    const settings = this.#settings(peer)
    const { clock } = this.deps
    if (settings && (this.#believed.get(peer) ?? Number.NEGATIVE_INFINITY) > clock.monotonic() - IDENTITY_MS)
      return undefined
    const answer = await this.#ask(peer, 'GET', '/.well-known/openwop', { signal })
    if (!answer.ok) return { ...unheard(answer.reason), created: 'no' }
    const hostId = answer.status === 200 ? hostIdIn(answer.body) : undefined
    if (!settings || hostId === undefined)
      return { ...unheard(answer.status === 200 ? 'unusable' : silenceOfStatus(answer.status)), created: 'no' }
    if (hostId === settings.hostId) {
      this.#believed.set(peer, clock.monotonic())
      return undefined
    }
    const message = `the host at the address of peer "${peer}" is not ${settings.hostId}; nothing was sent to it`
    return { is: 'refused', error: failure('peer_mismatch', message, { retryable: false, details: { peer } }) }
  }

  async find(peer: string, tag: string, signal: AbortSignal): Promise<PeerFound> {
    const path = `/v1/runs?tag=${encodeURIComponent(tag)}&limit=${MOST_TAGGED}`
    const answer = await this.#ask(peer, 'GET', path, { signal })
    if (!answer.ok) return unheard(answer.reason)
    if (answer.status === 404 || answer.status === 405 || answer.status === 501) return { is: 'unable' }
    if (answer.status !== 200) return unheard(silenceOfStatus(answer.status), answer.retryAfterMs)
    const runs = runsTagged(answer.body, tag)
    if (runs === undefined) return { is: 'unable' }
    // What has branched off it since has its tags as well: the first is the one.
    const runId = runs.at(-1)
    return runId === undefined ? { is: 'none' } : { is: 'found', runId }
  }

  async look(peer: string, runId: string, wanted: readonly string[], signal: AbortSignal): Promise<PeerLook> {
    const { maxOutputBytes } = this.deps.settings
    const answer = await this.#ask(peer, 'GET', runPath(runId), { signal, maxBytes: maxOutputBytes })
    const told = answer.ok && answer.status === 200 ? lookIn(answer.body, runId, wanted) : undefined
    if (told === undefined) return notHeard(answer)
    if (told.is === 'going') return told
    const end = await this.#endOf(peer, runId, told.status, signal)
    if ('is' in end) return end
    const { eventId, events } = end
    const hostId = this.#settings(peer)?.hostId ?? ''
    const receipt =
      told.status === 'completed' ? await this.#receiptOf(peer, { runId, hostId, events }, signal) : undefined
    return { ...told, foreign: { hostId, eventId }, ...(receipt ? { receipt } : {}) }
  }

  /** P17: asked for once, and whatever comes of it, the result is judged here. */
  async #receiptOf(peer: string, seen: SeenRun, signal: AbortSignal): Promise<PeerReceipt | undefined> {
    const { settings, judgeReceipt } = this.deps
    if (!this.#settings(peer)?.receiptKeys.length) return undefined
    const path = `${runPath(seen.runId)}/receipt`
    const answer = await this.#ask(peer, 'GET', path, { signal, maxBytes: settings.maxOutputBytes })
    if (!answer.ok) return { evidence: false, why: answer.reason === 'too_large' ? 'too-large' : 'not-heard' }
    if (answer.status === 200) return judgeReceipt(peer, answer.text, seen)
    return { evidence: false, why: NOT_OFFERED.has(answer.status) ? 'not-offered' : 'not-heard' }
  }

  /** The last event of a run that has ended, and how many there are: that it is there is what its end is believed by. */
  async #endOf(
    peer: string,
    runId: string,
    status: string,
    signal: AbortSignal,
  ): Promise<{ readonly eventId: string; readonly events: number } | Unheard> {
    const poll = (after: number) =>
      this.#ask(peer, 'GET', `${runPath(runId)}/events/poll?lastSequence=${after}&timeout=1`, {
        signal,
        maxBytes: this.deps.settings.maxOutputBytes,
      })
    const length = await poll(BEYOND)
    const last = length.ok && length.status === 200 ? lastSequenceIn(length.body) : undefined
    if (last === undefined) return notHeard(length)
    const answer = last === 0 ? undefined : await poll(last - 1)
    const end = answer?.ok && answer.status === 200 ? endEventIn(answer.body, runId, status) : undefined
    if (end !== undefined) return { eventId: end, events: last + 1 }
    return answer ? notHeard(answer) : unheard('unusable')
  }

  async cancel(peer: string, runId: string, key: string, signal: AbortSignal) {
    const headers = { 'idempotency-key': key }
    const answer = await this.#ask(peer, 'POST', `${runPath(runId)}/cancel`, { headers, body: '{}', signal })
    const settles = answer.ok && [200, 202, 404, 409, 410].includes(answer.status)
    return settles ? ({ is: 'settled' } as const) : notHeard(answer)
  }

  follow(peer: string, runId: string, news: () => void): void {
    const url = this.#streamOf(peer, runId)
    if (url) this.#streams.follow(peer, url, news)
  }

  leave(peer: string, runId: string): void {
    const url = this.#streamOf(peer, runId)
    if (url) this.#streams.leave(url)
  }

  #streamOf(peer: string, runId: string): URL | undefined {
    const settings = this.#settings(peer)
    return settings && new URL(`${runPath(runId)}/events`, settings.url)
  }

  /** Lets go of everything that is followed. */
  close(): void {
    this.#streams.close()
  }

  #settings(peer: string): PeerSettings | undefined {
    const { hosts } = this.deps.settings
    return Object.hasOwn(hosts, peer) ? hosts[peer] : undefined
  }

  /** Undefined where there is none now; a file or variable may have one again later. */
  async #keyOf(peer: string): Promise<string | undefined> {
    const ref = this.#settings(peer)?.keyRef
    if (ref === undefined) return undefined
    try {
      return await this.deps.secrets.resolve(ref)
    } catch (error) {
      this.deps.log.warn({ peer, error: String(error) }, 'the key of a peer is not there; it is not asked until it is')
      return undefined
    }
  }

  async #ask(
    peer: string,
    method: 'GET' | 'POST',
    path: string,
    more: {
      readonly headers?: { readonly [name: string]: string }
      readonly body?: string
      readonly maxBytes?: number
      readonly signal: AbortSignal
    },
  ): Promise<Sent> {
    const settings = this.#settings(peer)
    const key = await this.#keyOf(peer)
    if (!settings || key === undefined) return { ok: false, reason: 'refused', sent: false }
    const url = path === '/.well-known/openwop' ? new URL(wellKnownOf(settings)) : new URL(path, settings.url)
    return askPeer(this.deps.egress, { maxBytes: SMALL_BYTES, ...more, method, url, key })
  }
}

const runPath = (runId: string): string => `/v1/runs/${encodeURIComponent(runId)}`

const notHeard = (answer: Sent): Unheard => {
  if (!answer.ok) return unheard(answer.reason)
  return unheard(answer.status === 200 ? 'unusable' : silenceOfStatus(answer.status), answer.retryAfterMs)
}

/** P1: the same on every try. */
function requestOf({ workflowId, inputs, tag, grant, timeoutMs }: PeerOrder): JsonObject {
  const configurable = {
    ...(grant ? { budget: grant as JsonObject } : {}),
    ...(timeoutMs > 0 ? { runTimeoutMs: timeoutMs } : {}),
  }
  return {
    workflowId,
    inputs,
    tags: [tag],
    ...(Object.keys(configurable).length > 0 ? { configurable } : {}),
  }
}
