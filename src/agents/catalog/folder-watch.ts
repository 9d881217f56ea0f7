import { type FSWatcher, watch } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../engine/ports/clock.js'
import type { Log } from '../../engine/ports/log.js'

/** Editors write a file in several steps; what is quiet for so long is taken to be done. */
const QUIET_MS = 100
const MAX_DEPTH = 8
const MAX_FOLDERS = 1_000

export type FolderWatch = {
  /** Watches the folders there are now. To be called before they are read, so that no change falls between. */
  refresh(): Promise<void>
  close(): void
}

/**
 * Tells when something has changed in the folders of a project. Each folder is watched by itself, because watching a
 * tree is not to be had everywhere.
 */
export function watchFolders(deps: {
  readonly project: string
  /** Folders of the project that are watched with all that is in them, and files beside them. */
  readonly names: readonly string[]
  readonly clock: Clock
  readonly log: Log
  readonly changed: () => void
}): FolderWatch {
  const { project, names, clock, log, changed } = deps
  const watching = new Map<string, FSWatcher>()
  let cancel: (() => void) | undefined
  let closed = false

  const noticed = (): void => {
    cancel?.()
    if (!closed) cancel = clock.after(QUIET_MS, changed)
  }

  const begin = (key: string, folder: string): void => {
    const failed = (error: unknown): void => {
      log.warn({ folder, code: (error as NodeJS.ErrnoException).code }, 'a folder can no longer be watched')
      watching.get(key)?.close()
      watching.delete(key)
    }
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        // In the project's own folder much may happen that nobody here has to do with.
        if (folder !== project || name === null || names.includes(name)) noticed()
      })
      watching.set(key, watcher.on('error', failed))
    } catch (error) {
      failed(error)
    }
  }

  return {
    async refresh() {
      const folders = await foldersOf(project, names)
      if (closed) return
      for (const [key, watcher] of watching) {
        if (folders.has(key)) continue
        watcher.close()
        watching.delete(key)
      }
      for (const [key, folder] of folders) if (!watching.has(key)) begin(key, folder)
    },
    close() {
      closed = true
      cancel?.()
      for (const watcher of watching.values()) watcher.close()
      watching.clear()
    },
  }
}

/** By path and identity: a folder that was removed and made again is another one. */
async function foldersOf(project: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const visit = async (folder: string, depth: number): Promise<void> => {
    if (found.size >= MAX_FOLDERS || depth > MAX_DEPTH) return
    const stat = await presentOr(fs.stat(folder), undefined)
    if (!stat?.isDirectory()) return
    found.set(`${folder} ${stat.dev} ${stat.ino} ${stat.birthtimeMs}`, folder)
    if (folder === project) {
      for (const name of names) await visit(path.join(project, name), depth + 1)
      return
    }
    for (const entry of await presentOr(fs.readdir(folder, { withFileTypes: true }), [])) {
      if (entry.isDirectory() && !entry.name.startsWith('.')) await visit(path.join(folder, entry.name), depth + 1)
    }
  }
  await visit(project, 0)
  return found
}

/** A folder may go while it is looked at. */
async function presentOr<T, Absent>(looking: Promise<T>, absent: Absent): Promise<T | Absent> {
  try {
    return await looking
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return absent
    throw error
  }
}
