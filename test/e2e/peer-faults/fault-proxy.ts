import { once } from 'node:events'
import http from 'node:http'
import type { Socket } from 'node:net'
import { freePort } from '../../support/free-port.js'

/**
 * What happens to one request between two hosts. "Acts" says whether the other side gets to see it.
 *
 * | fault         | acts  | the caller sees                                                              |
 * |---------------|-------|------------------------------------------------------------------------------|
 * | drop-request  | no    | its connection is reset                                                      |
 * | drop-answer   | yes   | its connection is reset when the answer is there                             |
 * | cut-answer    | yes   | the head and half of the body, then a reset                                  |
 * | never-answer  | no    | a connection that stays open and silent                                      |
 * | mute          | yes   | the same, though the other side has answered                                 |
 * | late          | late  | the same; the request arrives once the caller has given up and asked again   |
 * | twice         | twice | one answer                                                                   |
 * | bad-gateway   | no    | a 502 page of somebody in between                                            |
 * | late-gateway  | yes   | a 504 page of somebody in between                                            |
 * | busy          | no    | 503 with Retry-After                                                         |
 * | too-many      | no    | 429 with Retry-After                                                         |
 *
 * Of a stream of events, which `drop-answer` and `mute` let begin:
 *
 * | cut-stream    | yes   | so many events, then a reset                                                 |
 * | tear-stream   | yes   | so many events and half of the next one, then a reset                        |
 * | end-stream    | yes   | so many events, then an end in good order                                    |
 * | freeze-stream | yes   | so many events, then silence on a connection that stays open                 |
 */
export const REQUEST_FAULTS = [
  'drop-request',
  'drop-answer',
  'cut-answer',
  'never-answer',
  'mute',
  'late',
  'twice',
  'bad-gateway',
  'late-gateway',
  'busy',
  'too-many',
] as const
export const STREAM_FAULTS = ['cut-stream', 'tear-stream', 'end-stream', 'freeze-stream'] as const

export type RequestFault = (typeof REQUEST_FAULTS)[number]
export type StreamFault = (typeof STREAM_FAULTS)[number]
export type Fault = RequestFault | StreamFault

/** At the n-th request from when it is planned on, the first being 0; `after` so many events, where it is a stream. */
export type PlannedFault = {
  readonly at: number
  readonly fault: Fault
  readonly after?: number
  /** Only requests of that kind count. */
  readonly of?: Kind
  /** After it nobody gets through any more, until `up`. */
  readonly thenDown?: true
}

/** What a host asks its peer. */
export type Kind = 'discovery' | 'create' | 'look-up' | 'read' | 'log' | 'stream' | 'cancel' | 'other'

export function kindOf({ method, url }: Pick<Passed, 'method' | 'url'>): Kind {
  const [route = ''] = url.split('?')
  if (route === '/.well-known/openwop') return 'discovery'
  if (route === '/v1/runs') return method === 'POST' ? 'create' : 'look-up'
  if (route.endsWith('/events/poll')) return 'log'
  if (route.endsWith('/events')) return 'stream'
  if (route.endsWith('/cancel') || route.endsWith(':cancel')) return 'cancel'
  return /^\/v1\/runs\/[^/]+$/.test(route) ? 'read' : 'other'
}

export type Passed = {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
  readonly fault: Fault | undefined
  /** What the other side has answered, however much of it was passed on. */
  status?: number
  isStream?: boolean
  events?: number
}

type Exchange = {
  readonly passed: Passed
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
  readonly after: number
}

const PAGE = '<html><body><h1>nginx</h1></body></html>'

/** An HTTP proxy on loopback between a host and its peer. It counts what it does, so that no test passes without. */
export class FaultProxy {
  readonly #server: http.Server
  readonly #sockets = new Set<Socket>()
  #upstreamPort: number
  #isDown = false
  #plan: (PlannedFault & { left: number })[] = []
  #late: (() => Promise<void>)[] = []
  #open = 0
  /** Every request since the beginning, in the order of arrival. */
  readonly passed: Passed[] = []
  /** Faults that really happened, by name. */
  readonly injected = new Map<Fault | 'down', number>()
  /** Whenever something moves. */
  moves = 0

