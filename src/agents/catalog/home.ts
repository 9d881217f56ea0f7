import path from 'node:path'
import type { Admitted } from './peers.js'
import { namesIn, type SourceFolder } from './source-folder.js'

/** Where agents and prompts live: the project itself, or a pack. Its name is also that of its prompt library. */
export type Home = {
  readonly name: string
  readonly version: string
  readonly folder: SourceFolder
  readonly agentFiles: readonly string[]
  readonly promptFiles: readonly string[]
  /** What all agents of the pack lack here. */
  readonly degraded: readonly string[]
  /** Agents of a project may go without an id, and then have one that begins so. */
  readonly idPrefix?: string
}

const AGENTS = /^(?!readme\.md$).*\.(ya?ml|json|md)$/i
const PROMPTS = /\.(ya?ml|json)$/

const inFolder = (folder: string, names: readonly string[]): readonly string[] => names.map(name => `${folder}/${name}`)

export async function projectHome(folder: SourceFolder): Promise<Home> {
  const name = `local.${wordOf(path.basename(folder.root)) ?? 'project'}`
  return {
    name,
    version: '1.0.0',
    folder,
    agentFiles: inFolder('agents', await namesIn(folder, 'agents', AGENTS)),
    promptFiles: inFolder('prompts', await namesIn(folder, 'prompts', PROMPTS)),
    degraded: [],
    idPrefix: name,
  }
}

export async function packHome({ pack, unmet }: Admitted, capabilities: ReadonlySet<string>): Promise<Home> {
  const { name, version, folder, agents, requiresCapabilities } = pack
  return {
    name,
    version,
    folder,
    agentFiles: agents,
    promptFiles: inFolder('prompts', await namesIn(folder, 'prompts', PROMPTS)),
    degraded: [...unmet, ...requiresCapabilities.filter(capability => !capabilities.has(capability))],
  }
}

/** A name of people's own as a part of an id; undefined when nothing of it is left. */
export function wordOf(name: string): string | undefined {
  const word = name
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
  return word === '' ? undefined : word
}
