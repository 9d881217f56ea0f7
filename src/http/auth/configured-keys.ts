import type { ApiKey, KeyStore } from '../../engine/ports/keys.js'

/**
 * Keys that come from this host's configuration, in front of those in the store. They are valid while the
 * configuration says so and are never written down; a stored key of the same hash, such as a revoked one, wins.
 */
export const withConfiguredKeys = (store: KeyStore, configured: readonly ApiKey[]): KeyStore => ({
  putKey: key => store.putKey(key),
  listKeys: async () => {
    const stored = await store.listKeys()
    return [...stored, ...configured.filter(key => stored.every(other => other.hash !== key.hash))]
  },
  findKey: async hash => (await store.findKey(hash)) ?? configured.find(key => key.hash === hash),
})
