import type { Transport } from '@modelcontextprotocol/client'
import type { ToolCode } from '../../../core/invocation/tool-codes.js'

/** A way to a server, used for one connection. */
export type Channel = {
  readonly transport: Transport
  /** Has the call's own connection, where it has one, closed when it is over; tells when its answer will not come. */
  readonly follow: (id: string, call: FollowedCall) => () => void
  /** Why the channel broke, when it knows. */
  readonly broke: () => ToolCode | undefined
  /** Says goodbye where that is the custom. */
  readonly leave: () => Promise<void>
}

export type FollowedCall = { readonly signal: AbortSignal; readonly lost: (code: ToolCode) => void }

/** Opens a channel; rejects when that is already known not to work, such as for want of a secret. */
export type OpenChannel = () => Promise<Channel>
