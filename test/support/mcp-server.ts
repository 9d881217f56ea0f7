import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import type { McpServer } from '../../src/agents/settings.js'
import { freePort } from './free-port.js'
import { createServer, type McpCall } from './mcp-tools.mjs'

const SCRIPT = fileURLToPath(new URL('./mcp-stdio.mjs', import.meta.url))

/** Settings for a server over stdio that writes down every call it receives. */
export const stdioServer = (
  journal: string,
  env: Extract<McpServer, { kind: 'stdio' }>['env'] = {},
  manner: 'polite' | 'stubborn' | 'mute' = 'polite',
): McpServer => ({ kind: 'stdio', command: process.execPath, args: [SCRIPT, journal, manner], env })

export const callsIn = (journal: string): readonly McpCall[] =>
  existsSync(journal)
    ? readFileSync(journal, 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line))
    : []

export type HttpMcpServer = {
  readonly url: string
  readonly calls: McpCall[]
  /** Calls whose connection the client has closed before an answer. */
  readonly abandoned: () => number
  readonly sessions: () => number
  /** As when the process dies: connections are cut, sessions are forgotten. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** A server over streamable HTTP on 127.0.0.1. `authorization`, if given, must come with every request. */
export async function startHttpServer(authorization?: string): Promise<HttpMcpServer> {
  const port = await freePort()
  const calls: McpCall[] = []
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>()
  let abandoned = 0
  let server: http.Server

  async function open(): Promise<NodeStreamableHTTPServerTransport> {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => void sessions.set(id, transport),
      onsessionclosed: id => void sessions.delete(id),
    })
    await createServer({ journal: call => calls.push(call), raw: async () => undefined }).connect(transport)
    return transport
  }

  async function handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    if (authorization !== undefined && request.headers.authorization !== authorization) return end(response, 401)
    const body = request.method === 'POST' ? await readBody(request) : undefined
    const misbehave = body?.method === 'tools/call' ? MISBEHAVIOURS.get(body.params?.name ?? '') : undefined
    if (misbehave !== undefined) {
      calls.push({ name: body?.params?.name ?? '', args: {}, headers: request.headers as McpCall['headers'] & object })
      return misbehave(response)
    }
    if (body?.method === 'tools/call') {
      response.on('close', () => {
        if (!response.writableFinished) abandoned += 1
      })
    }
    const id = request.headers['mcp-session-id']
    const transport = id === undefined ? await open() : sessions.get(String(id))
    if (transport === undefined) return end(response, 404)
    await transport.handleRequest(request, response, body)
  }

  async function start(): Promise<void> {
    server = http.createServer((request, response) => {
      handle(request, response).catch(() => response.destroy())
    })
    await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  }

  await start()
  return {
    url: `http://127.0.0.1:${(server!.address() as AddressInfo).port}/mcp`,
    calls,
    abandoned: () => abandoned,
    sessions: () => sessions.size,
    start,
    stop: () =>
      new Promise(resolve => {
        sessions.clear()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Body = { readonly method?: string; readonly params?: { readonly name?: string } }

async function readBody(request: http.IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString())
}

const end = (response: http.ServerResponse, status: number): void => void response.writeHead(status).end()

const SSE = { 'content-type': 'text/event-stream' }

/** What a broken or hostile server does with the call of a tool of that name. */
const MISBEHAVIOURS: ReadonlyMap<string, (response: http.ServerResponse) => void> = new Map([
  ['cut', response => void response.writeHead(200, SSE).write(': \n\n', () => response.destroy())],
  ['quiet', response => void response.writeHead(200, SSE).end(': \n\n')],
  ['torrent', response => pour(response.writeHead(200, SSE), 'data: ')],
  ['large', response => pour(response.writeHead(200, { 'content-type': 'application/json' }), '"')],
  ['error', response => end(response, 500)],
  ['redirect', response => void response.writeHead(307, { location: 'http://127.0.0.1:1/elsewhere' }).end()],
  ['garbage', response => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":')],
  [
    'bomb',
    response =>
      void response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('\x1f\x8b'),
  ],
])

function pour(response: http.ServerResponse, first: string): void {
  const block = Buffer.alloc(65_536, 'x')
  const more = () => {
    while (!response.destroyed) if (!response.write(block)) return void response.once('drain', more)
  }
  response.write(first)
  more()
}
