import { type Tool as McpTool, SdkHttpError } from '@modelcontextprotocol/client'
import { backoff } from '../../../core/backoff.js'
import { EgressInterrupted } from '../../../egress/stream.js'
import type { Clock } from '../../../engine/ports/clock.js'
import type { Log } from '../../../engine/ports/log.js'
import { SecretMissing, SecretTooShort } from '../../../secrets/secrets.js'
import type { ToolCall } from '../host-tool.js'
import { within } from '../within.js'
import type { OpenChannel } from './channel.js'
import { type Called, openSession, type Session } from './session.js'

/**
 * A configured server: connected when it is first wanted, and again after it has gone.
 *
 *  M1  One connection at a time; whoever wants the server while it is being connected waits for the same.
 *  M2  The first failure may be tried over at once, those that follow it only after pauses that double up to a minute.
 *      A call that was answered, or a life of a minute, ends the row of failures.
 *  M3  A server that lets a call run out of time and then does not answer a ping hangs, and is ended.
 */
export type McpServerConnection = {
  /** Undefined when the server cannot be reached now. */
  list(): Promise<readonly McpTool[] | undefined>
  call(name: string, call: ToolCall): Promise<Called>
  /** Why it cannot be reached. */
  problem(): string | undefined
  close(): Promise<void>
}

export type ServerOptions = {
  readonly name: string
  readonly open: OpenChannel
  readonly clock: Clock
  readonly log: Log
  /** For the handshake, and for the list. */
  readonly timeoutMs: number
}

const PAUSES = { firstMs: 1_000, mostMs: 60_000 }
const STEADY_MS = 60_000

/** The first failure may be forgiven at once. */
export const pauseAfter = (failures: number): number => (failures < 2 ? 0 : backoff(PAUSES, failures - 1))

const UNAVAILABLE: Called = { kind: 'failed', code: 'tool_unavailable' }

/** Calls and lists over whatever connection there is. */
export function createMcpServer(options: ServerOptions): McpServerConnection {
  const { clock } = options
  const closing = new AbortController()
  const connection = createConnection(options, closing.signal)
  const { current, lose } = connection

  async function call(toolName: string, asked: ToolCall, again: boolean): Promise<Called> {
    const session = await current()
    if (session === undefined) return UNAVAILABLE
    const unwatch = watch(session, asked.signal)
    const called = await session.call(toolName, asked).finally(unwatch)
    if (called.kind === 'returned') connection.proved()
    if (called.kind !== 'forgotten') return called
    await lose(session)
    return again ? UNAVAILABLE : call(toolName, asked, true)
  }

  /** M3: looks after the server when the call's time is over before it has answered. */
  function watch(session: Session, signal: AbortSignal): () => void {
    const look = () => void session.responds().then(responds => (responds ? undefined : lose(session, 'it hangs')))
    signal.addEventListener('abort', look, { once: true })
    return () => signal.removeEventListener('abort', look)
  }

  async function list(again: boolean): Promise<readonly McpTool[] | undefined> {
    const session = await current()
    if (session === undefined) return undefined
    const ended = await within(clock, options.timeoutMs, closing.signal, () => session.list())
    if (ended.kind === 'done') return ended.value
    if (ended.kind === 'cancelled') return undefined
    const forgotten = ended.kind === 'threw' && isForgotten(ended.error)
    await lose(session, forgotten ? undefined : 'it does not list its tools')
    return forgotten && !again ? list(true) : undefined
  }

  return {
    list: () => list(false),
    call: (toolName, asked) => call(toolName, asked, false),
    problem: connection.problem,
    close() {
      closing.abort()
      return connection.close()
    },
  }
}

/** The one session there is at a time, and the row of failures to have one (M1, M2). */
function createConnection({ name, open, clock, log, timeoutMs }: ServerOptions, closing: AbortSignal) {
  let opening: Promise<Session | undefined> | undefined
  let live: Session | undefined
  let since = 0
  let failures = 0
  let notBefore = 0
  let problem: string | undefined

  function fail(reason: string): void {
    const now = clock.monotonic()
    failures = live !== undefined && now - since >= STEADY_MS ? 1 : failures + 1
    notBefore = now + pauseAfter(failures)
    problem = `the tool server ${JSON.stringify(name)} cannot be used: ${reason}`
    log.warn({ server: name, reason, failures }, 'a tool server cannot be used')
  }

  /** The connection is of no use any more. Whoever says so first is believed. */
  async function lose(session: Session, reason?: string): Promise<void> {
    if (live !== session) return
    if (reason !== undefined) fail(reason)
    live = undefined
    await session.close()
  }

  async function connect(): Promise<Session | undefined> {
    const ended = await within(clock, timeoutMs, closing, async signal => {
      const channel = await open()
      const session = await openSession({ channel, clock, onEnd: () => void lose(session, 'it has ended') }, signal)
      // Nobody waits for it any more.
      if (signal.aborted) return session.close()
      live = session
    })
    opening = undefined
    if (ended.kind === 'done') {
      since = clock.monotonic()
      problem = undefined
    } else if (ended.kind !== 'cancelled') {
      fail(ended.kind === 'timeout' ? 'it does not answer' : reasonOf(ended.error))
    }
    return live
  }

  async function current(): Promise<Session | undefined> {
    if (closing.aborted) return undefined
    if (live !== undefined) return live
    if (opening === undefined) {
      if (clock.monotonic() < notBefore) return undefined
      opening = connect()
    }
    return opening
  }

  return {
    current,
    lose,
    /** It has answered a call. */
    proved: () => {
      failures = 0
    },
    problem: () => problem,
    async close() {
      await opening
      const last = live
      live = undefined
      await last?.close()
    },
  }
}

const isForgotten = (error: unknown): boolean => error instanceof SdkHttpError && error.status === 404

/** In words that we chose ourselves: what servers and their errors say may hold anything. */
function reasonOf(error: unknown): string {
  if (error instanceof SecretMissing || error instanceof SecretTooShort || error instanceof EgressInterrupted)
    return error.message
  if (error instanceof SdkHttpError) return `it answers with HTTP status ${error.status}`
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) ? `it cannot be started (${code})` : 'there is no handshake'
}
