import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import path from 'node:path'
import {
  evidence,
  found,
  type Means,
  type ProbeFinding,
  type ProbeOf,
  type ProbeSubject,
  probeUnavailable,
  unchanging,
} from './probe.js'

const MAX_HASHED_BYTES = 64 * 1024 * 1024

/** A file that work must have left behind, or must not. */
export const probeFile = (probe: ProbeOf<'file'>, subject: ProbeSubject, means: Means): Promise<ProbeFinding> =>
  probe.in === 'workspace' ? probeWorkspace(probe, subject) : probeFolder(probe, subject, means)

/**
 * In the workspace, as whoever is judged sees it. What a file holds is sealed for its tenant, and its digest would tell
 * whoever can guess it: it is not told.
 */
async function probeWorkspace(probe: ProbeOf<'file'>, { files, signal }: ProbeSubject): Promise<ProbeFinding> {
  const { file, sha256 } = probe
  if (files === undefined) return unchanging(file, 'there is no workspace to look at')
  const seen = await files(file)
  signal.throwIfAborted()
  if (seen.is === 'unknown') return unchanging(file, seen.why)
  if (seen.is === 'absent') return says(file, !probe.exists, 'is not there')
  if (!probe.exists) return says(file, false, 'is there, and must not be')
  const { size, wrong } = sizeOf(probe, seen.bytes)
  if (wrong !== undefined) return says(file, false, wrong)
  if (sha256 === undefined) return says(file, true, size)
  const parts = await seen.read()
  if (parts === undefined) return unchanging(file, 'its content was destroyed')
  const hash = createHash('sha256')
  for await (const part of parts) {
    signal.throwIfAborted()
    hash.update(part)
  }
  const holds = hash.digest('hex') === sha256.toLowerCase()
  return says(file, holds, `${size}; its SHA-256 is ${holds ? 'the one' : 'not the one'} that it must have`)
}

/**
 * In the folder of the project. Links are followed to where they end, which must be in that folder, too: nothing outside
 * is looked at.
 */
async function probeFolder(
  probe: ProbeOf<'file'>,
  { signal }: ProbeSubject,
  { workspace }: Means,
): Promise<ProbeFinding> {
  const { file } = probe
  if (workspace === undefined) return probeUnavailable(file, 'this host has no project folder')
  if (!isBelow(file)) return probeUnavailable(file, 'a file is named by its path below the folder, without ".."')
  const root = await realPath(workspace)
  if (root === undefined) return probeUnavailable(file, 'the project has no folder workspace/')
  const real = await realPath(path.join(root, file))
  if (real === undefined) return says(file, !probe.exists, 'is not there')
  if (!real.startsWith(root + path.sep)) return says(file, false, 'leads out of the folder workspace/ of the project')
  if (!probe.exists) return says(file, false, 'is there, and must not be')
  // Neither does a pipe hold us up, nor a link that has just taken the file's place lead anywhere.
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    return await inspectContents(probe, handle, signal)
  } finally {
    await handle.close()
  }
}

async function inspectContents(probe: ProbeOf<'file'>, handle: FileHandle, signal: AbortSignal): Promise<ProbeFinding> {
  const { file, sha256 } = probe
  const stat = await handle.stat()
  if (!stat.isFile()) return says(file, false, 'is not a file')
  const { size, wrong } = sizeOf(probe, stat.size)
  if (wrong !== undefined) return says(file, false, wrong)
  if (sha256 === undefined) return says(file, true, size)
  const hash = await hashOf(handle, signal)
  if (hash === undefined) return probeUnavailable(file, `is over ${MAX_HASHED_BYTES} bytes, too many to hash`)
  const holds = hash === sha256.toLowerCase()
  return says(file, holds, `${size}; its SHA-256 is ${hash}${holds ? '' : ` and must be ${sha256}`}`)
}

function sizeOf({ min_bytes, max_bytes }: ProbeOf<'file'>, bytes: number): { size: string; wrong?: string } {
  const size = `has ${bytes} bytes`
  if (min_bytes !== undefined && bytes < min_bytes)
    return { size, wrong: `${size}; it must have at least ${min_bytes}` }
  if (max_bytes !== undefined && bytes > max_bytes) return { size, wrong: `${size}; it must have at most ${max_bytes}` }
  return { size }
}

/** Undefined when there is too much of it, which its size alone cannot tell: it may be growing. */
async function hashOf(handle: FileHandle, signal: AbortSignal): Promise<string | undefined> {
  const hash = createHash('sha256')
  const chunk = Buffer.alloc(1024 * 1024)
  let size = 0
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(chunk, 0, chunk.length)
    if (bytesRead === 0) return hash.digest('hex')
    size += bytesRead
    if (size > MAX_HASHED_BYTES) return undefined
    hash.update(chunk.subarray(0, bytesRead))
  }
}

const says = (file: string, holds: boolean, detail: string): ProbeFinding =>
  found(holds ? 'held' : 'failed', evidence('artifact_reference', file, detail))

const isBelow = (file: string): boolean =>
  file !== '' && !path.isAbsolute(file) && !file.includes('\0') && !file.split(/[\\/]/).includes('..')

/** Without links; undefined when nothing is there. */
async function realPath(place: string): Promise<string | undefined> {
  try {
    return await realpath(place)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (NOT_THERE.has(code)) return undefined
    throw error
  }
}

const NOT_THERE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'])
