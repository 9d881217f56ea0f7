import { createHash, randomBytes } from 'node:crypto'
import net from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AssayClient } from '../../src/client/assay-client.js'
import { freePort } from '../support/free-port.js'
import { type KeyName, node, secretOf, startHttp, type TestHost, workflow } from './harness.js'
import { file } from './journal-fixtures.js'

/** Files that are stored in pieces: they are neither held as a whole on their way in nor on their way out. */

const MAX = 6 * 1024 * 1024
const MEGABYTE = 1024 * 1024
const LONG = Buffer.concat([Buffer.from([0]), randomBytes(4 * MEGABYTE)])
const LONG_TEXT = Buffer.from('Snow “on” the\thill,\\ and ice below 🏔\n'.repeat(60_000))
const KEPT = workflow('kept', [node('only', 'core.noop')], { variables: [{ name: 'table', type: 'object' }] })

let host: TestHost
let url: string
beforeEach(async () => {
  host = await startHttp({ config: { workspace: { maxFileBytes: MAX } } })
  url = await host.app.listen({ host: '127.0.0.1', port: await freePort() })
  await host.call('alice', { method: 'PUT', url: '/v1/workflows/kept', payload: KEPT })
})
afterEach(() => host.close())

const used = async (tenant = 'acme') => (await host.store.usageOf(tenant)).storedBytes

/** In chunks, so that nobody knows before how long it is. */
const inChunks = (bytes: Buffer) =>
  new ReadableStream({
    type: 'bytes',
    start(controller) {
      controller.enqueue(new Uint8Array(bytes.subarray(0, 1)))
    },
    pull: (() => {
      let at = 1
      return (controller: ReadableByteStreamController) => {
        const next = bytes.subarray(at, at + 65_536)
        at += next.length
        if (next.length > 0) controller.enqueue(new Uint8Array(next))
        else controller.close()
      }
    })(),
  })

const put = (path: string, body: Buffer | ReadableStream, headers: object = {}, key: KeyName = 'alice') =>
  fetch(`${url}${file(path)}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${secretOf(key)}`, 'content-type': 'application/x-any', ...headers },
    body: body as never,
    duplex: 'half',
  } as RequestInit)

const get = (path: string, query = '?raw=true', key: KeyName = 'alice') =>
  fetch(`${url}${file(path, query)}`, { headers: { authorization: `Bearer ${secretOf(key)}` } })

const bytesOf = async (reply: Response) => Buffer.from(await reply.arrayBuffer())

