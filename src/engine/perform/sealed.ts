import type { Json } from '../../core/json.js'
import type { Failure } from '../../core/problem.js'
import type { AgentFailure, Answer } from '../agent-ports.js'
import type { Loaded } from '../cells.js'
import { type Claiming, claimed, type Tried } from './claimed.js'
import type { Shop } from './performing.js'

/** What an agent's effect brought: what the run is told, and what is kept apart from it. */
type Kept<Told, Contents> = Answer<Told, Contents>

/**
 * An effect of an agent. Its whole outcome is sealed before it is stored: the log tells what the run must know, and
 * only this host, for this tenant, can open the rest.
 */
export const sealedEffect = <Told, Contents>(
  shop: Shop,
  run: Loaded,
  claiming: Claiming,
  perform: (id: string, again: boolean) => Promise<Tried<Kept<Told, Contents>>>,
): Promise<{ readonly id: string; readonly outcome: Kept<Told, Contents> } | undefined> =>
  claimed(shop, run, claiming, {
    perform,
    pack(id, outcome) {
      if (outcome.ok) shop.recent.put(`${run.tenant}\0${id}`, outcome.contents as Json)
      return { id, sealed: shop.vault.seal(run.tenant, id, outcome as unknown as Json) }
    },
    unpack: (id, stored) => open<Kept<Told, Contents>>(shop, run.tenant, id, stored),
  })

function open<T>({ vault }: Shop, tenant: string, id: string, stored: Json): T {
  return vault.open(tenant, id, (stored as { sealed: string }).sealed) as unknown as T
}

/** What was kept of an earlier effect; undefined when it is gone. */
export async function contentsOf<Contents>(shop: Shop, tenant: string, id: string): Promise<Contents | undefined> {
  // The next call of an invocation mostly comes to the host that made the one before.
  const recent = shop.recent.get(`${tenant}\0${id}`)
  if (recent !== undefined) return recent as Contents
  const stored = await shop.store.readInvocation(id)
  if (stored === undefined) return undefined
  const outcome = open<Kept<unknown, Contents>>(shop, tenant, id, stored)
  return outcome.ok ? outcome.contents : undefined
}

/** The answer to the same request, given to this tenant before. */
export async function answeredBefore<Told, Contents>(
  shop: Shop,
  tenant: string,
  cacheKey: string,
): Promise<Extract<Kept<Told, Contents>, { ok: true }> | undefined> {
  const stored = await shop.store.findAnswer(tenant, cacheKey)
  if (stored === undefined) return undefined
  const outcome = open<Kept<Told, Contents>>(shop, tenant, (stored as { id: string }).id, stored)
  return outcome.ok ? outcome : undefined
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
