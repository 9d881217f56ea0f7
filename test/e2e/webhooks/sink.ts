import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { freePort } from '../../support/free-port.js'
import { certificate } from './certificate.js'

export type Received = {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
  readonly servername: string | false | null | undefined
}

/** Answers the nth request, counted from 0. */
export type Behaviour = (response: http.ServerResponse, n: number, request: Received) => void

export type Sink = {
  readonly port: number
  readonly url: string
  readonly received: Received[]
  connections: number
  behave: Behaviour
  close(): Promise<void>
}

export const answering =
  (status: number, headers: http.OutgoingHttpHeaders = {}): Behaviour =>
  response => {
    response.writeHead(status, headers).end('thanks')
  }

/** A receiver on a loopback port, with or without TLS. */
export async function startSink(options: { tls?: boolean; behave?: Behaviour } = {}): Promise<Sink> {
  const port = await freePort()
  const sockets = new Set<Socket>()
  const listener: http.RequestListener = (request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      const { servername } = request.socket as TLSSocket
      const one = { path: request.url ?? '', headers: request.headers, body, servername }
      sink.received.push(one)
      sink.behave(response, sink.received.length - 1, one)
    })
  }
  const server = options.tls ? https.createServer(certificate, listener) : http.createServer(listener)
  const sink: Sink = {
    port,
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    received: [],
    connections: 0,
    behave: options.behave ?? answering(200),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  server.on('connection', socket => {
    sink.connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return sink
}
