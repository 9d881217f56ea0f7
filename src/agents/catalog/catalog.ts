import type { Clock } from '../../engine/ports/clock.js'
import type { Log } from '../../engine/ports/log.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import type { FindPrompt } from '../prompts/template.js'
import type { CatalogAgent } from './catalog-agent.js'
import { watchFolders } from './folder-watch.js'
import { type LoadedCatalog, loadFolder, NOTHING } from './load.js'

/** The agents of this host: those of the project's `agents/` and those of its packs. */
export interface Catalog {
  get(agentId: string): CatalogAgent | undefined
  /** Sorted by agentId. */
  list(): readonly CatalogAgent[]
  prompt: FindPrompt
  /** What cannot be used, each with its file. */
  problems(): readonly string[]
  /** Reads the files again, also where nobody watches them. */
  refresh(): Promise<void>
  /** Called after an agent or a prompt was changed, added or removed; returns a function that ends it. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

export type CatalogOptions = {
  readonly project: string | undefined
  readonly watch: boolean
  readonly log: Log
  readonly schemas: SchemaChecker
  readonly clock: Clock
  /** What the host provides, by the names that `requiresCapabilities` uses. */
  readonly capabilities: ReadonlySet<string>
}

export async function createCatalog(options: CatalogOptions): Promise<Catalog> {
  const { project, log, clock } = options
  const listeners = new Set<() => void>()
  let shelf = shelve(NOTHING)
  let reading: Promise<void> | undefined
  let again = false
  let closed = false

  const adopt = (loaded: LoadedCatalog): void => {
    const before = shelf
    shelf = shelve(loaded)
    if (shelf.mark !== before.mark) for (const listener of listeners) listener()
  }

  const reload = async (folder: string): Promise<void> => {
    await watching?.refresh()
    const known = new Set(shelf.loaded.problems)
    const loaded = await loadFolder(folder, options, shelf.loaded)
    if (closed) return
    adopt(loaded)
    for (const problem of loaded.problems.filter(one => !known.has(one))) {
      log.warn({ problem }, 'a file of the project cannot be used; its last good version, if any, is kept')
    }
  }

  /** One at a time; a change during a reload leads to another. */
  const changed = (folder: string) => (): Promise<void> => {
    again = true
    reading ??= (async () => {
      while (again && !closed) {
        again = false
        await reload(folder).catch(error => log.error({ error: String(error) }, 'the project could not be read again'))
      }
      reading = undefined
    })()
    return reading
  }

  const watching =
    project !== undefined && options.watch
      ? watchFolders({ project, names: ['agents', 'prompts', 'packs'], clock, log, changed: changed(project) })
      : undefined

  if (project !== undefined) {
    await watching?.refresh()
    shelf = shelve(await loadFolder(project, options, NOTHING))
  }

  return {
    get: agentId => shelf.byId.get(agentId),
    list: () => shelf.agents,
    prompt: (ref, home) => shelf.loaded.find(ref, home),
    problems: () => shelf.loaded.problems,
    refresh: async () => {
      if (project !== undefined) await changed(project)()
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      closed = true
      watching?.close()
      listeners.clear()
      await reading
    },
  }
}

/** One state of the catalogue; it is exchanged as a whole, so nobody sees half a change. */
type Shelf = {
  readonly loaded: LoadedCatalog
  readonly agents: readonly CatalogAgent[]
  readonly byId: ReadonlyMap<string, CatalogAgent>
  /** Differs when anything that can be used does. */
  readonly mark: string
}

function shelve(loaded: LoadedCatalog): Shelf {
  const agents = [...loaded.agents.values()].sort((a, b) => (a.manifest.agentId < b.manifest.agentId ? -1 : 1))
  return {
    loaded,
    agents,
    byId: new Map(agents.map(agent => [agent.manifest.agentId, agent])),
    mark: JSON.stringify([agents.map(({ digest, degraded }) => [digest, degraded]), [...loaded.prompts.values()]]),
  }
}
