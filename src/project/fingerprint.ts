import { createHash } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'
import { CONFIG_FILES } from './config-file.js'

/** Folders whose files a host takes up again while it runs. */
const FOLDERS = ['workflows', 'agents', 'prompts', 'packs', 'tools', 'steps', 'gates', 'intents', 'knowledge', 'goals']

/** What of a project is looked at for changes: those folders, its configuration, and the script of the offline model. */
export const WATCHED_NAMES: readonly string[] = [...FOLDERS, ...CONFIG_FILES, 'scripted.yaml']

export const isConfigFile = (file: string): boolean => CONFIG_FILES.includes(file)

/** Every such file with the hash of what is in it. */
export type Fingerprint = ReadonlyMap<string, string>

export async function fingerprintOf(project: string): Promise<Fingerprint> {
  const found = new Map<string, string>()
  for (const name of WATCHED_NAMES)
    for (const file of await filesAt(project, name)) {
      const bytes = await presentOr(fs.readFile(path.join(project, file)), undefined)
      if (bytes !== undefined) found.set(file, createHash('sha256').update(bytes).digest('hex'))
    }
  return found
}

async function filesAt(project: string, name: string): Promise<string[]> {
  if (!FOLDERS.includes(name)) return [name]
  const entries = await presentOr(fs.readdir(path.join(project, name), { recursive: true }), [])
  return entries.filter(file => !path.basename(file).startsWith('.')).map(file => path.join(name, file))
}

export type Change = { readonly file: string; readonly became: 'changed' | 'added' | 'removed' }

/** In the order of the files' names. */
export function changesBetween(before: Fingerprint, now: Fingerprint): Change[] {
  const files = [...new Set([...before.keys(), ...now.keys()])].sort()
  return files
    .filter(file => before.get(file) !== now.get(file))
    .map(file => ({ file, became: !now.has(file) ? 'removed' : before.has(file) ? 'changed' : 'added' }))
}

/** Files and folders come and go, and a folder is no file. */
async function presentOr<T, Absent>(reading: Promise<T>, absent: Absent): Promise<T | Absent> {
  try {
    return await reading
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return absent
    throw error
  }
}
