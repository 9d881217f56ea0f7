import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { openDatabase, troubleOf } from './sqlite/driver.js'
import { ensurePrivateFile } from './sqlite/private-file.js'

/**
 * Holds a data folder for one process. The operating system lets go of the lock when the process dies, however it
 * dies, so whoever gets it knows that the previous holder is gone and may take over its work at once.
 */
export async function lockDataFolder(folder: string): Promise<() => void> {
  await makeFolder(folder)
  const file = path.join(folder, 'host.lock')
  ensurePrivateFile(file)
  const database = openDatabase(file, 0)
  try {
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (troubleOf(error) === undefined) throw error
    throw new Error(`${folder} is in use by another Assay host; stop it first or choose another folder with --data`)
  }
  return () => database.close()
}

/**
 * Makes the folder and whatever is missing above it, one at a time: where the system takes none, as in `/proc`, Node's
 * own way of making them all never ends.
 */
async function makeFolder(folder: string): Promise<void> {
  let problem = await tryToMake(folder)
  if (problem === 'ENOENT' && path.dirname(folder) !== folder) {
    await makeFolder(path.dirname(folder))
    problem = await tryToMake(folder)
  }
  if (problem !== undefined) throw new Error(`${folder} ${cannotBe(problem)}; choose another data folder with --data`)
}

/** What kept it from being made; undefined when it is there. */
async function tryToMake(folder: string): Promise<string | undefined> {
  try {
    await mkdir(folder, { mode: 0o700 })
    return undefined
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return undefined
    if (code !== '') return code
    throw error
  }
}

const cannotBe = (code: string): string =>
  code === 'EEXIST'
    ? 'is a file, and the host needs a folder'
    : code === 'ENOTDIR'
      ? 'would be inside a file'
      : `cannot be made (${code})`
