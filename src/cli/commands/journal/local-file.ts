import { createWriteStream, openAsBlob } from 'node:fs'
import fs from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UsageError } from '../../terminal/usage-error.js'

/** What is wrong with a file here is said like what is wrong with one there. */
export const readBytesOf = (file: string): Promise<Buffer> => told(file, () => fs.readFile(file))

/** A file here that is read as it is sent; what is none, such as a pipe, is read at once. */
export const blobOf = (file: string, said?: (problem: string) => string): Promise<Blob> =>
  told(
    file,
    async () =>
      (await fs.stat(file)).isFile() ? openAsBlob(file) : new Blob([new Uint8Array(await fs.readFile(file))]),
    said,
  )

async function told<T>(file: string, read: () => Promise<T>, said = (problem: string): string => problem): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new UsageError(said(`${file}: no such file`))
    if (code === 'EISDIR') throw new UsageError(said(`${file} is a folder; name a file`))
    throw error
  }
}

/** Puts it into a file as it comes. What was there before stays until all of it is here; how many bytes it has. */
export async function saveAs(out: string, bytes: ReadableStream<Uint8Array>): Promise<number> {
  const before = await fs.stat(out).catch(absent)
  const isPlain = before?.isFile() ?? true
  const target = before && isPlain ? await fs.realpath(out) : out
  const draft = isPlain ? `${target}.part` : target
  const file = createWriteStream(draft, { mode: before?.mode ?? 0o600 })
  try {
    await pipeline(Readable.fromWeb(bytes as never), file)
    if (isPlain) await fs.rename(draft, target)
    return file.bytesWritten
  } catch (error) {
    if (isPlain) await fs.rm(draft, { force: true })
    throw error
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
