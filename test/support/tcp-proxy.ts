import { once } from 'node:events'
import { createServer, connect as dial, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.js'

type Pair = { readonly client: Socket; readonly upstream: Socket }

/**
 * A TCP proxy on loopback that can lose, hold or freeze what passes. Faults apply to the next requests that contain a
 * given text; `faults` counts those that really happened, so that a test can refuse to pass without any.
 */
export class TcpProxy {
  readonly #server: Server
  readonly #upstreamPort: number
  readonly #pairs = new Set<Pair>()
  #swallow: { text: string; times: number } | undefined
  #hold: { text: string } | undefined
  #held: { data: Buffer; upstream: Socket } | undefined
  #frozen = false
  #rewrite: { text: string; other: string } | undefined
  faults = 0

  private constructor(server: Server, upstreamPort: number) {
    this.#server = server
    this.#upstreamPort = upstreamPort
    server.on('connection', client => this.#join(client))
  }

  static async start(upstreamPort: number): Promise<TcpProxy> {
    const server = createServer()
    const proxy = new TcpProxy(server, upstreamPort)
    server.listen(await freePort(), '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  /** The upstream does the work of the next `times` requests with this text, but the replies are lost. */
  swallowReplies(text: string, times: number): void {
    this.#swallow = { text, times }
  }

  /** From now on requests say `other` where they say `text`, as if the server understood them otherwise. */
  rewriteRequests(text: string, other: string): void {
    if (text.length !== other.length) throw new Error('messages name their length, so it must stay the same')
    this.#rewrite = { text, other }
  }

  /** Cuts the client off at its next request with this text, and keeps the request until `release`. */
  holdRequest(text: string): void {
    this.#hold = { text }
  }

  /** Lets the held request through; resolves when the upstream has answered it. */
  async release(): Promise<void> {
    if (!this.#held) throw new Error('no request was held')
    const { data, upstream } = this.#held
    this.#held = undefined
    const answered = once(upstream, 'data')
    upstream.write(data)
    await answered
    upstream.destroy()
  }

  /** Connections stay open, but nothing passes any more in either direction. */
  freeze(): void {
    this.#frozen = true
    this.faults += 1
  }

  thaw(): void {
    this.#frozen = false
    this.reset()
  }

  /** Cuts every connection. */
  reset(): void {
    for (const pair of this.#pairs) this.#part(pair)
  }

  async close(): Promise<void> {
    this.reset()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket): void {
    const upstream = dial(this.#upstreamPort, '127.0.0.1')
    const pair = { client, upstream }
    this.#pairs.add(pair)
    let swallowing = false
    client.on('data', data => {
      if (this.#frozen) return
      if (this.#hold && data.includes(this.#hold.text)) return this.#keep(pair, data)
      if (this.#swallow && this.#swallow.times > 0 && data.includes(this.#swallow.text)) {
        this.#swallow.times -= 1
        swallowing = true
      }
      upstream.write(this.#rewritten(data))
    })
    upstream.on('data', data => {
      if (this.#frozen) return
      if (!swallowing) return void client.write(data)
      this.faults += 1
      this.#part(pair)
    })
    for (const socket of [client, upstream]) {
      // What ends one side ends the other; the reason does not matter to a proxy.
      socket.on('error', () => this.#part(pair))
      socket.on('close', () => this.#part(pair))
    }
  }

  #rewritten(data: Buffer): Buffer {
    const at = this.#rewrite ? data.indexOf(this.#rewrite.text) : -1
    if (!this.#rewrite || at < 0) return data
    this.faults += 1
    data.write(this.#rewrite.other, at)
    return data
  }

  #keep(pair: Pair, data: Buffer): void {
    this.#hold = undefined
    this.faults += 1
    this.#pairs.delete(pair)
    this.#held = { data, upstream: pair.upstream }
    pair.client.resetAndDestroy()
  }

  #part(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return
    pair.client.resetAndDestroy()
    pair.upstream.destroy()
  }
}
