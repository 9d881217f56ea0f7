import path from 'node:path'
import type { SecretRef } from '../agents/settings.js'
import { patternOf } from '../core/names.js'
import { Closed, ListOf, MapOf, Matching, May, WebAddress } from '../core/schema/kinds.js'
import type { PeerSettings, PeersSettings } from '../peers/settings.js'
import { placedSecret, SecretRefSchema } from './secret-ref.js'

/** 32 bytes, in the one way to write them. */
const ED25519 = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

const Peer = Closed({
  url: WebAddress({ description: 'where it is, without a path; it may be on this machine or its network' }),
  hostId: Matching(new RegExp(patternOf('hostId')), 'the id that it advertises', {
    description: 'the `hostId` that it advertises; nothing is sent to a host that says it is another one',
  }),
  keyRef: May(SecretRefSchema),
  keyIds: May(
    ListOf(Matching(new RegExp(patternOf('keyId')), 'the id of a key'), 0, 100, {
      description: 'ids of keys of this host with which the peer calls',
    }),
  ),
  receiptKeys: May(
    ListOf(
      Matching(ED25519, 'an Ed25519 public key in base64url, the `x` of a key of its `GET /v1/audit/keys`'),
      0,
      10,
      {
        description:
          'public keys by which receipts of its runs are believed, each the `x` of a key of its `GET /v1/audit/keys`; without any it is asked for none',
      },
    ),
  ),
})

/** Other hosts that this one works with, by the names that workers and gates know them by. */
export const PeerHostsSchema = MapOf(
  new RegExp(patternOf('peerName')),
  'the name of a peer: 1 to 32 of a-z, 0-9 and -, first a letter',
  Peer,
  {
    description: 'other hosts to which work can be handed, or which hand work over ([peers](../guides/peers.md))',
    default: {},
    'x-must-be': 'an object that names peers, each with url, hostId and, as needed, keyRef and keyIds',
  },
)

type Given = {
  readonly [name: string]: Omit<PeerSettings, 'keyIds' | 'receiptKeys'> &
    Partial<Pick<PeerSettings, 'keyIds' | 'receiptKeys'>>
}

/** Relative paths of keys start at `folder`. */
export const peersWithin = (
  section: Omit<PeersSettings, 'hosts'> & { readonly hosts: Given },
  folder: string,
): PeersSettings =>
  Object.freeze({
    ...section,
    hosts: Object.fromEntries(
      Object.entries(section.hosts).map(([name, { keyRef, keyIds = [], receiptKeys = [], ...peer }]) => [
        name,
        {
          ...peer,
          keyIds,
          receiptKeys,
          ...(keyRef ? { keyRef: placedSecret(keyRef as SecretRef, path.resolve(folder)) } : {}),
        },
      ]),
    ),
  })

/** What is wrong with several of them together, or with an address. */
export function peerProblems({ hosts }: PeersSettings, ownHostId?: string): string[] {
  const named = Object.entries(hosts)
  const at = (name: string) => `peers.hosts.${name}`
  const twice = <T>(
    values: readonly (readonly [string, T])[],
    say: (first: string, second: string, value: T) => string,
  ) =>
    values.flatMap(([name, value], i) => {
      const earlier = values.slice(0, i).find(([other, same]) => same === value && other !== name)
      return earlier ? [say(earlier[0], name, value)] : []
    })
  return [
    ...named.flatMap(([name, { url }]) =>
      new URL(url).href === `${new URL(url).origin}/`
        ? []
        : [`${at(name)}.url must be an origin without a path, such as ${new URL(url).origin}`],
    ),
    ...named.flatMap(([name, { hostId }]) =>
      hostId === ownHostId ? [`${at(name)}.hostId is that of this host; a host is no peer of its own`] : [],
    ),
    ...twice(
      named.map(([name, { hostId }]) => [name, hostId]),
      (first, second) => `${at(second)}.hostId is that of ${at(first)} as well; each host has an id of its own`,
    ),
    ...twice(
      named.flatMap(([name, { keyIds }]) => keyIds.map(keyId => [name, keyId] as const)),
      (first, second, keyId) =>
        `${at(second)}.keyIds names ${keyId}, which is a key of ${at(first)}; a key is one peer’s`,
    ),
  ]
}
