import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from '../engine/ports/clock.js'
import { endGroup } from './group.js'

export type ChildOptions = {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  readonly input: string
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Sees all that is printed, chunk by chunk. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', chunk: Buffer) => void
}

export type ChildExit =
  | { readonly how: 'exit'; readonly code: number; readonly said: string }
  | { readonly how: 'signal'; readonly signal: string }
  | { readonly how: 'timeout' | 'aborted' }
  | { readonly how: 'not-started'; readonly code: string }

/** How long the pipes are read after the end; somebody who left the group may hold them open for ever. */
const GRACE_MS = 1_000

/** The end of what was said; all before is read and forgotten. */
const KEPT_BYTES = 4_096

/** Counted is what is written to, not what is reserved: programs with a large address space and little in it may run. */
const MAX_MEMORY_KIB = 1024 * 1024

/** Every second of its time it may keep this many processors busy. */
const PROCESSORS = 4

/** Sets limits, then becomes the command. A limit that is already lower stays. */
const LIMITED = '{ ulimit -c 0; ulimit -d "$1"; ulimit -t "$2"; } 2>/dev/null; shift 2; exec "$@"'

/**
 * Runs a program to its end.
 *
 *  K1  The words of the command are its arguments; no shell reads them.
 *  K2  It gets the given environment and nothing of ours.
 *  K3  It leads a process group of its own, which is ended with it, at the time limit, or when it is called off. Who
 *      leaves the group still has the limits of memory and processor time.
 *  K4  What it prints is read, however much, and only its end is kept.
 */
export function runChild(options: ChildOptions): Promise<ChildExit> {
  const { input, timeoutMs, clock, signal } = options
  if (signal.aborted) return Promise.resolve({ how: 'aborted' })
  return new Promise(resolve => {
    const child = launch(options)
    let stopped: 'timeout' | 'aborted' | undefined
    const stop = (why: 'timeout' | 'aborted') => {
      stopped ??= why
      endGroup(child)
    }
    const callOff = () => stop('aborted')
    signal.addEventListener('abort', callOff, { once: true })
    const disarm = clock.after(timeoutMs, () => stop('timeout'))
    const release = () => {
      disarm()
      signal.removeEventListener('abort', callOff)
    }
    const said = keepEnd(child)
    watchOutput(child, options)
    child.once('error', (error: NodeJS.ErrnoException) => {
      release()
      resolve({ how: 'not-started', code: error.code ?? error.name })
    })
    child.once('exit', (code, by) => {
      release()
      endGroup(child)
      const give = () => {
        forget()
        for (const stream of child.stdio) stream?.destroy()
        resolve(endOf(stopped, code, by, said()))
      }
      const forget = clock.after(GRACE_MS, give)
      child.once('close', give)
    })
    // It need not read what it is given, and may be gone before it has.
    child.stdin?.on('error', () => child.stdin?.destroy())
    child.stdin?.end(input)
  })
}

function launch({ command, cwd, env, timeoutMs }: ChildOptions): ChildProcess {
  const seconds = Math.ceil(timeoutMs / 1_000) * PROCESSORS
  const limits = [String(MAX_MEMORY_KIB), String(seconds)]
  return spawn('/bin/sh', ['-c', LIMITED, 'sh', ...limits, ...command], { cwd, env, stdio: 'pipe', detached: true })
}

function endOf(
  stopped: 'timeout' | 'aborted' | undefined,
  code: number | null,
  by: string | null,
  said: string,
): ChildExit {
  if (stopped !== undefined) return { how: stopped }
  return code === null ? { how: 'signal', signal: by ?? 'a signal' } : { how: 'exit', code, said }
}

function watchOutput({ stdout, stderr }: ChildProcess, { onOutput }: ChildOptions): void {
  if (onOutput === undefined) return
  stdout?.on('data', (chunk: Buffer) => onOutput('stdout', chunk))
  stderr?.on('data', (chunk: Buffer) => onOutput('stderr', chunk))
}

function keepEnd({ stdout, stderr }: ChildProcess): () => string {
  let end: Buffer = Buffer.alloc(0)
  const keep = (chunk: Buffer) => {
    end = Buffer.concat([end, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES)
  }
  stdout?.on('data', keep)
  stderr?.on('data', keep)
  return () => end.toString()
}
