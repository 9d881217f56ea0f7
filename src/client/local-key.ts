import { randomBytes } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'

/** The key that a server on a loopback address makes for its own user, kept where only that user can read it. */
export const localKeyFile = (data: string): string => path.join(data, 'local-key')

export async function readLocalKey(data: string): Promise<string | undefined> {
  const text = await readIfPresent(localKeyFile(data))
  return text?.trim() || undefined
}

/** The local key of this data folder, made on first use. Two hosts that start at once end up with the same key. */
export async function ensureLocalKey(data: string): Promise<string> {
  const existing = await readLocalKey(data)
  if (existing !== undefined) return existing
  await fs.mkdir(data, { recursive: true, mode: 0o700 })
  const unique = randomBytes(32).toString('base64url')
  const draft = `${localKeyFile(data)}.${unique.slice(0, 8)}`
  await fs.writeFile(draft, `hk_local_${unique}\n`, { mode: 0o600, flag: 'wx' })
  try {
    // A link appears complete or not at all, and never replaces a key that another process made meanwhile.
    await fs.link(draft, localKeyFile(data))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await fs.rm(draft)
  }
  const key = await readLocalKey(data)
  if (key === undefined) throw new Error(`${localKeyFile(data)} is empty; delete it and start again`)
  return key
}

export async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await fs.readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
