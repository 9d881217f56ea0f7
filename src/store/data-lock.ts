import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { openDatabase, troubleOf } from './sqlite/driver.js'
import { ensurePrivateFile } from './sqlite/private-file.js'

/**
 * Holds a data folder for one process. The operating system lets go of the lock when the process dies, however it
 * dies, so whoever gets it knows that the previous holder is gone and may take over its work at once.
 */
export async function lockDataFolder(folder: string): Promise<() => void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
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
