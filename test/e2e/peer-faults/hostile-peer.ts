import { once } from 'node:events'
import http from 'node:http'
import { freePort } from '../../support/free-port.js'

/** What a peer is asked, as far as a host that hands work to it asks anything. */
export type Asked = 'discovery' | 'create' | 'list' | 'read' | 'poll' | 'stream' | 'receipt' | 'cancel'

export type Answer = {
  readonly status: number
  readonly headers?: http.OutgoingHttpHeaders
  /** JSON, unless it is text. */
  readonly body?: unknown
}

export type Question = {
  readonly asked: Asked
  /** How often it has been asked this before. */
  readonly times: number
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: what a host sends is what tests look at
  readonly body: any
}

/** Another answer than the honest one, or somebody who writes it himself. */
export type Lie = (
  honest: Answer,
  question: Question,
  peer: HostilePeer,
) => Answer | ((response: http.ServerResponse) => void)
export type Lies = { readonly [Name in Asked]?: Lie }

export type Told = { readonly type: string; readonly payload: object }

export const RUN = 'run-of-the-peer'
export const HOST_ID = 'b.example'
export const ANSWER = 'as it was asked'

/**
 * A host that speaks as much OpenWOP as one needs to be handed work, and lies where it is told to. Its runs are at work
 * until their document has been read twice, and then have ended.
 */
export class HostilePeer {
  readonly #server: http.Server
  #lies: Lies = {}
  readonly #times = new Map<Asked, number>()
  readonly questions: Question[] = []
  /** What it calls the run; a lie may choose another. */
  runId = RUN
  /** A run of the host that asks, which has nothing to do with this. */
  bystander = ''
  /** What it has signed of that run. */
  receiptOf: (runId: string) => unknown = () => ({})
  /** Which requests came that no peer is ever asked. */
  readonly strays: string[] = []

  private constructor(server: http.Server) {
    this.#server = server
    server.on('request', (request, response) => void this.#hear(request, response).catch(() => response.destroy()))
  }

  static async start(): Promise<HostilePeer> {
    const server = http.createServer({ keepAliveTimeout: 600_000 })
    const peer = new HostilePeer(server)
    server.listen(await freePort(), '127.0.0.1')
    await once(server, 'listening')
    return peer
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** From now on; whatever was asked before is forgotten. */
  tell(lies: Lies): void {
    this.#lies = lies
    this.#times.clear()
    this.questions.length = 0
    this.runId = RUN
  }

  times(asked: Asked): number {
    return this.#times.get(asked) ?? 0
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #hear(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    response.on('error', () => undefined)
    const path = request.url ?? ''
    const text = await textOf(request)
    const asked = askedBy(request.method ?? '', path)
    if (asked === undefined) {
      this.strays.push(`${request.method} ${path}`)
      return void response.writeHead(404).end()
    }
    const question = { asked, times: this.times(asked), path, headers: request.headers, body: parsed(text) }
    this.#times.set(asked, question.times + 1)
    this.questions.push(question)
    const honest = this.#honest(question)
    const answer = this.#lies[asked]?.(honest, question, this) ?? honest
    if (typeof answer === 'function') return answer(response)
    const { status, headers = {}, body } = answer
    const said = typeof body === 'string' || body === undefined ? (body ?? '') : JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(said)
  }

  #honest({ asked }: Question): Answer {
    const { runId } = this
    const isOver = this.times('read') >= 2
    switch (asked) {
      case 'discovery':
        return { status: 200, body: discovery(HOST_ID) }
      case 'create':
        return { status: 201, body: created(runId) }
      case 'list':
        return { status: 200, body: { runs: [] } }
      case 'read':
        return { status: 200, body: { ...document(isOver ? 'completed' : 'running'), runId } }
      case 'poll':
        return { status: 200, body: polled(LOG, runId) }
      case 'stream':
        return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: streamed(LOG, runId) }
      case 'receipt':
        return { status: 200, body: this.receiptOf(runId) }
      case 'cancel':
        return { status: 200, body: { runId, status: 'cancelled' } }
    }
  }
}

function askedBy(method: string, path: string): Asked | undefined {
  const [route = ''] = path.split('?')
  if (method === 'GET' && route === '/.well-known/openwop') return 'discovery'
  if (route === '/v1/runs') return method === 'POST' ? 'create' : 'list'
  if (method === 'POST' && /^\/v1\/runs\/[^/]+\/cancel$/.test(route)) return 'cancel'
  if (method !== 'GET') return undefined
  if (/^\/v1\/runs\/[^/]+\/events\/poll$/.test(route)) return 'poll'
  if (/^\/v1\/runs\/[^/]+\/events$/.test(route)) return 'stream'
  if (/^\/v1\/runs\/[^/]+\/receipt$/.test(route)) return 'receipt'
  return /^\/v1\/runs\/[^/]+$/.test(route) ? 'read' : undefined
}

export const discovery = (hostId: unknown) => ({
  protocolVersion: '1.0',
  multiAgent: {
    executionModel: {
      supported: true,
      version: 6,
      crossHostCausation: { supported: true, hostId, ancestryEndpointSupported: true },
    },
  },
})

export const created = (runId: unknown) => ({
  runId,
  status: 'running',
  eventsUrl: `/v1/runs/${String(runId)}/events`,
  statusUrl: `/v1/runs/${String(runId)}`,
})

/** The document of a run. */
export const document = (status: string, more: object = {}) => ({
  runId: RUN,
  workflowId: 'work',
  status,
  variables: status === 'completed' ? { answer: ANSWER } : {},
  ...(status === 'failed' ? { error: { code: 'node_failed', message: 'it has failed there' } } : {}),
  ...more,
})

export const LOG: readonly Told[] = [
  { type: 'run.started', payload: { workflowId: 'work' } },
  { type: 'node.started', payload: { nodeId: 'a' } },
  { type: 'node.completed', payload: { nodeId: 'a' } },
  { type: 'run.completed', payload: {} },
]

export const eventOf = ({ type, payload }: Told, sequence: unknown, runId: unknown = RUN) => ({
  eventId: `${String(runId)}:${String(sequence)}`,
  runId,
  type,
  payload,
  timestamp: '2026-01-01T00:00:00.000Z',
  sequence,
})

export const polled = (log: readonly Told[], runId: string = RUN) => {
  const last = log.at(-1)?.type ?? ''
  const isOver = /^run\.(completed|failed|cancelled)$/.test(last)
  return {
    runId,
    events: log.map((told, i) => eventOf(told, i, runId)),
    isComplete: isOver,
    lastEventSeq: log.length - 1,
    runStatus: isOver ? last.slice(4) : 'running',
    isTerminal: isOver,
  }
}

export const frame = (told: Told, sequence: unknown, runId?: unknown): string =>
  `id: ${String(sequence)}\nevent: ${told.type}\ndata: ${JSON.stringify(eventOf(told, sequence, runId))}\n\n`

export const streamed = (log: readonly Told[], runId: string = RUN): string =>
  log.map((told, i) => frame(told, i, runId)).join('')

export async function textOf(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}
