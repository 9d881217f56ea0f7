import { childRefusedInput } from '../../core/handoff/child-start.js'
import { peerRunId, type Silence } from '../../core/handoff/peer-work.js'
import type { Json } from '../../core/json.js'
import { type Failure, failure } from '../../core/problem.js'
import type { PeerCreated, PeerOrder } from '../ports/peers.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import { claimAt, heard, notHeard, resting, tagOf } from './at-peer.js'
import type { EffectContext, EffectOf, PerformEffect } from './effect-context.js'
import { effectTrace } from './effect-trace.js'
import { type AttemptResult, runOnce } from './once.js'

/** What the ledger keeps of it; `silent` is never kept. */
type Started =
  | { readonly is: 'created'; readonly runId: string }
  | { readonly is: 'refused'; readonly error: Failure }
  | { readonly is: 'silent'; readonly reason: Silence; readonly retryAfterMs?: number }

/** Peers keep the outcome of a request under its key for 24 hours at least. */
const KEY_HOLDS_MS = 23 * 3_600_000

/**
 * Has a peer begin a piece of work: once, whatever is lost (P1). Claimed before anything leaves the host; a try of which
 * nobody knows what became leaves its claim so that the next one looks first.
 */
export const startPeer: PerformEffect<'start-peer'> = async (context, run, effect, signal) => {
  const at = { run, place: effect }
  const rest = resting(context, at)
  if (rest) return rest.told
  const told = await runOnce<Started>(context, run, claimAt(effect), {
    perform: (id, again, sending) =>
      tryOnce(context, { run, order: orderOf(run, effect, id), effect, again, sending, signal }),
    pack: (_id, outcome) => outcome as unknown as Json,
    unpack: (_id, outcome) => outcome as unknown as Started,
  })
  if (told === undefined) return undefined
  const { outcome } = told
  if (outcome.is === 'silent') return signal.aborted ? undefined : notHeard(context, at, outcome)
  heard(context, at)
  if (outcome.is === 'refused') return { input: childRefusedInput(effect, outcome.error) }
  const { nodeId, since, worker, peer } = effect
  const childRunId = peerRunId(peer, outcome.runId)
  return { input: { type: 'ChildStarted', nodeId, since, worker, childRunId } }
}

type Try = {
  readonly run: LoadedRun
  readonly order: PeerOrder
  readonly effect: EffectOf<'start-peer'>
  readonly again: boolean
  readonly sending: () => void
  readonly signal: AbortSignal
}

async function tryOnce(context: EffectContext, { run, order, effect, again, sending, signal }: Try) {
  const { peer } = effect
  const { peers } = context
  if (!again) {
    const problem = misfit(context, run, effect)
    return problem ? refused(problem) : asFirst(await peers.create(peer, order, sending, signal))
  }
  sending()
  const found = await peers.find(peer, order.tag, signal)
  if (found.is === 'found') return created(found.runId)
  if (found.is === 'unheard') return unknown(found)
  // Nobody can say any more whether there was one: there must be no second.
  if (context.clock.now() - effect.beganAt > KEY_HOLDS_MS) return unknown({ reason: 'unknown_outcome' })
  return asAgain(await peers.create(peer, order, sending, signal))
}

/** Every try before it, if there was one, is known to have created nothing. */
function asFirst(answer: PeerCreated): AttemptResult<Started> {
  switch (answer.is) {
    case 'created':
      return created(answer.runId)
    case 'refused':
      return refused(answer.error)
    default:
      return answer.created === 'no' ? { ...unknown(answer), claim: 'release' } : unknown(answer)
  }
}

/** P2: an earlier try may have created one: that this one did not, is no refusal. */
function asAgain(answer: PeerCreated): AttemptResult<Started> {
  if (answer.is === 'created') return created(answer.runId)
  return unknown(answer.is === 'refused' ? { reason: 'refused' } : answer)
}

const created = (runId: string): AttemptResult<Started> => ({ outcome: { is: 'created', runId }, claim: 'keep' })

const refused = (error: Failure): AttemptResult<Started> => ({ outcome: { is: 'refused', error }, claim: 'keep' })

const unknown = ({ reason, retryAfterMs }: Omit<Extract<Started, { is: 'silent' }>, 'is'>): AttemptResult<Started> => ({
  outcome: { is: 'silent', reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  claim: 'leave',
})

/** Why nothing is sent at all. */
function misfit({ peers, runs }: EffectContext, run: LoadedRun, effect: EffectOf<'start-peer'>): Failure | undefined {
  const { peer, stopping, hiddenInputs, narrowed } = effect
  const no = (code: Parameters<typeof failure>[0], message: string, details = {}) =>
    failure(code, message, { retryable: false, details: { peer, ...details } })
  if (stopping) return no('peer_not_asked', `the run stopped before peer "${peer}" was asked`)
  if (!peers.knows(peer))
    return no(
      'unknown_peer',
      `no peer "${peer}" is configured with a key; add peers.hosts.${peer} with url, hostId and keyRef`,
    )
  if (narrowed)
    return no(
      'peer_terms',
      'outputAttestation.principalScope binds workers of this host alone; leave it out for a peer, whose key says what it may do',
    )
  const limit = Math.min(run.rules.limits.maxDepth, runs.spawner.maxDepth(run.tenant))
  const depth = effect.depth + 1
  if (depth > limit)
    return no('recursion_limit_exceeded', `the run at the peer would be nested ${depth} deep; the limit is ${limit}`, {
      depth,
      limit,
    })
  const [input] = hiddenInputs
  if (input === undefined) return undefined
  const message = `input "${input}" holds a sensitive value, and what peer "${peer}" shows nobody here can say; map a value that may be seen`
  return no('peer_input_sensitive', message, { input })
}

function orderOf(run: LoadedRun, effect: EffectOf<'start-peer'>, id: string): PeerOrder {
  const { workflowId, inputs, grant, timeoutMs, began, cause, depth } = effect
  const { runId } = run
  const caller = { runId, eventId: `${runId}:${began}`, cause, depth }
  const traceparent = effectTrace(run, id)
  return { workflowId, inputs, id, tag: tagOf(id), traceparent, grant, timeoutMs, caller }
}
