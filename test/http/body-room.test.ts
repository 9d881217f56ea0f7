import net from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KeyName, secretOf, startHttp, type TestHost } from './harness.js'
import { listen } from './sockets.js'

const BYTES = 8 * 1024 * 1024
/** Half of the room there is, in files of that size. */
const ROOM = 16

let host: TestHost
let port: number
beforeAll(async () => {
  host = await startHttp()
  port = await listen(host.app)
}, 120_000)
afterAll(() => host.close())

/** Announces a file, and sends nothing of it. */
function announce(key: KeyName, name: string, how = `Content-Length: ${BYTES}`) {
  const socket = net.connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', data => (received += data))
  socket.on('error', () => undefined)
  socket.write(
    `PUT /v1/host/workspace/files/${name} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secretOf(key)}\r\nContent-Type: text/plain\r\n${how}\r\n\r\n`,
  )
  return { received: () => received, close: () => socket.destroy() }
}

const put = (key: KeyName, bytes: number) =>
  host.call(key, {
    method: 'PUT',
    url: '/v1/host/workspace/files/small',
    headers: { 'content-type': 'text/plain' },
    payload: 'x'.repeat(bytes),
  })

test('bodies that are on their way take half of the room of all at most, and give it back when they are gone', async () => {
  const senders = Array.from({ length: ROOM }, (_, i) => announce('alice', `f${i}`))
  await expect.poll(() => host.app.load().bodyBytes, { timeout: 60_000 }).toBe(ROOM * BYTES)
  for (const how of [undefined, 'Transfer-Encoding: chunked']) {
    const more = announce('alice', 'more', how)
    await expect.poll(() => more.received(), { timeout: 60_000 }).toContain('HTTP/1.1 429')
    expect(more.received()).toMatch(/rate_limited.*no room for this one/)
    more.close()
  }
  // What is short is taken all the same, and another tenant has room of its own.
  expect((await put('alice', 1_000)).status).toBe(201)
  expect((await put('bob', 200_000)).status).toBe(201)
  expect((await put('alice', 200_000)).status).toBe(429)
  for (const sender of senders) sender.close()
  await expect.poll(() => host.app.load().bodyBytes, { timeout: 60_000 }).toBe(0)
  expect((await put('alice', 200_000)).status).toBe(200)
  expect(host.app.load().bodyBytes).toBe(0)
}, 120_000)
