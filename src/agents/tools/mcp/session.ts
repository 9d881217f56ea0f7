import {
  type CallToolResult,
  Client,
  type Tool as McpTool,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client'
import type { ToolCode } from '../../../core/invocation/tool-codes.js'
import { EgressInterrupted } from '../../../egress/stream.js'
import type { Clock } from '../../../engine/ports/clock.js'
import { packageVersion } from '../../../package-version.js'
import { SecretMissing, SecretTooShort } from '../../../secrets/secrets.js'
import type { ToolCall } from '../host-tool.js'
import { within } from '../within.js'
import type { Channel } from './channel.js'
import { CALL_HEADER } from './http-channel.js'

/** One connection to a server, from the handshake to its end. */
export type Session = {
  /** The tools it has, asked for again when it says that they have changed and now and then. */
  list(): Promise<readonly McpTool[]>
  call(name: string, call: ToolCall): Promise<Called>
  /** Whether it still says anything at all. */
  responds(): Promise<boolean>
  close(): Promise<void>
}

export type Called =
  | { readonly kind: 'returned'; readonly result: CallToolResult }
  | { readonly kind: 'failed'; readonly code: ToolCode; readonly words?: string }
  /** The server no longer knows this connection: nothing was called, and another one may do. */
  | { readonly kind: 'forgotten' }

/** Deadlines are on our own clock; the protocol's client must have one, too. */
const FAR = 2 ** 31 - 1
const PING_MS = 2_000
const LEAVE_MS = 1_000
/** A list is asked for again after this, should a notice of its change have been lost. */
const LIST_FRESH_MS = 5 * 60_000
const MAX_TOOLS = 1_000
const MAX_PAGES = 64

export type SessionOptions = {
  readonly channel: Channel
  readonly clock: Clock
  readonly onEnd: () => void
}

/** Rejects when there is no handshake. `signal` is for the handshake alone. */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Session> {
  const { channel, clock, onEnd } = options
  // No capability is offered: a server can ask this host for nothing, neither a model's answer nor a person's.
  const client = new Client({ name: 'assay', version: packageVersion() }, { capabilities: {} })
  let changes = 0
  let listed: { readonly tools: Promise<readonly McpTool[]>; readonly at: number; readonly change: number } | undefined
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes += 1
  })
  try {
    await client.connect(channel.transport, { signal, timeout: FAR })
  } catch (error) {
    await client.close()
    throw error
  }
  if (client.transport === undefined) throw new Error('the server left after the handshake')
  client.onclose = onEnd

  async function allTools(): Promise<readonly McpTool[]> {
    if (client.getServerCapabilities()?.tools === undefined) return []
    const tools: McpTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
      const answer = await client.request(
        { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
        { timeout: FAR },
      )
      tools.push(...answer.tools)
      cursor = answer.nextCursor
      if (cursor === undefined) break
    }
    return tools.slice(0, MAX_TOOLS)
  }

  return {
    list() {
      const now = clock.monotonic()
      if (listed !== undefined && listed.change === changes && now - listed.at < LIST_FRESH_MS) return listed.tools
      const tools = allTools()
      const mine = { tools, at: now, change: changes }
      listed = mine
      tools.catch(() => {
        // Whoever waits for it is told; the next one asks again.
        if (listed === mine) listed = undefined
      })
      return tools
    },
    async call(name, { id, traceparent, args, signal }) {
      const lost = new AbortController()
      const unfollow = channel.follow(id, { signal, lost: code => lost.abort(code) })
      try {
        // R-XHOST-5, R-XHOST-8
        const result = await client.request(
          { method: 'tools/call', params: { name, arguments: args, _meta: { traceparent, 'assay/effectId': id } } },
          { signal: AbortSignal.any([signal, lost.signal]), timeout: FAR, headers: { traceparent, [CALL_HEADER]: id } },
        )
        return { kind: 'returned', result }
      } catch (error) {
        const code = (lost.signal.reason as ToolCode | undefined) ?? channel.broke()
        return code === undefined ? failureOf(error) : { kind: 'failed', code }
      } finally {
        unfollow()
      }
    },
    async responds() {
      const ended = await within(clock, PING_MS, NEVER, signal => client.ping({ signal, timeout: FAR }))
      return ended.kind === 'done'
    },
    async close() {
      await within(clock, LEAVE_MS, NEVER, () => channel.leave())
      await client.close()
    },
  }
}

const NEVER = new AbortController().signal

/** Only a protocol error brings the server's own words, which are for the model and nobody else. */
function failureOf(error: unknown): Called {
  if (error instanceof ProtocolError) return { kind: 'failed', code: 'tool_failed', words: error.message }
  if (error instanceof SdkHttpError) {
    if (error.status === 404) return { kind: 'forgotten' }
    return { kind: 'failed', code: error.status === 401 || error.status === 403 ? 'tool_unavailable' : 'tool_failed' }
  }
  if (error instanceof SecretMissing || error instanceof SecretTooShort) {
    return { kind: 'failed', code: 'tool_unavailable' }
  }
  if (error instanceof EgressInterrupted) return { kind: 'failed', code: egressCode(error.code) }
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
    return { kind: 'failed', code: 'tool_result_invalid' }
  }
  // The stack ran out over a result, or it is no JSON.
  if (error instanceof RangeError || error instanceof SyntaxError)
    return { kind: 'failed', code: 'tool_result_invalid' }
  return { kind: 'failed', code: 'tool_connection_lost' }
}

function egressCode(code: EgressInterrupted['code']): ToolCode {
  switch (code) {
    case 'too-large':
      return 'tool_result_too_large'
    case 'timeout':
      return 'tool_timeout'
    case 'connection-lost':
    case 'bad-response':
    case 'aborted':
      return 'tool_connection_lost'
    default:
      return 'tool_unavailable'
  }
}
