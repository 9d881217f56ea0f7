import { randomBytes } from 'node:crypto'
import type { Vault } from '../engine/ports/agents.js'
import type { Clock } from '../engine/ports/clock.js'
import type { DataKeyStore } from '../engine/ports/tenants.js'
import { Lru } from '../lru.js'
import { createVault, type DataVault, KEY_BYTES } from './vault.js'

type Own = { readonly sealing: DataVault; readonly until: number }

type TenantVaultsDeps = {
  /** With the host's own keys: it wraps those of tenants, and opens what was sealed before tenants had any. */
  readonly host: DataVault
  readonly store: DataKeyStore
  readonly clock: Pick<Clock, 'monotonic'>
}

/** How long a key that was looked up is used; after that its tenant may have been erased. */
const TRUST_MS = 10_000
const MAX_KNOWN = 1_000
/** No effect has this id. */
const WRAPPED = 'data key of the tenant'
const OWN_VERSION = 'v2'

/**
 * Seals the contents of each tenant with a key of its own, made at its first use. Once the key is deleted from the
 * store, what it has sealed is lost, wherever a copy of it may be.
 */
export function createTenantVaults({ host, store, clock }: TenantVaultsDeps): Vault {
  const known = new Lru<Own>(MAX_KNOWN)

  const look = async (tenant: string): Promise<DataVault> => {
    const wrapped = (await store.readDataKey(tenant)) ?? (await store.putDataKey(tenant, wrapNew(host, tenant)))
    const sealing = ownVault(host, tenant, wrapped)
    known.set(tenant, { sealing, until: clock.monotonic() + TRUST_MS })
    return sealing
  }

  return {
    async of(tenant) {
      const own = known.get(tenant)
      const sealing = own !== undefined && own.until > clock.monotonic() ? own.sealing : await look(tenant)
      return {
        seal: (id, contents) => sealing.seal(tenant, id, contents),
        open: (id, sealed) => (sealed.startsWith(`${OWN_VERSION}.`) ? sealing : host).open(tenant, id, sealed),
        sealBytes: (id, bytes) => sealing.sealBytes(tenant, id, bytes),
        openBytes: (id, sealed) => (isOwn(sealed) ? sealing : host).openBytes(tenant, id, sealed),
      }
    },
  }
}

const wrapNew = (host: DataVault, tenant: string): string =>
  host.seal(tenant, WRAPPED, randomBytes(KEY_BYTES).toString('base64url'))

/**
 * A key that this host cannot unwrap was made by one with another data key. What it has sealed is lost here, as it
 * would be without it; what comes now is sealed with the host's own.
 */
function ownVault(host: DataVault, tenant: string, wrapped: string): DataVault {
  try {
    const key = Buffer.from(host.open(tenant, WRAPPED, wrapped) as string, 'base64url')
    return createVault([key], OWN_VERSION)
  } catch {
    return host
  }
}

const isOwn = (sealed: Uint8Array): boolean =>
  Buffer.from(sealed.subarray(0, OWN_VERSION.length + 1)).toString('latin1') === `${OWN_VERSION}.`
