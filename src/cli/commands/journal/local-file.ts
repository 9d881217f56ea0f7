import fs from 'node:fs/promises'
import { UsageError } from '../../terminal/usage-error.js'

/** What is wrong with a file here is said like what is wrong with one there. */
export async function readBytesOf(file: string, said = (problem: string): string => problem): Promise<Buffer> {
  try {
    return await fs.readFile(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new UsageError(said(`${file}: no such file`))
    if (code === 'EISDIR') throw new UsageError(said(`${file} is a folder; name a file`))
    throw error
  }
}
