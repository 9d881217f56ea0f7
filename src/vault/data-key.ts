import { randomBytes } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'

/**
 * What a vault seals with, one key per line, newest first. A data folder makes its first key itself; two hosts that
 * start at once end up with the same one. To change the key, put a new line first: without the old lines, what they
 * sealed is lost.
 */
export const dataKeyFile = (data: string): string => path.join(data, 'data.key')

const KEY = /^[A-Za-z0-9_-]{43}$/

export async function ensureDataKey(data: string): Promise<Buffer[]> {
  const file = dataKeyFile(data)
  await fs.mkdir(data, { recursive: true, mode: 0o700 })
  const lines = (await readIfPresent(file)) ?? (await create(file))
  const keys = lines.split('\n').filter(line => line !== '')
  // Never a new key in place of one that cannot be read: everything that was sealed would be lost unnoticed.
  if (keys.length === 0 || !keys.every(key => KEY.test(key))) {
    throw new Error(`${file} does not hold data keys; put back the file that was there`)
  }
  return keys.map(key => Buffer.from(key, 'base64url'))
}

/** A link appears complete or not at all, and never replaces a file that another process made meanwhile. */
async function create(file: string): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await fs.writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    await fs.link(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await fs.rm(draft)
  }
  // What is sealed must not survive a power cut that its key does not.
  const folder = await fs.open(path.dirname(file))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
  return fs.readFile(file, 'utf8')
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await fs.readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
