import type { JsonObject } from '../../core/json.js'
import { closed, distinct, flag, listOf, mapOf, text, textOf } from './fields.js'
import { capabilities, packageName } from './manifest.js'
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

const agentFile = text(
  'the path of a .yaml, .yml, .json or .md file in the pack',
  file => AGENT_FILE.test(file) && pathProblem(file) === undefined,
)

const FIELDS = closed(
  {
    name: packageName,
    version: text('a version such as 1.2.3', isVersion),
    description: textOf(0, 1024),
    agents: distinct(listOf(agentFile, 1_000)),
    peerDependencies: mapOf(closed({ version: text(RANGE_RULE, isRange), optional: flag })),
    requiresCapabilities: capabilities,
  },
  ['name', 'version'],
)

/** Throws when `pack.json` is not as it should be; see `problemsOf`. */
export async function readPack(folder: SourceFolder): Promise<Pack> {
  const given = await readObject(folder, 'pack.json')
  refuseIf(packFile(folder), FIELDS(given, ''))
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
