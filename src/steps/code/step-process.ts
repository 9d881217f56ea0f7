import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { messageLines } from '../../agents/tools/mcp/message-lines.js'
import type { Clock } from '../../engine/ports/clock.js'
import { endGroup, endInheritors, residentBytes } from '../../processes/group.js'
import { type FileKind, FROM_HOST, type FromStep, TO_HOST, type ToStep } from './messages.js'

/**
 * The process of one step.
 *
 *  P1  It gets the environment that is written here, and nothing of ours.
 *  P2  It reads the project, but not the folder of the host's data, and writes into its own home alone, as far as Node keeps
 *      its word; programs that it starts are not held to that.
 *  P3  It leads a process group that is ended with it, at the time limit, or when it is called off.
 *  P4  What it prints is read, however much, and only its end is kept. A message has a length at most.
 *  P5  It ends when it has more memory in use than it may; what it may reserve is bounded by the system.
 */
export type StepPlace = {
  readonly file: string
  /** What it is loaded as; a step where nothing is said. */
  readonly kind?: FileKind
  readonly project: string
  /** The host's own folder, which may lie in the project. */
  readonly data: string
  readonly home: string
  readonly searchPath: string
  readonly memoryMb: number
}

export type StepEnd =
  | { readonly how: 'exit'; readonly code: number }
  | { readonly how: 'signal'; readonly signal: string }
  | { readonly how: 'timeout' | 'aborted' | 'memory' | 'unreadable' }
  | { readonly how: 'not-started'; readonly code: string }

export type StepProcess = {
  send(message: ToStep): void
  stop(why: 'timeout' | 'aborted' | 'unreadable'): void
  readonly ended: Promise<StepEnd>
  /** The end of what it has printed. */
  printed(): string
}

/** As it was built: the process knows no TypeScript but that of the project. */
const MAIN = fileURLToPath(
  import.meta.url.endsWith('.ts')
    ? new URL('../../../dist/steps/code/child-main.js', import.meta.url)
    : new URL('./child-main.js', import.meta.url),
)

const MIB = 1_048_576
const MOST_PRINTED = 8_192
const MOST_MESSAGE = 2 * MIB
const LOOK_MS = 100
const GRACE_MS = 500

/** What Node itself reserves besides what a step has in use. */
const RESERVE_MB = 768

/** Sets limits, then becomes the command. A limit that is already lower stays. */
const LIMITED = '{ ulimit -c 0; ulimit -d "$1"; ulimit -t "$2"; } 2>/dev/null; shift 2; exec "$@"'
const PROCESSORS = 4

