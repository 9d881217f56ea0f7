import path from 'node:path'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import { HOST_LIBRARY, HOST_PROMPTS } from '../prompts/host-prompts.js'
import { refText } from '../prompts/ref.js'
import type { FindPrompt } from '../prompts/template.js'
import { type AgentFileContext, readAgent } from './agent-file.js'
import type { CatalogAgent } from './catalog-agent.js'
import { collectPacks, type FileToRead } from './collect.js'
import { type Home, packHome, projectHome } from './home.js'
import { type Pack, packFile, readPack } from './pack.js'
import { type Admitted, admitPacks } from './peers.js'
import { readPrompt } from './prompt-file.js'
import { type LibraryPrompt, promptFinder } from './prompt-library.js'
import { namesIn, openFolder, type SourceFolder } from './source-folder.js'
import { problemsOf, refuseManifest } from './unusable.js'

/** All that can be used, by the file it is from, and what is wrong with the rest. */
export type LoadedCatalog = {
  readonly packs: ReadonlyMap<string, Pack>
  readonly agents: ReadonlyMap<string, CatalogAgent>
  readonly prompts: ReadonlyMap<string, LibraryPrompt>
  readonly find: FindPrompt
  readonly problems: readonly string[]
}

const HOST: readonly LibraryPrompt[] = HOST_PROMPTS.map(template => ({ libraryId: HOST_LIBRARY, template }))

export const NOTHING: LoadedCatalog = {
  packs: new Map(),
  agents: new Map(),
  prompts: new Map(),
  find: promptFinder(HOST),
  problems: [],
}

export type LoadContext = { readonly schemas: SchemaChecker; readonly capabilities: ReadonlySet<string> }

/** Reads everything anew. What cannot be used now stays as it was in `before`; what is gone is gone. */
export async function loadFolder(project: string, context: LoadContext, before: LoadedCatalog): Promise<LoadedCatalog> {
  try {
    return await load(project, context, before)
  } catch (error) {
    return { ...before, problems: problemsOf(error, project) }
  }
}

async function load(project: string, context: LoadContext, before: LoadedCatalog): Promise<LoadedCatalog> {
  const folder = await openFolder(project, '')
  if (folder === undefined) return NOTHING
  const problems: string[] = []
  const packs = await readPacks(folder, before, problems)
  const homes = [await projectHome(folder)]
  for (const admitted of admit(packs, before, context, problems)) {
    homes.push(await packHome(admitted, context.capabilities))
  }
  const prompts = await readPrompts(homes, before, problems)
  const find = promptFinder([...HOST, ...prompts.values()])
  const agents = await readAgents(homes, { ...context, find }, before, problems)
  return { packs, agents, prompts, find, problems }
}

async function readPacks(project: SourceFolder, before: LoadedCatalog, problems: string[]): Promise<Map<string, Pack>> {
  const files: FileToRead<Pack>[] = []
  for (const name of await namesIn(project, 'packs', /^/)) {
    const folder = await openFolder(path.join(project.root, 'packs', name), `packs/${name}/`)
    // Other files may lie beside the packs.
    if (folder !== undefined) files.push({ file: packFile(folder), read: () => packIn(project, folder) })
  }
  return collectPacks(files, ({ name }) => name, before.packs, problems)
}

async function packIn(project: SourceFolder, folder: SourceFolder): Promise<Pack> {
  if (folder.root.startsWith(project.root + path.sep)) return readPack(folder)
  return refuseManifest(
    packFile(folder),
    'is in a folder outside the project, by way of a link; copy the pack into packs/',
  )
}

/** A pack that was admitted once stays, as every file does, when it no longer would be. */
function admit(
  packs: Map<string, Pack>,
  before: LoadedCatalog,
  { capabilities }: LoadContext,
  problems: string[],
): readonly Admitted[] {
  const { admitted, refused } = admitPacks(packs, capabilities)
  const kept = refused.flatMap(({ file, unmet, problem }) => {
    problems.push(problem)
    packs.delete(file)
    const pack = before.packs.get(file)
    if (pack === undefined) return []
    packs.set(file, pack)
    return [{ pack, unmet }]
  })
  return [...admitted, ...kept]
}

const readPrompts = (
  homes: readonly Home[],
  before: LoadedCatalog,
  problems: string[],
): Promise<Map<string, LibraryPrompt>> =>
  collectPacks(
    homes.flatMap(home =>
      filesOf(home, home.promptFiles, async file => ({
        libraryId: home.name,
        template: await readPrompt(home.folder, file),
      })),
    ),
    ({ libraryId, template }) => `${refText(template)} of ${libraryId}`,
    before.prompts,
    problems,
  )

/** Prompts and schemas may lie among the manifests that refer to them. */
function readAgents(
  homes: readonly Home[],
  context: Omit<AgentFileContext, 'refersTo'>,
  before: LoadedCatalog,
  problems: string[],
): Promise<Map<string, CatalogAgent>> {
  const referred = new Set<string>()
  const reading = { ...context, refersTo: (file: string) => void referred.add(file) }
  return collectPacks(
    homes.flatMap(home => filesOf(home, home.agentFiles, file => readAgent(home, file, reading))),
    ({ manifest }) => manifest.agentId,
    before.agents,
    problems,
    file => referred.has(file),
  )
}

const filesOf = <T>({ folder }: Home, files: readonly string[], read: (file: string) => Promise<T>) =>
  files.map(file => ({ file: `${folder.shown}${file}`, read: () => read(file) }))
