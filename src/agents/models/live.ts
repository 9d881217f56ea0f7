import { APICallError } from '@ai-sdk/provider'
import type { Egress } from '../../egress/egress.js'
import { fetchThrough } from '../../egress/fetch.js'
import type { AgentFailure, ModelCallRequest } from '../../engine/ports/agents.js'
import type { Clock, Random } from '../../engine/ports/clock.js'
import type { Redactor } from '../../secrets/secrets.js'
import { sleep } from '../../timing/sleep.js'
import type { Spoken } from '../answer/spoken.js'
import type { ModelSettings } from '../settings.js'
import { callOptions } from './call-options.js'
import {
  type Failing,
  failureHalfWay,
  failureOfEgress,
  failureOfStatus,
  isTurnedAway,
  rejected,
  requestTooLarge,
  takenBack,
} from './failure.js'
import { type HeardReply, listen } from './listen.js'
import { observed, type Seen } from './observed.js'
import { BASE_URLS, type LiveKind, languageModel } from './provider.js'
import { reasoningFeed } from './reasoning-feed.js'
import { worstCase } from './request-bound.js'
import { refusalInError, type SafetyRefusal } from './safety.js'
import { waitAfter } from './wait.js'

export type LiveDeps = {
  readonly settings: Pick<ModelSettings, 'timeoutMs' | 'maxTries'>
  readonly egress: Egress
  readonly redact: Redactor
  readonly clock: Clock
  readonly random: Random
}

export type LiveProvider = {
  readonly kind: LiveKind
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
}

export type LiveReply = { readonly ok: true; readonly spoken: Spoken; readonly retries: number } | AgentFailure

/** In all, with what the protocol puts around every word. Nothing is kept, so it may be much. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024
/** Models think before they speak, some for minutes. */
const IDLE_MS = 5 * 60 * 1000

/**
 * A2: one request. It is put again only while the provider turns it away unread, and all of it, with the waiting in
 * between, is under one deadline. From the first sign of an answer on, whatever goes wrong may have been billed.
 */
export async function askProvider(ask: ModelCallRequest, provider: LiveProvider, deps: LiveDeps): Promise<LiveReply> {
  const { settings, clock, random } = deps
  const end = clock.monotonic() + settings.timeoutMs
  const worst = worstCase(ask)
  for (let tries = 1; ; tries += 1) {
    const call: Failing = { provider: ask.provider, model: ask.model, tries, worst }
    const { heard, seen } = await attempt(ask, provider, deps, end - clock.monotonic(), call)
    if (heard?.ok) return { ok: true, spoken: heard.spoken, retries: tries - 1 }
    if (heard !== undefined && heard.why === 'too-large') return requestTooLarge(call)
    const reason = seen.kind === 'status' ? seen.status : seen.kind === 'failed' ? seen.code : undefined
    const wait = waitAfter(tries, seen.kind === 'status' ? seen.retryAfter : undefined, clock.now(), random)
    const isOver = tries >= settings.maxTries || clock.monotonic() + wait >= end
    if (reason === undefined || !isTurnedAway(reason) || isOver) return failureOf(seen, call)
    await sleep(clock, wait, ask.signal)
    if (ask.signal.aborted) return takenBack(call)
  }
}

type Attempt = { readonly heard?: HeardReply; readonly seen: Seen }

async function attempt(
  ask: ModelCallRequest,
  { kind, baseUrl, apiKey }: LiveProvider,
  { egress, redact }: LiveDeps,
  timeoutMs: number,
  { worst }: Failing,
): Promise<Attempt> {
  const { way, seen } = observed(egress)
  // Whatever way this is left, the connection goes with it.
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  ask.signal.addEventListener('abort', leave, { once: true })
  if (ask.signal.aborted) leave()
  const fetch = fetchThrough(way, {
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    idleMs: IDLE_MS,
    ...(baseUrl === undefined ? undefined : { trustedUrl: baseUrl }),
  })
  const reach = { kind, name: ask.provider, baseUrl: baseUrl ?? BASE_URLS[kind], apiKey, fetch }
  try {
    const model = await languageModel(reach, ask.model)
    const { stream } = await model.doStream(callOptions(ask, kind, leaving.signal))
    return { heard: await listen(stream, worst, reasoningFeed(ask, redact)), seen: seen() }
  } catch (error) {
    const refusal = refusalIn(error, seen())
    if (refusal === undefined) return { seen: seen() }
    const spoken: Spoken = { text: '', reasoning: '', calls: [], finish: { kind: 'refused', ...refusal }, usage: worst }
    return { heard: { ok: true, spoken }, seen: seen() }
  } finally {
    ask.signal.removeEventListener('abort', leave)
    leave()
  }
}

/** The libraries throw what they find in a stream before the first word; only a refusal of the content matters in it. */
const refusalIn = (error: unknown, seen: Seen): SafetyRefusal | undefined =>
  (seen.kind === 'status' ? seen.refusal : undefined) ??
  (APICallError.isInstance(error) ? refusalInError(error.data) : undefined)

function failureOf(seen: Seen, call: Failing): AgentFailure {
  switch (seen.kind) {
    case 'nothing':
      return rejected('the request cannot be said in terms of this provider', call)
    case 'failed':
      return failureOfEgress(seen.code, call)
    case 'status':
      return failureOfStatus(seen.status, call)
    case 'began':
      return failureHalfWay(seen.code, call)
  }
}
