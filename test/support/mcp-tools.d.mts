import type { Server } from '@modelcontextprotocol/server'

export type McpCall = {
  readonly name: string
  readonly args: { readonly [name: string]: unknown }
  readonly meta?: { readonly [name: string]: unknown }
  /** Over HTTP only. */
  readonly headers?: { readonly [name: string]: string }
}

export function createServer(options: {
  readonly journal: (call: McpCall) => void
  readonly raw: (chunk: string) => Promise<void>
}): Server

export function fileJournal(file: string): (call: McpCall) => void
