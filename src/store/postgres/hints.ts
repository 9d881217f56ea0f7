import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Commit } from '../../engine/ports/event-log.js'
import { directConfig, type Settings } from './connections.js'
import { HINTS, SQL } from './statements.js'

type Listener = (runId: string) => void

/** A NOTIFY carries at most 8000 bytes. */
const MAX_PAYLOAD = 7_000
const CHECK_MS = 20_000

/**
 * Hints over LISTEN/NOTIFY, on one connection of their own that reconnects by itself. They are sent after the commit,
 * not in it: a NOTIFY makes the transactions that carry one commit one after another, fsync included, and a hint may
 * get lost anyway. Those that wait while one is being sent share the next.
 *
 * Behind a pooler, and without a way past it, none are sent or heard: whoever waits for something looks again by itself.
 */
export class Hints {
  readonly #config: pg.ClientConfig | undefined
  readonly #channel: string
  readonly #listeners = new Set<Listener>()
  readonly #unsent = new Set<string>()
  #client: pg.Client | undefined
  #sending = false
  #closed = false
  #retry: NodeJS.Timeout | undefined
  #check: NodeJS.Timeout | undefined
  #pause = 50

  constructor(settings: Settings) {
    this.#config = directConfig(settings)
    this.#channel = `${settings.schema}_hint`
    void this.#connect()
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  committed(commits: readonly Commit[]): void {
    if (this.#config === undefined) return
    for (const { streams, wakes } of commits) {
      for (const { runId } of streams) this.#unsent.add(runId)
      for (const runId of wakes) this.#unsent.add(runId)
    }
    void this.#send()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    clearInterval(this.#check)
    const client = this.#client
    this.#client = undefined
    // A connection that died silently never says that it has ended.
    if (client) await Promise.race([client.end(), delay(1_000, undefined, { ref: false })])
  }

  async #connect(): Promise<void> {
    if (this.#config === undefined) return
    const client = new pg.Client(this.#config)
    client.on('notification', ({ payload, processId }) => {
      if (processId === (client as unknown as { processID: number }).processID) return
      for (const runId of (payload ?? '').split('\n')) for (const listener of this.#listeners) listener(runId)
    })
    client.on('error', () => this.#lost(client))
    client.on('end', () => this.#lost(client))
    try {
      await client.connect()
      await client.query(`LISTEN ${client.escapeIdentifier(this.#channel)}`)
    } catch {
      this.#lost(client)
      return
    }
    if (this.#closed) return void client.end()
    this.#client = client
    this.#pause = 50
    // A connection that died silently is found out by asking.
    this.#check = setInterval(() => client.query(SQL.ping.text).catch(() => this.#lost(client)), CHECK_MS).unref()
    void this.#send()
  }

  #lost(client: pg.Client): void {
    if (this.#client === client) {
      this.#client = undefined
      clearInterval(this.#check)
    }
    client.removeAllListeners('end')
    void client.end()
    if (this.#closed || this.#client || this.#retry) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      void this.#connect()
    }, this.#pause).unref()
    this.#pause = Math.min(this.#pause * 2, 5_000)
  }

  async #send(): Promise<void> {
    const client = this.#client
    if (!client || this.#sending || this.#unsent.size === 0) return
    this.#sending = true
    const payloads = chunked(this.#unsent)
    this.#unsent.clear()
    try {
      await client.query(HINTS.notify, [this.#channel, payloads])
    } catch {
      this.#lost(client)
    }
    this.#sending = false
    void this.#send()
  }
}

function chunked(runIds: Iterable<string>): string[] {
  const payloads: string[] = []
  for (const runId of runIds) {
    const last = payloads.at(-1)
    if (last !== undefined && last.length + runId.length < MAX_PAYLOAD)
      payloads[payloads.length - 1] = `${last}\n${runId}`
    else payloads.push(runId)
  }
  return payloads
}
