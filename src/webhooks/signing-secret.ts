import type { UnreadableSecret } from '../engine/api.js'
import type { Webhook } from '../engine/ports/deliveries.js'
import type { DataVault } from '../vault/vault.js'

/**
 * Signing secrets as they stand in the database: sealed, so that whoever reads it cannot sign. Older hosts stored them
 * in plain text, in hexadecimal, which no sealed one begins like; those are good until they are sealed.
 */
const SEALED = 'sealed:'

type Subscription = Pick<Webhook, 'tenant' | 'webhookId' | 'secret'>

export const isSealed = ({ secret }: Subscription): boolean => secret.startsWith(SEALED)

export const sealedSecret = (vault: DataVault, { tenant, webhookId, secret }: Subscription): string =>
  SEALED + vault.seal(tenant, idOf(webhookId), secret)

/** Throws where it was sealed with a key that this host has not got, or was changed since. */
export const openSecret = (vault: DataVault, webhook: Subscription): string =>
  isSealed(webhook)
    ? String(vault.open(webhook.tenant, idOf(webhook.webhookId), webhook.secret.slice(SEALED.length)))
    : webhook.secret

type Opened = { readonly secret: string } | { readonly secret: undefined; readonly why: UnreadableSecret }

/** The same for who only lists: one that does not open is no reason to show none. */
export function openedSecret(vault: DataVault, webhook: Subscription): Opened {
  try {
    return { secret: openSecret(vault, webhook) }
  } catch (error) {
    const why = error instanceof Error ? UNREADABLE.get(error.name) : undefined
    if (why === undefined) throw error
    return { secret: undefined, why }
  }
}

/** What a vault throws, by its name. */
const UNREADABLE: ReadonlyMap<string, UnreadableSecret> = new Map([
  ['DataKeyUnknown', 'data-key-missing'],
  ['SealBroken', 'secret-changed'],
])

/** The vault keeps other things under ids of its own. */
const idOf = (webhookId: string): string => `webhook ${webhookId}`