  private constructor(server: http.Server, upstreamPort: number) {
    this.#server = server
    this.#upstreamPort = upstreamPort
    server.on('connection', (socket: Socket) => {
      if (this.#isDown) {
        this.#count('down')
        return void socket.resetAndDestroy()
      }
      this.#keep(socket)
    })
    server.on('request', (request, response) => void this.#pass(request, response).catch(() => reset(response)))
  }

  static async start(upstreamPort: number, port?: number): Promise<FaultProxy> {
    const server = http.createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 })
    const proxy = new FaultProxy(server, upstreamPort)
    server.listen(port ?? (await freePort()), '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Requests that the other side is working on. */
  get open(): number {
    return this.#open
  }

  get faults(): number {
    return [...this.injected.values()].reduce((all, one) => all + one, 0)
  }

  /** From now on. What was planned before and has not happened is forgotten. */
  plan(...faults: readonly PlannedFault[]): void {
    this.#plan = faults.map(fault => ({ ...fault, left: fault.at }))
  }

  /** Where the other side is now. */
  lead(upstreamPort: number): void {
    this.#upstreamPort = upstreamPort
  }

  /** Every connection is cut, and nobody gets through until `up`. */
  down(): void {
    this.#isDown = true
    this.#late = []
    for (const socket of this.#sockets) destroy(socket)
  }

  up(): void {
    this.#isDown = false
  }

  async close(): Promise<void> {
    this.down()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
  }

  #count(fault: Fault | 'down'): void {
    this.injected.set(fault, (this.injected.get(fault) ?? 0) + 1)
    this.moves += 1
  }

  async #pass(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    const planned = this.#due(kindOf({ method, url }))
    const passed: Passed = { method, url, headers, body: '', fault: planned?.fault }
    this.passed.push(passed)
    this.moves += 1
    response.on('error', () => undefined)
    Object.assign(passed, { body: await bodyOf(request) })
    const exchange = { passed, request, response, after: planned?.after ?? 0 }
    await this.#commit(exchange, planned?.fault)
    if (planned?.thenDown) this.down()
    if (planned === undefined) await this.#releaseLate()
  }

