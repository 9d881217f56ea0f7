import { accepts } from '../../core/interrupt/interrupt.js'
import type { JsonObject } from '../../core/json.js'
import { type Refusal, refuse } from '../../core/problem.js'
import type { ResolveInterruptCommand } from '../../engine/api.js'
import type { ApiKey, KeyMaker, KeyStore } from '../../engine/ports/keys.js'

/**
 * Who is somebody else, as far as keys can tell (R-VERIFY-24). A name proves nothing: whoever may make keys in another's name can
 * make up a person. So a name counts for as much as those through whom its keys came to be.
 *
 *  1. Two names are one person if either is among the makers of the other, however far back.
 *  2. Or if their keys came through the same maker. Only a key that no other has made, which is one of the host's
 *     configuration, is believed to tell people apart; it does not tell itself from those it has made (1).
 *
 * An answer is judged by the key that brings it; who is only named, as the starter of a run or in a link, by all keys that
 * ever were in that name.
 */
type Somebody = { readonly account: string; readonly principal: string; readonly madeBy?: readonly KeyMaker[] }

type Standing = { readonly self: string; readonly through: ReadonlySet<string>; readonly all: ReadonlySet<string> }

export function isOnePerson(keys: readonly ApiKey[], a: Somebody, b: Somebody): boolean {
  const [one, other] = [standingOf(keys, a), standingOf(keys, b)]
  if (one.all.has(other.self) || other.all.has(one.self)) return true
  return [...one.through].some(maker => other.through.has(maker))
}

function standingOf(keys: readonly ApiKey[], { account, principal, madeBy }: Somebody): Standing {
  const own = keys.filter(key => key.tenant === account && key.principal === principal)
  const lineages = (madeBy ? [madeBy] : own.map(key => key.madeBy)).map(makers => makers.map(nameOf))
  const self = nameOf({ tenant: account, principal })
  return {
    self,
    through: new Set([self, ...lineages.flatMap(makers => makers.slice(1))]),
    all: new Set([self, ...lineages.flat()]),
  }
}

const nameOf = ({ tenant, principal }: KeyMaker): string => JSON.stringify([tenant, principal])

/** Why an answer is no second person's; undefined where none is wanted, nothing is let pass, or it is. */
export async function notSecond(
  keys: Pick<KeyStore, 'listKeys'>,
  { mayNotAccept }: JsonObject,
  value: ResolveInterruptCommand['value'],
  brought: readonly Somebody[],
): Promise<Refusal | undefined> {
  if (!Array.isArray(mayNotAccept) || !accepts(value)) return undefined
  const known = await keys.listKeys()
  for (const who of brought)
    for (const starter of mayNotAccept as string[])
      if (isOnePerson(known, { account: who.account, principal: starter }, who)) return notAnother(who, starter)
  return undefined
}

function notAnother({ principal }: Somebody, starter: string): Refusal {
  const who =
    principal === starter
      ? 'started this run'
      : `is not known to be anybody else than "${starter}", who started this run`
  const advice = 'Keys of both must have come, each by itself, from the key that this host is configured with.'
  const message = `"${principal}" ${who}, and its gate wants a second person to let a result pass. ${advice}`
  return refuse('forbidden', message, { field: 'mayNotAccept' })
}
