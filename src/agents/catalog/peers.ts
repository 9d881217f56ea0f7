import type { Pack } from './pack.js'
import { satisfies } from './versions.js'

/** A pack that may be used, and what it would have liked to find here. */
export type Admitted = { readonly pack: Pack; readonly unmet: readonly string[] }

export type RefusedPeer = { readonly file: string; readonly unmet: readonly string[]; readonly problem: string }

/**
 * R-MANIF-6: a pack that lacks what it needs is refused, and so is whoever needs it in turn; one that lacks only what
 * it would like is admitted and says so. A peer is another pack, or a capability of the host.
 */
export function admitPacks(
  packs: ReadonlyMap<string, Pack>,
  capabilities: ReadonlySet<string>,
): { readonly admitted: readonly Admitted[]; readonly refused: readonly RefusedPeer[] } {
  const standing = new Map(packs)
  const refused: RefusedPeer[] = []
  const unmetOf = (pack: Pack) => unmetPeers(pack, [...standing.values()], capabilities)
  for (;;) {
    const lacking = [...standing].flatMap(([file, pack]) => {
      const unmet = unmetOf(pack)
      const needed = unmet.filter(name => pack.peers[name]?.optional !== true)
      return needed.length === 0 ? [] : [{ file, unmet, problem: refusal(file, pack, needed, [...standing.values()]) }]
    })
    if (lacking.length === 0) break
    refused.push(...lacking)
    for (const { file } of lacking) standing.delete(file)
  }
  return { admitted: [...standing.values()].map(pack => ({ pack, unmet: unmetOf(pack) })), refused }
}

const unmetPeers = (pack: Pack, packs: readonly Pack[], capabilities: ReadonlySet<string>): readonly string[] =>
  Object.entries(pack.peers)
    .filter(([name, { version = '*' }]) => {
      const peer = packs.find(other => other.name === name)
      return !capabilities.has(name) && (peer === undefined || !satisfies(peer.version, version))
    })
    .map(([name]) => name)

function refusal(file: string, { peers }: Pack, needed: readonly string[], packs: readonly Pack[]): string {
  const each = needed.map(name => {
    const found = packs.find(other => other.name === name)?.version
    return `${name} ${peers[name]?.version ?? '*'} (${found === undefined ? 'not installed' : `${found} is installed`})`
  })
  const fix = 'install it under packs/, or mark it as optional'
  return `${file}: pack_peer_dependency_missing: peerDependencies needs ${each.join(', ')}; ${fix}`
}