  /** The fault that is for this request, if one is. */
  #due(kind: Kind): PlannedFault | undefined {
    let due: PlannedFault | undefined
    for (const planned of this.#plan) {
      if (planned.of !== undefined && planned.of !== kind) continue
      if (planned.left === 0) due ??= planned
      planned.left -= 1
    }
    return due
  }

  async #commit(exchange: Exchange, fault: Fault | undefined): Promise<void> {
    const { response } = exchange
    const answer = (status: number, headers: http.OutgoingHttpHeaders, body: string): void => {
      this.#count(fault!)
      response.writeHead(status, headers).end(body)
    }
    switch (fault) {
      case 'drop-request':
        this.#count(fault)
        return reset(response)
      case 'never-answer':
        return this.#count(fault)
      case 'late':
        this.#count(fault)
        await once(response, 'close')
        this.#late.push(async () => void (await this.#forward(exchange).then(drained)))
        return
      case 'bad-gateway':
        return answer(502, { 'content-type': 'text/html' }, PAGE)
      case 'busy':
        return answer(503, { 'retry-after': '1' }, '')
      case 'too-many':
        return answer(429, { 'retry-after': '1' }, '')
      case 'twice': {
        const [first, second] = await Promise.all([this.#forward(exchange), this.#forward(exchange)])
        this.#count(fault)
        second.destroy()
        return this.#give(exchange, first)
      }
      case 'drop-answer':
      case 'mute':
      case 'late-gateway':
      case 'cut-answer':
        return this.#spoil(exchange, fault)
      case undefined:
        return this.#give(exchange, await this.#forward(exchange))
      default:
        return this.#spoilStream(exchange, fault)
    }
  }

  /** What was kept back arrives when the next request has been answered. */
  async #releaseLate(): Promise<void> {
    for (const release of this.#late.splice(0)) await release()
  }

  #forward({ passed, request, response }: Exchange): Promise<http.IncomingMessage> {
    const { method, url: path } = passed
    this.#open += 1
    return new Promise<http.IncomingMessage>((resolve, reject) => {
      const forwarded = http.request({ host: '127.0.0.1', port: this.#upstreamPort, method, path, agent: false })
      for (let i = 0; i < request.rawHeaders.length; i += 2)
        if (!/^(connection|host)$/i.test(request.rawHeaders[i]!))
          forwarded.appendHeader(request.rawHeaders[i]!, request.rawHeaders[i + 1]!)
      forwarded.setHeader('host', `127.0.0.1:${this.#upstreamPort}`)
      forwarded.on('socket', socket => this.#keep(socket))
      response.on('close', () => forwarded.destroy())
      forwarded.on('error', reject)
      forwarded.on('response', answer => {
        passed.status = answer.statusCode!
        passed.isStream = String(answer.headers['content-type']).startsWith('text/event-stream')
        answer.on('error', () => undefined)
        resolve(answer)
      })
      forwarded.end(passed.body)
    }).finally(() => {
      this.#open -= 1
      this.moves += 1
    })
  }

  async #give({ passed, response }: Exchange, answer: http.IncomingMessage): Promise<void> {
    response.writeHead(answer.statusCode!, headersOf(answer))
    response.flushHeaders()
    for await (const chunk of answer) {
      this.moves += 1
      if (passed.isStream) passed.events = (passed.events ?? 0) + eventsIn(String(chunk))
      response.write(chunk)
    }
    response.end()
  }

  async #spoil(exchange: Exchange, fault: RequestFault): Promise<void> {
    const { passed, response } = exchange
    const answer = await this.#forward(exchange)
    const body = passed.isStream ? '' : await textOf(answer)
    this.#count(fault)
    if (fault === 'drop-answer') reset(response)
    else if (fault === 'late-gateway') response.writeHead(504, { 'content-type': 'text/html' }).end(PAGE)
    else if (fault === 'cut-answer') {
      response.writeHead(answer.statusCode!, headersOf(answer))
      response.write(body.slice(0, Math.floor(body.length / 2)), () => reset(response))
    }
  }

  async #spoilStream({ passed, ...exchange }: Exchange, fault: StreamFault): Promise<void> {
    const { response, after } = exchange
    const answer = await this.#forward({ passed, ...exchange })
    if (!passed.isStream) return this.#give({ passed, ...exchange }, answer)
    response.writeHead(answer.statusCode!, headersOf(answer))
    response.flushHeaders()
    let text = ''
    for await (const chunk of answer) {
      this.moves += 1
      text += String(chunk)
      const whole = text.split('\n\n')
      const enough = eventsIn(text) > after
      passed.events = Math.min(eventsIn(text), after)
      if (!enough) continue
      const through = firstEvents(whole, after)
      const next = whole[through.length] ?? ''
      const tail = fault === 'tear-stream' ? next.slice(0, Math.ceil(next.length / 2)) : ''
      const said = through.map(block => `${block}\n\n`).join('') + tail
      await new Promise<void>(resolve => response.write(said === '' ? ':\n\n' : said, () => resolve()))
      this.#count(fault)
      if (fault === 'end-stream') response.end()
      else if (fault !== 'freeze-stream') reset(response)
      return void (fault === 'freeze-stream' ? await once(response, 'close') : answer.destroy())
    }
    response.end(text)
  }
}

/** The blocks up to the n-th that is an event. */
function firstEvents(blocks: readonly string[], n: number): readonly string[] {
  let seen = 0
  const end = blocks.findIndex(block => {
    if (isEvent(block)) seen += 1
    return seen > n
  })
  return end < 0 ? blocks : blocks.slice(0, end)
}

const isEvent = (block: string): boolean => /^id:/m.test(block)
const eventsIn = (text: string): number => text.split(/^id:/m).length - 1

const headersOf = ({ headers }: http.IncomingMessage): http.OutgoingHttpHeaders => {
  const { connection: _, 'transfer-encoding': __, 'keep-alive': ___, ...others } = headers
  return others
}

async function bodyOf(request: http.IncomingMessage): Promise<string> {
  return textOf(request)
}

async function textOf(message: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const drained = async (answer: http.IncomingMessage): Promise<void> => void (await textOf(answer))

const reset = (response: http.ServerResponse): void => destroy(response.socket)

function destroy(socket: Socket | null): void {
  if (socket !== null && !socket.destroyed) socket.resetAndDestroy()
}
