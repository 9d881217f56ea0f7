import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { readLocalKey } from '../../src/client/local-key.js'
import { findServer } from '../../src/client/local-server.js'
import { freePort } from './free-port.js'

export type Crash = { readonly at: number; readonly when: 'before' | 'after' }

export type HostSettings = {
  readonly data: string
  readonly database: string
  readonly project: string
  readonly crash?: Crash
  /** Store methods that count as writes. */
  readonly counted?: readonly string[]
  readonly leaseMs?: number
  readonly hostName?: string
  /** Its clock is ahead by so much, and what it does once in minutes it does several times a second. */
  readonly aheadMs?: number
  readonly limits?: { readonly maxPoisonAttempts?: number }
  /** Further settings, by their path. */
  readonly settings?: { readonly [setting: string]: string }
  /** Its whole environment, as far as settings and secrets go. */
  readonly env?: { readonly [name: string]: string }
  /** A command to run it under, such as strace. */
  readonly under?: readonly string[]
  /** The build it runs, where that is not the repository's own. */
  readonly build?: string
}

/** Writes of a run's life, in the order a run makes them. */
export const RUN_WRITES = ['commit', 'claimEffect', 'finishEffect']

const script = fileURLToPath(new URL('./host-process.mjs', import.meta.url))

/** What tests read from answers; everything is there only sometimes. */
type Answered = {
  readonly runId: string
  readonly status: string
  readonly runs: readonly { readonly runId: string; readonly status: string }[]
  readonly error?: unknown
  readonly webhookId: string
  readonly secret: string
  readonly deliveries: readonly { readonly state: string; readonly runId: string; readonly sequence: number }[]
  readonly divergedAtSeq: number | null
}

type Death = { readonly code: number | null; readonly signal: string | null }
type Started = { readonly child: ChildProcess; readonly exited: Promise<Death>; readonly build: string | undefined }

/** Processes that have stopped their host and could run another: to start one costs more than all it does in a test. */
const idle: Started[] = []

function idleWith(build: string | undefined): Started | undefined {
  const found = idle.findIndex(one => one.build === build)
  return found < 0 ? undefined : idle.splice(found, 1)[0]
}

function startProcess(under: readonly string[], build?: string): Started {
  const [command = '', ...rest] = [...under, process.execPath, script, ...(build === undefined ? [] : [build])]
  const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'pipe'] })
  // A test that failed half-way must not leave a host behind.
  const leave = () => child.kill('SIGKILL')
  process.once('exit', leave)
  child.once('exit', () => process.off('exit', leave))
  // A process may die before it has read what it is told; whoever waits for it sees that.
  child.stdin.on('error', () => undefined)
  // `close` comes after the last of its output.
  return { child, build, exited: once(child, 'close').then(([code, signal]) => ({ code, signal })) }
}

/** A host process under test. */
export class HostProcess {
  readonly child: ChildProcess
  readonly exited: Promise<Death>
  /** What each of its counted writes was, once it has stopped. */
  trace: readonly string[] = []
  #output = ''
  #errors = ''

  private constructor(
    private readonly started: Started,
    readonly settings: HostSettings,
  ) {
    const { child, exited } = started
    this.child = child
    this.exited = exited
    child.stdout!.setEncoding('utf8').on('data', text => {
      this.#output += text
    })
    child.stderr!.setEncoding('utf8').on('data', text => {
      this.#errors += text
    })
  }

  static async spawn(settings: HostSettings): Promise<HostProcess> {
    const {
      data,
      database,
      project,
      crash,
      counted = RUN_WRITES,
      leaseMs = 10_000,
      hostName = 'host',
      under = [],
      limits,
      aheadMs,
      settings: further = {},
      env = {},
      build,
    } = settings
    const overrides = {
      data,
      database,
      project,
      port: String(await freePort()),
      conformance: 'true',
      leaseMs: String(leaseMs),
      hostName,
      'limits.maxPoisonAttempts': String(limits?.maxPoisonAttempts ?? 5),
      ...further,
    }
    const started = (under.length === 0 ? idleWith(build) : undefined) ?? startProcess(under, build)
    started.child.stdin!.write(`${JSON.stringify({ overrides, env, cwd: data, crash, counted, aheadMs })}\n`)
    return new HostProcess(started, settings)
  }

  /** Its address, or undefined when it died before it served. */
  async url(): Promise<string | undefined> {
    let gone = false
    void this.exited.then(() => {
      gone = true
    })
    await until('the host to serve or die', () => this.#output.includes('\n') || gone)
    return this.#output.includes('"url"')
      ? (JSON.parse(this.#output.split('\n')[0]!) as { url: string }).url
      : undefined
  }

  /** Tells a serving host to die at a write, counted from now on. */
  async arm(crash: Crash): Promise<void> {
    const before = this.#armed()
    this.child.stdin!.write(`${JSON.stringify({ arm: crash })}\n`)
    await until('the host to be armed', () => this.#armed() > before)
  }

  #armed(): number {
    return this.#output.split('"armed"').length - 1
  }

  /** Sends a signal to the host itself, also when it runs under another command. */
  async signal(name: NodeJS.Signals): Promise<void> {
    if (this.settings.under === undefined) this.child.kill(name)
    else process.kill((await findServer(this.settings.data))!.pid, name)
  }

  /** Stops it in good order and tells how many counted writes it made. */
  async finish(): Promise<number> {
    const writes = await this.#stopped()
    this.child.stdin!.end()
    await this.exited
    return writes
  }

  /** The same, but the process is kept for another host. */
  async handOver(): Promise<number> {
    const writes = await this.#stopped()
    for (const output of [this.child.stdout!, this.child.stderr!]) output.removeAllListeners('data')
    idle.push(this.started)
    return writes
  }

  async #stopped(): Promise<number> {
    await this.signal('SIGTERM')
    let gone = false
    void this.exited.then(() => {
      gone = true
    })
    const told = () => this.#output.split('\n').find(text => text.includes('"writes"'))
    await until('the host to stop', () => told() !== undefined || gone)
    const line = told()
    if (!line) throw new Error(`the host did not stop in good order: ${this.#errors}`)
    const { writes, trace } = JSON.parse(line) as { writes: number; trace: readonly string[] }
    this.trace = trace
    return writes
  }

  get errors(): string {
    return this.#errors
  }

  get output(): string {
    return this.#output
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: Answered }> {
    const url = await this.url()
    if (url === undefined) throw new Error(`the host died before it served: ${this.#errors}`)
    const key = await readLocalKey(this.settings.data)
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Answered }
  }
}

export const isTerminal = (status: string): boolean => ['completed', 'failed', 'cancelled'].includes(status)

/** Waits for a condition, not for luck: fails with what was waited for when the deadline passes. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadlineMs = 120_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + deadlineMs
  for (;;) {
    const result = await probe()
    if (result) return result as NonNullable<T>
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
