import { type ChildProcess, spawn } from 'node:child_process'
import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  parseJSONRPCMessage,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import type { ToolCode } from '../../../core/invocation/tool-codes.js'
import { isObject } from '../../../core/json.js'
import type { Clock } from '../../../engine/ports/clock.js'
import type { Log } from '../../../engine/ports/log.js'
import type { McpServer } from '../../settings.js'
import type { Channel } from './channel.js'
import { messageLines } from './message-lines.js'
import type { StderrTail } from './stderr-tail.js'

/** Time to leave before it is ended for good. */
const GRACE_MS = 2_000

/** What a message that nobody asked for counts besides its bytes, for the work that it makes. */
const UNASKED_COST = 1_024

export type StdioOptions = {
  readonly name: string
  readonly server: Extract<McpServer, { kind: 'stdio' }>
  /** The server's own environment, with secrets in it. */
  readonly env: { readonly [name: string]: string }
  readonly maxMessageBytes: number
  readonly stderr: Pick<StderrTail, 'heard'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * A server that runs as a child of this process and talks over its pipes.
 *
 *  C1  It gets the environment that the operator named, besides PATH and HOME; nothing else of ours.
 *  C2  It leads a process group of its own, which is ended with it: helpers do not outlive it.
 *  C3  No message is held that is larger than the limit, nor read on without end what is not an answer; who sends such
 *      is ended.
 *  C4  What it writes to stderr is counted, and its end is kept for the operator alone (`stderr-tail.ts`); the log has none of it.
 */
export function stdioChannel(options: StdioOptions): Channel {
  const { maxMessageBytes, clock } = options
  let child: ChildProcess | undefined
  let broke: ToolCode | undefined
  /** Requests that are not answered yet, and what has come since the last answer to one. */
  const asked = new Set<RequestId>()
  let unasked = 0
  let over: Promise<void> = Promise.resolve()

  const transport: Transport = {
    start: () =>
      new Promise((resolve, reject) => {
        const started = launch(options)
        child = started
        over = endOf(started, options, () => {
          transport.onclose?.()
          transport.onclose = undefined
        })
        started.once('spawn', resolve)
        started.on('error', reject)
        started.stdin?.on('error', error => transport.onerror?.(error))
        started.stdout?.on('data', messageLines(maxMessageBytes, receive, tooMuch))
      }),
    async send(message) {
      if (child?.stdin?.writable !== true) throw new Error('the server has ended')
      if (isJSONRPCRequest(message)) asked.add(message.id)
      child.stdin.write(serializeMessage(message))
    },
    async close() {
      const leader = child
      if (leader?.pid === undefined) return
      const isGone = leader.exitCode !== null || leader.signalCode !== null
      leader.stdin?.end()
      // Once it is gone its group is ended, and its number may be somebody else's.
      if (!isGone) endGroup(leader, 'SIGTERM')
      const disarm = clock.after(GRACE_MS, () => isGone || endGroup(leader, 'SIGKILL'))
      await over
      disarm()
    },
  }

  function receive(line: string): void {
    unasked += line.length
    try {
      const said = JSON.parse(line)
      if (isIdleNotice(said)) return
      const message = parseJSONRPCMessage(said)
      if (isJSONRPCResponse(message) && message.id !== undefined && asked.delete(message.id)) unasked = 0
      else unasked += UNASKED_COST
      transport.onmessage?.(message)
    } catch {
      // Not a message: servers also print what they should not. It counts as unasked for.
      unasked += UNASKED_COST
    } finally {
      if (unasked > maxMessageBytes) tooMuch()
    }
  }

  function tooMuch(): void {
    broke = 'tool_result_too_large'
    child?.stdout?.destroy()
    if (child !== undefined) endGroup(child, 'SIGKILL')
  }

  return { transport, follow: () => () => undefined, broke: () => broke, leave: async () => undefined }
}

/** When the process is gone, with its group, and nothing more is read of it. */
function endOf(started: ChildProcess, { name, stderr, clock, log }: StdioOptions, closed: () => void): Promise<void> {
  let stderrBytes = 0
  started.stderr?.on('data', (chunk: Buffer) => {
    stderrBytes += chunk.length
    stderr.heard(chunk)
  })
  return new Promise(done => {
    started.once('exit', (code, signal) => {
      endGroup(started, 'SIGKILL')
      log.info({ server: name, code, signal, stderrBytes }, 'a tool server has ended')
      // What it said last may still be in the pipe; somebody who left the group may hold the pipe open for ever.
      const disarm = clock.after(GRACE_MS, () => finish())
      const finish = () => {
        disarm()
        for (const stream of started.stdio) stream?.destroy()
        done()
        closed()
      }
      started.once('close', finish)
    })
  })
}

function launch({ server, env }: StdioOptions): ChildProcess {
  // Of what the protocol's own client thinks fit to pass on, only this (C1).
  const { PATH, HOME } = getDefaultEnvironment()
  return spawn(server.command, [...server.args], {
    ...(server.cwd !== undefined && { cwd: server.cwd }),
    env: { ...(PATH !== undefined && { PATH }), ...(HOME !== undefined && { HOME }), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    shell: false,
  })
}

/** Progress and log messages, which nobody here reads. To look at each closely would let a server keep us busy. */
const isIdleNotice = (said: unknown): boolean =>
  isObject(said) && said.id === undefined && said.method !== 'notifications/tools/list_changed'

/** The process and whoever it has started, as far as they are still there. */
function endGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