export async function startStepProcess(
  place: StepPlace,
  { effectId, timeoutMs, clock }: { readonly effectId: string; readonly timeoutMs: number; readonly clock: Clock },
  heard: (message: FromStep) => void,
): Promise<StepProcess> {
  const limits = [String((place.memoryMb + RESERVE_MB) * 1_024), String(Math.ceil(timeoutMs / 1_000) * PROCESSORS)]
  const command = [process.execPath, ...(await flagsFor(place)), MAIN, place.file, place.kind ?? 'step']
  const marker = `ASSAY_EFFECT_ID=${effectId}`
  const child = spawn('/bin/sh', ['-c', LIMITED, 'sh', ...limits, ...command], {
    cwd: place.project,
    env: { PATH: place.searchPath, HOME: place.home, TMPDIR: place.home, LANG: 'C.UTF-8', ASSAY_EFFECT_ID: effectId },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  return watched(child, { marker, timeoutMs, clock, memoryMb: place.memoryMb }, heard)
}

type Watching = {
  readonly marker: string
  readonly timeoutMs: number
  readonly clock: Clock
  readonly memoryMb: number
}

function watched(
  child: ChildProcess,
  { marker, timeoutMs, clock, memoryMb }: Watching,
  heard: (message: FromStep) => void,
): StepProcess {
  let why: 'timeout' | 'aborted' | 'memory' | 'unreadable' | undefined
  const end = (reason: NonNullable<typeof why>) => {
    why ??= reason
    endGroup(child)
  }
  const disarm = clock.after(timeoutMs, () => end('timeout'))
  let unwatch = (): void => undefined
  const look = () => {
    unwatch = clock.after(LOOK_MS, () => {
      void residentBytes(child).then(bytes => {
        if (bytes !== undefined && bytes > memoryMb * MIB) end('memory')
        else if (child.exitCode === null && child.signalCode === null) look()
      })
    })
  }
  look()
  const printed = keepEnd(child)
  listen(child.stdio[TO_HOST] as Readable, heard, () => end('unreadable'))
  const pipe = child.stdio[FROM_HOST] as Writable
  // It may be gone before it has read what it is told.
  pipe.on('error', () => pipe.destroy())
  const ended = new Promise<StepEnd>(resolve => {
    const over = (told: StepEnd) => {
      disarm()
      unwatch()
      resolve(told)
    }
    child.once('error', (error: NodeJS.ErrnoException) => over({ how: 'not-started', code: error.code ?? error.name }))
    child.once('exit', (code, signal) => {
      endGroup(child)
      const give = () => {
        forget()
        for (const stream of child.stdio) stream?.destroy()
        void endInheritors(marker).finally(() => over(endOf(why, code, signal)))
      }
      // Somebody who left the group may hold the pipes open for ever.
      const forget = clock.after(GRACE_MS, give)
      child.once('close', give)
    })
  })
  return {
    send: message => void (pipe.writable && pipe.write(`${JSON.stringify(message)}\n`)),
    stop: end,
    ended,
    printed,
  }
}

function endOf(
  why: 'timeout' | 'aborted' | 'memory' | 'unreadable' | undefined,
  code: number | null,
  signal: string | null,
): StepEnd {
  if (why !== undefined) return { how: why }
  return code === null ? { how: 'signal', signal: signal ?? 'a signal' } : { how: 'exit', code }
}

function listen(pipe: Readable, heard: (message: FromStep) => void, unreadable: () => void): void {
  const lines = messageLines(
    MOST_MESSAGE,
    line => {
      try {
        heard(JSON.parse(line) as FromStep)
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        unreadable()
      }
    },
    unreadable,
  )
  pipe.on('data', lines)
  pipe.on('error', () => pipe.destroy())
}

function keepEnd({ stdout, stderr }: ChildProcess): () => string {
  let end: Buffer = Buffer.alloc(0)
  const keep = (chunk: Buffer) => {
    end = Buffer.concat([end, chunk.subarray(-MOST_PRINTED)]).subarray(-MOST_PRINTED)
  }
  stdout?.on('data', keep)
  stderr?.on('data', keep)
  return () => end.toString()
}

/** P2: what it may read, file by file of the project, because one of them may be the host's own folder. */
async function flagsFor({ project, data, home, memoryMb }: StepPlace): Promise<string[]> {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'
  const own = await realpath(data).catch(() => data)
  const root = await realpath(project)
  // What is hidden is not meant for it: `.env`, the folder of a repository, a data folder of somebody else's.
  const entries = (await readdir(root)).filter(name => !name.startsWith('.')).map(name => path.join(root, name))
  const real = await Promise.all(entries.map(entry => realpath(entry).catch(() => entry)))
  const readable = [...entries, ...real].filter(entry => entry !== own && !own.startsWith(`${entry}${path.sep}`))
  const reads = new Set([...readable, ...OWN_CODE, home])
  return [
    '--no-warnings',
    `--max-old-space-size=${memoryMb}`,
    permission,
    ...[...reads].map(entry => `--allow-fs-read=${entry}`),
    `--allow-fs-write=${home}`,
    '--allow-child-process',
    '--allow-worker',
    '--allow-addons',
  ]
}

/** This package, and what takes the types out of TypeScript. */
const OWN_CODE = [
  path.resolve(path.dirname(MAIN), '../..'),
  path.dirname(createRequire(import.meta.url).resolve('@swc/wasm-typescript')),
]
