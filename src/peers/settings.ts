import type { SecretRef } from '../agents/settings.js'

/** Another OpenWOP host, as the operator of this one describes it. */
export type PeerSettings = {
  /** Its origin. */
  readonly url: string
  /** By which it is known to everybody, and which it must say of itself. */
  readonly hostId: string
  /** Where the key is that this host sends; nothing is handed to a peer without one. */
  readonly keyRef?: SecretRef
  /** Keys of this host with which the peer calls. */
  readonly keyIds: readonly string[]
  /** Public keys by which receipts of its runs are believed, Ed25519 in base64url; without any it is asked for none. */
  readonly receiptKeys: readonly string[]
}

export type PeersSettings = {
  readonly lostAfter: number
  readonly maxOutputBytes: number
  readonly hosts: { readonly [name: string]: PeerSettings }
}

/** Where a host says what it can. */
export const wellKnownOf = ({ url }: Pick<PeerSettings, 'url'>): string => new URL('/.well-known/openwop', url).href
