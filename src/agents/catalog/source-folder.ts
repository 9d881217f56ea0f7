import fs from 'node:fs/promises'
import path from 'node:path'
import { isObject, type JsonObject } from '../../core/json.js'
import { DocumentError, parseDocument } from '../../project/document.js'

/** A project or a pack: nothing outside of it is ever read on its behalf. */
export type SourceFolder = {
  /** Its real path, without links. */
  readonly root: string
  /** Its path in messages, `''` or ending in `/`. */
  readonly shown: string
}

const MAX_BYTES = 1024 * 1024
const MAX_FILES = 10_000

/** Undefined when there is no such folder. */
export async function openFolder(place: string, shown: string): Promise<SourceFolder | undefined> {
  const root = await realPath(place)
  return root !== undefined && (await fs.stat(root)).isDirectory() ? { root, shown } : undefined
}

/** Names of the plain entries of a folder that match, sorted; none when it is not there. */
export async function namesIn(folder: SourceFolder, sub: string, pattern: RegExp): Promise<readonly string[]> {
  try {
    const names = (await fs.readdir(path.join(folder.root, sub))).filter(
      name => !name.startsWith('.') && pattern.test(name),
    )
    if (names.length <= MAX_FILES) return names.sort()
    throw new DocumentError(`${folder.shown}${sub}: has ${names.length} files; at most ${MAX_FILES} are read`)
  } catch (error) {
    if (isGone(error)) return []
    throw error
  }
}

/**
 * The text of a file, by its path from the folder's root. Throws DocumentError when the path leads out of the folder,
 * also by way of links, and when it is no file or too large.
 */
export async function readInside(folder: SourceFolder, file: string): Promise<string> {
  const name = `${folder.shown}${file}`
  const real = await realPath(path.join(folder.root, file))
  if (real === undefined) throw new DocumentError(`${name}: there is no such file`)
  if (!real.startsWith(folder.root + path.sep))
    throw new DocumentError(`${name}: is a link out of the folder; copy the file`)
  const stat = await fs.stat(real)
  if (!stat.isFile()) throw new DocumentError(`${name}: is not a file`)
  if (stat.size > MAX_BYTES) throw new DocumentError(`${name}: ${stat.size} bytes; at most ${MAX_BYTES} are allowed`)
  return fs.readFile(real, 'utf8')
}

/** A JSON or YAML file that holds an object. */
export async function readObject(folder: SourceFolder, file: string): Promise<JsonObject> {
  const name = `${folder.shown}${file}`
  const document = parseDocument(await readInside(folder, file), name)
  if (!isObject(document)) throw new DocumentError(`${name}: must hold an object`)
  return document
}

/** What is wrong with a path that a file gives to another, as the rest of a sentence; undefined when nothing is. */
export function pathProblem(ref: string): string | undefined {
  if (path.posix.isAbsolute(ref) || path.win32.isAbsolute(ref) || /^[a-z][a-z0-9+.-]*:/i.test(ref)) {
    return 'must be a path relative to the file it stands in'
  }
  if (/[\\\p{Cc}]/u.test(ref)) return 'must not have \\ or control characters in it; separate folders with /'
  if (ref.split('/').includes('..'))
    return 'must not lead upwards (..); put the file beside this one or in a folder below'
  return undefined
}

async function realPath(place: string): Promise<string | undefined> {
  try {
    return await fs.realpath(place)
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')
