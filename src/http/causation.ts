import type { IncomingHttpHeaders } from 'node:http'
import type { RunRequest } from '../engine/api.js'
import { CAUSATION_HEADER, causationIn } from '../peers/causation.js'
import type { Caller } from './auth/key-cache.js'

/** A host that hands work to this one, and the keys it does so with. */
export type CallingPeer = {
  readonly hostId: string
  readonly wellKnownUrl: string
  readonly keyIds: readonly string[]
}

export const CAUSATION_CARRIER = {
  name: 'X-Host-Assay-Causation',
  description: 'The event of a configured peer that led to the run; heard from a key that is bound to that peer',
}

/**
 * P13: the cause of a run on another host. It is believed of a key that is bound to that very host, and otherwise as if it
 * were not there; where that host can be asked, the configuration says. What the caller may do is the key's affair alone.
 */
export function causedBy(
  { headers }: { readonly headers: IncomingHttpHeaders },
  { keyId }: Pick<Caller, 'keyId'>,
  peers: readonly CallingPeer[],
): Pick<RunRequest, 'foreign'> {
  const peer = peers.find(({ keyIds }) => keyIds.includes(keyId))
  const said = peer && causationIn(headers[CAUSATION_HEADER])
  if (!peer || said?.hostId !== peer.hostId) return {}
  const { depth, ...cause } = said
  return { foreign: { parent: { ...cause, wellKnownUrl: peer.wellKnownUrl }, depth: depth + 1 } }
}
