import type { Json } from '../../core/json.js'
import type { Failure } from '../../core/problem.js'
import type { AgentAnswer, AgentFailure, TenantVault } from '../ports/agents.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import type { EffectContext } from './effect-context.js'
import { type AttemptResult, type ClaimDisposition, type Claiming, runOnce } from './once.js'

/** What an agent's effect brought: what the run is told, and what is kept apart from it. */
type Kept<Told, Contents> = AgentAnswer<Told, Contents>

/**
 * An effect of an agent. Its whole outcome is sealed before it is stored: the log tells what the run must know, and
 * only this host, for this tenant, can open the rest.
 */
export async function sealedEffect<Told, Contents>(
  context: EffectContext,
  run: LoadedRun,
  claiming: Claiming,
  perform: (id: string, again: boolean, sending: () => void) => Promise<AttemptResult<Kept<Told, Contents>>>,
): Promise<{ readonly id: string; readonly outcome: Kept<Told, Contents> } | undefined> {
  const { tenant } = run
  const hostId = context.hostId()
  // Before anything happens: what has happened must be sealed whatever becomes of the store.
  const vault = await context.vault.of(tenant)
  let fate: ClaimDisposition = 'keep'
  const done = await runOnce<Kept<Told, Contents>>(context, run, claiming, {
    async perform(id, again, sending) {
      const tried = await perform(id, again, sending)
      fate = tried.claim
      return tried
    },
    pack: (id, outcome) => ({ id, sealed: vault.seal(id, outcome as unknown as Json) }),
    unpack: (id, stored) => open<Kept<Told, Contents>>(context, vault, id, stored) ?? GONE,
  })
  // Only what is stored is what everybody goes by, and only while this host has not been fenced.
  if (done?.outcome.ok && fate === 'keep' && context.hostId() === hostId)
    context.recent.set(`${tenant}\0${done.id}`, done.outcome.contents as Json)
  return done
}

/** Undefined when it cannot be opened here: it was sealed with a key that this host does not have. */
function open<T>({ log }: EffectContext, vault: TenantVault, id: string, stored: Json): T | undefined {
  try {
    return vault.open(id, (stored as { sealed: string }).sealed) as unknown as T
  } catch (error) {
    log.error({ effect: id, error: String(error) }, 'what an agent said cannot be opened')
    return undefined
  }
}

/** What was kept of an earlier effect; undefined when it is gone. */
export async function contentsOf<Contents>(
  context: EffectContext,
  tenant: string,
  id: string,
): Promise<Contents | undefined> {
  // The next call of an invocation mostly comes to the host that made the one before.
  const recent = context.recent.get(`${tenant}\0${id}`)
  if (recent !== undefined) return recent as Contents
  const stored = await context.store.readEffect(id)
  if (stored === undefined) return undefined
  const outcome = open<Kept<unknown, Contents>>(context, await context.vault.of(tenant), id, stored)
  return outcome?.ok ? outcome.contents : undefined
}

/** The answer to the same request, given to this tenant before. */
export async function answeredBefore<Told, Contents>(
  context: EffectContext,
  tenant: string,
  cacheKey: string,
): Promise<Extract<Kept<Told, Contents>, { ok: true }> | undefined> {
  const stored = await context.store.findAnswer(tenant, cacheKey)
  if (stored === undefined) return undefined
  const vault = await context.vault.of(tenant)
  const outcome = open<Kept<Told, Contents>>(context, vault, (stored as { id: string }).id, stored)
  return outcome?.ok ? outcome : undefined
}

export const errorOf = ({ code, message, details, retryable }: AgentFailure): Failure => ({
  code,
  message,
  retryable,
  ...(details === undefined ? {} : { details }),
})

export const GONE: AgentFailure = {
  ok: false,
  code: 'agent_contents_missing',
  message: 'what was said earlier in this invocation is no longer kept; start the run again',
  retryable: false,
}
