import type { JsonObject } from '../../core/json.js'
import { Characters, Closed, DistinctBy, Flag, ListOf, MapOf, May, TextWhere } from '../../core/schema/kinds.js'
import { schemaProblems } from '../../core/schema/problems.js'
import { Capabilities, PackageName } from './manifest.js'
import { pathProblem, readObject, type SourceFolder } from './source-folder.js'
import { refuseIf } from './unusable.js'
import { isRange, isVersion, RANGE_RULE } from './versions.js'

/** Agents and prompts that belong together under one name and version. */
export type Pack = {
  readonly name: string
  readonly version: string
  readonly folder: SourceFolder
  /** Manifest files, by their paths from the pack's folder. */
  readonly agents: readonly string[]
  readonly peers: { readonly [name: string]: Peer }
  readonly requiresCapabilities: readonly string[]
}

export type Peer = { readonly version?: string; readonly optional?: boolean }

const AGENT_FILE = /\.(ya?ml|json|md)$/

const AgentPath = TextWhere(
  'the path of a .yaml, .yml, .json or .md file in the pack',
  file => AGENT_FILE.test(file) && pathProblem(file) === undefined,
)

const PeerSchema = Closed({
  version: May(TextWhere(RANGE_RULE, isRange, { description: 'Which versions will do; any where left out' })),
  optional: May(Flag({ description: 'Missed but not needed' })),
})

export const PackSchema = Closed({
  name: PackageName({ description: 'What other packs name it by' }),
  version: TextWhere('a version such as 1.2.3', isVersion, { description: 'Which one this is' }),
  description: May(Characters(0, 1024, { description: 'What it is for' })),
  agents: May(
    DistinctBy(ListOf(AgentPath, 0, 1_000, { description: 'The files of its agents, from its folder' }), file => file),
  ),
  peerDependencies: May(
    MapOf(/^/, 'the name of a pack or of a capability', PeerSchema, {
      description: 'Packs and capabilities it needs, by name',
    }),
  ),
  requiresCapabilities: May(Capabilities('What the host must provide')),
})

/** Throws when `pack.json` is not as it should be; see `problemsOf`. */
export async function readPack(folder: SourceFolder): Promise<Pack> {
  const given = await readObject(folder, 'pack.json')
  refuseIf(packFile(folder), schemaProblems(PackSchema, given))
  const { name, version, agents, peerDependencies, requiresCapabilities } = given as PackFile
  return {
    name,
    version,
    folder,
    agents: agents ?? [],
    peers: peerDependencies ?? {},
    requiresCapabilities: requiresCapabilities ?? [],
  }
}

export const packFile = ({ shown }: SourceFolder): string => `${shown}pack.json`

type PackFile = JsonObject & {
  readonly name: string
  readonly version: string
  readonly agents?: readonly string[]
  readonly peerDependencies?: { readonly [name: string]: JsonObject & Peer }
  readonly requiresCapabilities?: readonly string[]
}
