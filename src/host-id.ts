import { ConfigError } from './config.js'
import { sha256 } from './digest.js'
import type { Ids } from './engine/ports/clock.js'
import type { HostRegistry } from './engine/ports/hosts.js'

/**
 * The id by which other hosts know this one (R-CAP-6): the operator's, or one that is made once. Its place is the database,
 * because whoever asks about a run must hear the same id from every host that can answer. Others may have recorded it, so
 * one that was given is not exchanged for another.
 */
export async function settleHostId(
  configured: string | undefined,
  { store, ids }: { readonly store: Pick<HostRegistry, 'lastingId'>; readonly ids: Ids },
): Promise<string> {
  if (configured === undefined)
    return store.lastingId({ id: `assay-${sha256(ids.unique()).slice(0, 20)}`, given: false })
  const kept = await store.lastingId({ id: configured, given: true })
  if (kept === configured) return kept
  throw new ConfigError([
    `hostId is ${JSON.stringify(configured)}, and this database is that of host ${JSON.stringify(kept)}: hosts that share a database have one id, which others may have recorded. Set hostId to ${JSON.stringify(kept)}, or leave it out.`,
  ])
}
