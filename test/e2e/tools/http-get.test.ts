import http from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../support/free-port.js'
import { type Rig, toolRig } from './rig.js'

const requests: string[] = []
let origin: string
let server: http.Server

const PAGES: { readonly [path: string]: (response: http.ServerResponse) => void } = {
  '/pub/page': response => void response.setHeader('content-type', 'text/html; charset=utf-8').end('<p>grüezi</p>'),
  '/pub/json': response => void response.setHeader('content-type', 'application/problem+json').end('{"a":1}'),
  '/pub/bare': response => void response.end('bare'),
  '/pub/picture': response => void response.setHeader('content-type', 'image/png').end(Buffer.alloc(77)),
  '/pub/binary': response => void response.setHeader('content-type', 'text/plain').end('a\0b'),
  '/pub/zip': response => {
    response.setHeader('content-type', 'text/plain')
    response.setHeader('content-encoding', 'gzip')
    response.end(Buffer.alloc(33, 1))
  },
  '/pub/away': response => void response.writeHead(302, { location: `${origin}/private` }).end('moved'),
  '/pub/gone': response => void response.writeHead(410, { 'content-type': 'text/plain' }).end('gone for good'),
  '/pub/endless': response => {
    const more = () => {
      while (!response.destroyed) if (!response.write('x'.repeat(65_536))) return void response.once('drain', more)
    }
    response.setHeader('content-type', 'text/plain')
    more()
  },
  '/pub/silent': () => undefined,
  '/pub/cut': response => void response.writeHead(200, { 'content-length': 100 }).write('a', () => response.destroy()),
}

beforeAll(async () => {
  server = http.createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const page = PAGES[request.url?.split('?')[0] ?? '']
    if (page === undefined) response.writeHead(404).end()
    else page(response)
  })
  const port = await freePort()
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

let rig: Rig
afterEach(() => rig.close())
const start = async (allowPrivate: boolean, timeoutMs = 10_000) => {
  requests.length = 0
  rig = await toolRig({ allowPrivate, settings: { httpAllow: [`${origin}/pub`, 'no url'], timeoutMs } })
}
const get = (url: string) => rig.use('assay:http.get', { url })

describe('assay:http.get', () => {
  test('fetches text below what is allowed; what is no text becomes a note', async () => {
    await start(true)
    const told = async (path: string) => (await get(`${origin}${path}`)).contents.text
    expect(await told('/pub/page?q=1')).toBe('HTTP 200 text/html\n\n<p>grüezi</p>')
    expect(await told('/pub/json')).toBe('HTTP 200 application/problem+json\n\n{"a":1}')
    expect(await told('/pub/bare')).toBe('HTTP 200\n\nbare')
    expect(await told('/pub/picture')).toBe('HTTP 200 image/png\n\n[image/png, 77 bytes]')
    expect(await told('/pub/binary')).toBe('HTTP 200 text/plain\n\n[text/plain, 3 bytes]')
    expect(await told('/pub/zip')).toBe('HTTP 200 text/plain\n\n[text/plain, 33 bytes]')
    expect(requests).toHaveLength(6)
    expect(rig.tools.problems()).toEqual(['assay:http.get: "no url" is not a URL prefix'])
  })

  test('G4: tells a redirect and does not follow it; a refusal is an error', async () => {
    await start(true)
    const moved = await get(`${origin}/pub/away`)
    expect([moved.told.code, moved.contents.text]).toEqual(['tool_failed', `HTTP 302, not followed: ${origin}/private`])
    const gone = await get(`${origin}/pub/gone`)
    expect([gone.told.code, gone.contents.text]).toEqual(['tool_failed', 'HTTP 410 text/plain\n\ngone for good'])
    expect(requests).toEqual(['GET /pub/away', 'GET /pub/gone'])
  })

  test('E17 F9: an endless, a silent and a broken answer end the call', async () => {
    await start(true, 500)
    const endless = await get(`${origin}/pub/endless`)
    expect(endless.told.status).toBe('ok')
    expect(Buffer.byteLength(endless.contents.text)).toBe(4_096)
    expect(endless.contents.text).toMatch(/\[cut: /)
    expect((await get(`${origin}/pub/silent`)).told.code).toBe('tool_timeout')
    expect((await get(`${origin}/pub/cut`)).told.code).toBe('tool_connection_lost')
  })

  test('attack 52: asks for nothing that is not allowed, and for nothing private although it is', async () => {
    await start(false)
    const refused = async (url: string) => (await get(url)).told.code
    expect(await refused(`${origin}/private`)).toBe('tool_refused')
    expect(await refused(`${origin}/pub/..%2fprivate`)).toBe('tool_refused')
    expect(await refused(`${origin}/pub/page`)).toBe('tool_refused')
    expect(requests).toEqual([])
    expect((await rig.use('assay:http.get', { url: `${origin}/pub/page`, method: 'POST' })).told.code).toBe(
      'tool_arguments_invalid',
    )
    expect((await rig.use('assay:http.get', { url: 7 })).told.code).toBe('tool_arguments_invalid')
  })
})
