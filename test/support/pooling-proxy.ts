import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import pg from 'pg'
import { freePort } from './free-port.js'

/** What PgBouncer takes from a client that connects; anything else it refuses. */
const KNOWN_PARAMETERS = new Set(['user', 'database', 'client_encoding', 'application_name', 'datestyle', 'timezone'])
const PROTOCOL_3 = 196_608

/** A connection to the server, and who has it. */
type Upstream = { readonly socket: Socket; readonly database: string; holder: Client | undefined; latest?: Client }

/**
 * PostgreSQL behind something that pools by transaction, as PgBouncer 1.18 does: a connection to the server is handed to
 * the next client whenever its transaction is over, with whatever the last one has left in it, and start-up parameters
 * that it does not know are refused. Whoever has waited longest gets the connection that has been idle longest, so that
 * hardly anybody has the same one twice. `handovers` counts how often a connection went to another client.
 */
export class PoolingProxy {
  readonly #server: Server
  readonly #upstreamUrl: string
  readonly #poolSize: number
  readonly #idle: Upstream[] = []
  readonly #all = new Set<Upstream>()
  readonly #clients = new Set<Client>()
  #waiting: Client[] = []
  #opening = 0
  handovers = 0

  private constructor(server: Server, upstreamUrl: string, poolSize: number) {
    this.#server = server
    this.#upstreamUrl = upstreamUrl
    this.#poolSize = poolSize
    server.on('connection', socket => this.#clients.add(new Client(socket, this)))
  }

  /** `url` is that of any database of the server. */
  static async start(url: string, { poolSize = 4 } = {}): Promise<PoolingProxy> {
    const server = createServer({ noDelay: true })
    const proxy = new PoolingProxy(server, url, poolSize)
    server.listen(await freePort(), '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  /** The way to a database through here. */
  through(url: string): string {
    const { port } = this.#server.address() as { port: number }
    return Object.assign(new URL(url), { port: String(port) }).href
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.socket.destroy()
    for (const { socket } of this.#all) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** Gives the client a connection, now or when there is one. */
  want(client: Client): void {
    this.#waiting.push(client)
    this.#serve()
  }

  /** The transaction is over. */
  release(upstream: Upstream): void {
    upstream.holder = undefined
    this.#idle.push(upstream)
    this.#serve()
  }

  /** What a client has left half-done is no use to anybody. */
  left(client: Client): void {
    this.#clients.delete(client)
    this.#waiting = this.#waiting.filter(other => other !== client)
    client.upstream?.socket.destroy()
  }

  #serve(): void {
    this.#waiting = this.#waiting.filter(client => {
      const at = this.#idle.findIndex(({ database }) => database === client.database)
      if (at < 0) return true
      const [upstream] = this.#idle.splice(at, 1)
      if (upstream!.latest !== undefined && upstream!.latest !== client) this.handovers += 1
      Object.assign(upstream!, { holder: client, latest: client })
      client.serve(upstream!)
      return false
    })
    for (const database of new Set(this.#waiting.map(client => client.database))) {
      const open = [...this.#all].filter(upstream => upstream.database === database).length
      if (open + this.#opening < this.#poolSize) void this.#open(database)
    }
  }

  async #open(database: string): Promise<void> {
    this.#opening += 1
    try {
      const upstream = { socket: await this.#connect(database), database, holder: undefined } as Upstream
      this.#all.add(upstream)
      let rest: Buffer = Buffer.alloc(0)
      upstream.socket.on('data', chunk => {
        const { messages, tail } = messagesIn(Buffer.concat([rest, chunk]))
        rest = tail
        for (const message of messages) upstream.holder?.answer(message)
      })
      const gone = () => {
        this.#all.delete(upstream)
        const at = this.#idle.indexOf(upstream)
        if (at >= 0) this.#idle.splice(at, 1)
        upstream.holder?.socket.destroy()
      }
      upstream.socket.on('error', gone).on('close', gone)
      this.#idle.push(upstream)
    } catch {
      for (const client of this.#waiting) client.socket.destroy()
    } finally {
      this.#opening -= 1
      this.#serve()
    }
  }

  /** Signed in, with everything that was said at that read. */
  async #connect(database: string): Promise<Socket> {
    const client = new pg.Client(Object.assign(new URL(this.#upstreamUrl), { pathname: `/${database}` }).href)
    client.on('error', () => undefined)
    await client.connect()
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
    stream.removeAllListeners('data')
    return stream
  }
}

class Client {
  database = ''
  upstream: Upstream | undefined
  #rest: Buffer = Buffer.alloc(0)
  #started = false
  #unsent: Buffer[] = []
  /** Answers still to come: each query, and each end of a series of messages, has one. */
  #owed = 0

  constructor(
    readonly socket: Socket,
    private readonly proxy: PoolingProxy,
  ) {
    socket.on('data', chunk => this.#heard(chunk))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => proxy.left(this))
  }

  serve(upstream: Upstream): void {
    this.upstream = upstream
    for (const message of this.#unsent.splice(0)) this.#pass(message)
  }

  answer(message: Buffer): void {
    this.socket.write(message)
    if (message[0] !== code('Z')) return
    this.#owed -= 1
    const { upstream } = this
    if (this.#owed > 0 || message[5] !== code('I') || upstream === undefined) return
    this.upstream = undefined
    this.proxy.release(upstream)
  }

  #heard(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    if (!this.#started && !this.#start()) return
    const { messages, tail } = messagesIn(this.#rest)
    this.#rest = tail
    for (const message of messages) {
      if (message[0] === code('X')) return void this.socket.end()
      if (this.upstream) {
        this.#pass(message)
        continue
      }
      if (this.#unsent.length === 0) this.proxy.want(this)
      // It may have been served at once.
      if (this.upstream) this.#pass(message)
      else this.#unsent.push(message)
    }
  }

  #pass(message: Buffer): void {
    if (message[0] === code('Q') || message[0] === code('S')) this.#owed += 1
    this.upstream!.socket.write(message)
  }

  /** Everybody is let in; the server is told who it is by the connections that are there already. */
  #start(): boolean {
    if (this.#rest.length < 4 || this.#rest.length < this.#rest.readInt32BE(0)) return false
    const length = this.#rest.readInt32BE(0)
    if (this.#rest.readInt32BE(4) !== PROTOCOL_3) throw new Error('only plain connections are pooled here')
    const words = this.#rest.subarray(8, length).toString().split('\0')
    this.#rest = this.#rest.subarray(length)
    for (let i = 0; words[i]; i += 2) {
      if (!KNOWN_PARAMETERS.has(words[i]!.toLowerCase())) {
        const text = `SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: ${words[i]}\0\0`
        this.socket.end(messageOf('E', Buffer.from(text)))
        return false
      }
      if (words[i] === 'database') this.database = words[i + 1]!
    }
    this.#started = true
    const [ok, key] = [Buffer.alloc(4), Buffer.alloc(8)]
    this.socket.write(Buffer.concat([messageOf('R', ok), messageOf('K', key), messageOf('Z', Buffer.from('I'))]))
    return true
  }
}

const code = (letter: string): number => letter.charCodeAt(0)

function messageOf(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(letter)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

function messagesIn(bytes: Buffer): { messages: Buffer[]; tail: Buffer } {
  const messages: Buffer[] = []
  let at = 0
  while (bytes.length - at >= 5 && bytes.length - at > bytes.readInt32BE(at + 1)) {
    const end = at + 1 + bytes.readInt32BE(at + 1)
    messages.push(bytes.subarray(at, end))
    at = end
  }
  return { messages, tail: bytes.subarray(at) }
}