describe('long files', () => {
  test('come back as they were sent, whether their length was told or not, with versions and sizes', async () => {
    expect((await put('a.bin', LONG)).status).toBe(201)
    const second = await put('a.bin', inChunks(LONG_TEXT), { 'if-match': '"1"' })
    expect([second.status, await second.json()]).toMatchObject([200, { version: 2, size: LONG_TEXT.length }])
    const now = await get('a.bin')
    expect([now.headers.get('content-length'), now.headers.get('etag')]).toEqual([String(LONG_TEXT.length), '"2"'])
    expect((await bytesOf(now)).equals(LONG_TEXT)).toBe(true)
    expect((await bytesOf(await get('a.bin', '?raw=true&version=1'))).equals(LONG)).toBe(true)
    expect((await get('a.bin', '?raw=true', 'bob')).status).toBe(404)
  })

  test('of text are in JSON what they say; others are not', async () => {
    await put('a.txt', LONG_TEXT)
    const { content, version } = (await (await get('a.txt', '')).json()) as { content: string; version: number }
    expect([content === LONG_TEXT.toString(), version]).toEqual([true, 1])
    await put('b.bin', LONG)
    const refused = await get('b.bin', '')
    expect([refused.status, ((await refused.json()) as { message: string }).message]).toEqual([
      400,
      expect.stringContaining('is no text'),
    ])
  })

  test('that are too large are refused in the middle, without an end of them, and leave nothing', async () => {
    const before = await used()
    const reply = await put('a.bin', inChunks(randomBytes(MAX + 2 * MEGABYTE)))
    expect([reply.status, await reply.json()]).toMatchObject([
      413,
      { error: 'workspace_too_large', details: { limit: MAX } },
    ])
    expect((await put('a.bin', randomBytes(MAX + 1))).status).toBe(413)
    expect([await used(), (await get('a.bin')).status]).toEqual([before, 404])
  })

  test('that break off leave nothing', async () => {
    const before = await used()
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      `PUT ${file('a.bin')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secretOf('alice')}\r\n` +
        `Content-Type: application/x-any\r\nContent-Length: ${LONG.length}\r\n\r\n`,
    )
    socket.write(LONG.subarray(0, 3 * MEGABYTE))
    await expect.poll(used, { timeout: 10_000 }).toBeGreaterThan(before + MEGABYTE)
    socket.destroy()
    await expect.poll(used, { timeout: 10_000 }).toBe(before)
    expect((await get('a.bin')).status).toBe(404)
  })

  test.each([
    ['its path is none', '../a', {}, 400],
    ['there must be none, and is', 'there.bin', { 'if-none-match': '*' }, 409],
    ['another version must be there', 'there.bin', { 'if-match': '"7"' }, 409],
    ['its type is none', 'b.bin', { 'content-encoding': 'gzip' }, 415],
  ])('that are refused because %s leave nothing', async (_, path, headers, status) => {
    await put('there.bin', Buffer.from('short'))
    const before = await used()
    const reply = await put(path.replace('../', '..%2f'), LONG, headers)
    expect([reply.status, await used()]).toEqual([status, before])
  })

  test('are written once under one Idempotency-Key, which is that of their bytes', async () => {
    const key = { 'idempotency-key': 'once' }
    expect((await put('a.bin', LONG, key)).status).toBe(201)
    const stored = await used()
    const again = await put('a.bin', inChunks(LONG), key)
    expect([again.status, again.headers.get('openwop-idempotent-replay')]).toEqual([201, 'true'])
    const other = await put('a.bin', randomBytes(LONG.length), key)
    expect([other.status, ((await other.json()) as { error: string }).error]).toEqual([409, 'idempotency_key_mismatch'])
    expect(Math.abs((await used()) - stored)).toBeLessThan(1_000)
  })

  test('R-WS-4: are stored without the secrets that the host knows, and refused where those cannot be masked', async () => {
    host.learnSecret('A', 'alpha-secret-value')
    const text = Buffer.alloc(3 * MEGABYTE, 'snow and ice\n')
    for (const at of [100, 512 * 1024 - 9, 2 * MEGABYTE]) text.write('alpha-secret-value', at)
    expect((await put('a.txt', text)).status).toBe(201)
    const read = await bytesOf(await get('a.txt'))
    expect([read.includes('alpha-secret'), read.toString().split('[REDACTED:A]').length]).toEqual([false, 4])
    const bytes = Buffer.from(LONG)
    bytes.write('alpha-secret-value', 512 * 1024 - 9)
    const before = await used()
    const refused = await put('b.bin', bytes)
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('holds a secret')])
    expect(await used()).toBe(before)
  })

  test('come with a run, and are where its input says; long text is no value, and leaves nothing', async () => {
    const client = new AssayClient({ url, key: secretOf('alice') })
    const created = await client.createRun({ workflowId: 'kept' }, undefined, { table: new File([LONG], 'a.png') })
    const { variables } = (await client.getRun(created.runId)) as { variables?: { table?: { file: string } } }
    const read = await client.workspace.read(variables?.table?.file ?? '')
    expect(Buffer.from(read).equals(LONG)).toBe(true)
    const before = await used()
    const sending = client.createRun({ workflowId: 'kept' }, undefined, { table: new File([LONG_TEXT], 'a.md') })
    await expect(sending).rejects.toMatchObject({
      code: 'payload_too_large',
      message: expect.stringMatching(/"table" is text of \d+ bytes; .* \(limits.maxRequestBodyBytes\)/),
    })
    const unknown = client.createRun({ workflowId: 'nowhere' }, undefined, { table: new File([LONG], 'a.png') })
    await expect(unknown).rejects.toMatchObject({ code: expect.stringMatching(/./) })
    expect(Math.abs((await used()) - before)).toBeLessThan(2_000)
  })

  test('may be read bit by bit', async () => {
    const client = new AssayClient({ url, key: secretOf('alice') })
    await client.workspace.write('a.bin', { bytes: new Blob([LONG]), contentType: 'application/zip' })
    const hash = createHash('sha256')
    let parts = 0
    for await (const part of await client.workspace.stream('a.bin')) {
      hash.update(part)
      parts += 1
    }
    expect(hash.digest('hex')).toBe(createHash('sha256').update(LONG).digest('hex'))
    expect(parts).toBeGreaterThan(4)
  })
})
