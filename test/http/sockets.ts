import http from 'node:http'
import net from 'node:net'
import type { FastifyInstance } from 'fastify'
import { freePort } from '../support/free-port.js'
import { secretOf } from './harness.js'

/** Requests over real connections, for what `inject` cannot show. */

export async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ port: await freePort(), host: '127.0.0.1' })
  return (app.server.address() as net.AddressInfo).port
}

/** Sends bytes as they are and returns everything that comes back until the server closes, or `enough` says stop. */
export function sendRaw(
  port: number,
  bytes: string,
  enough: (received: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes))
    let received = ''
    socket.on('data', data => {
      received += data
      if (enough(received)) socket.destroy()
    })
    socket.on('error', error => ((error as NodeJS.ErrnoException).code === 'ECONNRESET' ? undefined : reject(error)))
    socket.on('close', () => resolve(received))
  })
}

export type Stream = {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** Everything received so far. */
  text(): string
  /** Resolves when the text matches. */
  until(pattern: RegExp): Promise<string>
  /** Resolves when the server has ended the response. */
  readonly ended: Promise<string>
  close(): void
}

export function openStream(
  port: number,
  path: string,
  options: { key?: string; headers?: http.OutgoingHttpHeaders } = {},
): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${secretOf(options.key ?? 'alice')}`, ...options.headers }
    const request = http.get({ port, path, headers, host: '127.0.0.1', agent: false }, response => {
      let text = ''
      const waiting = new Set<() => void>()
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
        for (const look of waiting) look()
      })
      const ended = new Promise<string>(done => response.on('close', () => done(text)))
      const until = (pattern: RegExp) =>
        new Promise<string>((found, lost) => {
          const look = () => {
            if (!pattern.test(text)) return
            waiting.delete(look)
            found(text)
          }
          waiting.add(look)
          look()
          ended.then(() => lost(new Error(`ended before ${pattern}: ${text}`)))
        })
      const status = response.statusCode ?? 0
      resolve({ status, headers: response.headers, text: () => text, until, ended, close: () => request.destroy() })
    })
    request.on('error', reject)
  })
}

export type Frame = { readonly id: number; readonly event: string; readonly data: { readonly [key: string]: unknown } }

/** The frames of an event stream; comments are dropped. */
export function framesOf(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter(block => block.startsWith('id:'))
    .map(block => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
      return { id: Number(field('id')), event: field('event'), data: JSON.parse(field('data')) }
    })
}
