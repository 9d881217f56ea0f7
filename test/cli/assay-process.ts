import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../support/free-port.js'
import { runHere } from './command-line.js'

/** The real `bin/assay`, run as a user runs it: as a process, in a folder, with an environment of its own. */
export const repository = path.resolve(import.meta.dirname, '../..')

export type Result = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type Running = { readonly child: ChildProcess; readonly done: Promise<Result>; readonly said: () => string }

/** Nothing of the developer's own settings reaches a command here or in a process, and no key that somebody pays for. */
const OWN = /^(ASSAY_(?!TEST_)|DATABASE_URL|OPENAI_|ANTHROPIC_|GOOGLE_)/
for (const name of Object.keys(process.env).filter(name => OWN.test(name))) delete process.env[name]

/** A command that hangs is a failure with its output, not a test that never ends; a server is meant to stay. */
const HUNG_MS = 300_000

export function startAssay(
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
): Running {
  const child = spawn(process.execPath, [path.join(repository, 'bin/assay'), ...args], {
    cwd: options.cwd ?? os.tmpdir(),
    env: { ...process.env, NO_COLOR: '1', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const running = observe(child, options.input)
  const end = () => child.kill('SIGKILL')
  const timer = args[0] === 'serve' ? undefined : setTimeout(end, HUNG_MS)
  // A test that failed half-way must not leave a server behind.
  process.once('exit', end)
  child.once('exit', () => {
    clearTimeout(timer)
    process.off('exit', end)
  })
  return running
}

export function observe(child: ChildProcess, input = ''): Running {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', chunk => {
    stdout += chunk
  })
  child.stderr?.setEncoding('utf8').on('data', chunk => {
    stderr += chunk
  })
  child.stdin?.end(input)
  const done = new Promise<Result>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, stdout, stderr }))
  })
  return { child, done, said: () => stdout + stderr }
}

/** Resolves when the process has said something that matches; rejects when it ends first. */
export async function until(running: Running, pattern: RegExp, timeoutMs = 100_000): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(running.said())
      if (match === null) return
      clearTimeout(timer)
      resolve(match)
    }
    const fail = (why: string) => reject(new Error(`${why} before ${pattern}:\n${running.said()}`))
    const timer = setTimeout(() => fail(`${timeoutMs} ms passed`), timeoutMs)
    running.child.stdout?.on('data', look)
    running.child.stderr?.on('data', look)
    running.child.on('exit', () => fail('the process ended'))
    look()
  })
}

/** What git has of this repository, as it is now: what a clone would have. */
export function copyRepository(target: string): void {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: repository,
    encoding: 'utf8',
  })
  for (const name of listed.split('\0').filter(name => name !== '' && fs.existsSync(path.join(repository, name)))) {
    fs.cpSync(path.join(repository, name), path.join(target, name))
  }
}

/** npm, its shell and the server: whatever a failed test has left of those that were started `detached`. */
export function endGroup({ child }: Running, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-(child.pid as number), signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

export type Server = {
  readonly data: string
  readonly url: string
  readonly running: Running
  /** Runs a command, in this process, against this server, found through its data folder alone. */
  readonly assay: (...args: string[]) => Promise<Result>
  /** The same with `--json`, parsed. */
  readonly json: (...args: string[]) => Promise<Result & { readonly value: Json }>
  readonly stop: (signal?: NodeJS.Signals) => Promise<Result>
}

// biome-ignore lint/suspicious/noExplicitAny: what a command printed has no type until the test looks at it
type Json = any

export const temporaryFolder = (): string => fs.mkdtempSync(path.join(os.tmpdir(), 'assay-cli-'))

export async function startServer(
  data: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Server> {
  // What shows a newcomer what this is would be in the way of nearly every test.
  const shown = args.includes('--demo') ? [] : ['--no-demo']
  const rest = args.filter(arg => arg !== '--demo')
  const running = startAssay(
    ['serve', '--port', String(await freePort()), '--data', data, '--log-level', 'error', ...shown, ...rest],
    { env },
  )
  const [, url] = await until(running, /is serving at (\S+)[\s\S]*try/)
  const assay = async (...command: string[]) => {
    const result = await runHere(['--data', data, ...command])
    const { exitCode, signalCode } = running.child
    if ((exitCode ?? signalCode) === null) return result
    throw new Error(`the server ended (${exitCode ?? signalCode}) before ${command.join(' ')}:\n${running.said()}`)
  }
  return {
    data,
    url: url as string,
    running,
    assay,
    json: async (...command) => {
      const result = await assay(...command, '--json')
      if (result.stdout === '')
        throw new Error(`${command.join(' ')} printed nothing (${result.code}):\n${result.stderr}`)
      return { ...result, value: JSON.parse(result.stdout) }
    },
    stop: (signal = 'SIGTERM') => {
      running.child.kill(signal)
      return running.done
    },
  }
}
