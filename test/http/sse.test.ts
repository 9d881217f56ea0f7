import { afterEach, describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../src/engine/ports/event-log.js'
import { httpConfig } from '../../src/http/config.js'
import { overriding } from './fake-engine.js'
import { startHttp, type TestHost } from './harness.js'
import { framesOf, listen, openStream } from './sockets.js'

let host: TestHost
afterEach(() => host.close())

const start = async (workflowId: string): Promise<string> =>
  (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId } })).json.runId

const events = async (runId: string, query = '', headers: object = {}) =>
  host.call('alice', { url: `/v1/runs/${runId}/events${query}`, headers: { ...headers } })

const types = (text: string) => framesOf(text).map(frame => frame.event)

describe('event streams (contract core §6)', () => {
  test('R-SSE-1: a finished run is sent from the start and then closed', async () => {
    host = await startHttp()
    const reply = await events(await start('noop'))
    expect(reply.headers['content-type']).toBe('text/event-stream')
    expect(types(reply.text)).toEqual(['run.started', 'node.completed', 'run.completed'])
    expect(framesOf(reply.text).map(frame => frame.id)).toEqual([0, 2, 3])
    expect(framesOf(reply.text)[0]?.data).toMatchObject({
      type: 'run.started',
      sequence: 0,
      payload: { workflowId: 'noop' },
    })
  })

  test('R-SSE-3: debug carries every event, messages none of these, and a union the sum', async () => {
    host = await startHttp()
    const runId = await start('noop')
    const all = ['run.started', 'node.started', 'node.completed', 'run.completed']
    expect(types((await events(runId, '?streamMode=debug')).text)).toEqual(all)
    expect(types((await events(runId, '?streamMode=messages')).text)).toEqual([])
    expect(types((await events(runId, '?streamMode=updates,debug')).text)).toEqual(all)
  })

  test('R-SSE-1: live: what happens later arrives without gap or repetition, and the end closes the stream', async () => {
    host = await startHttp()
    const runId = await start('slow')
    const stream = await openStream(await listen(host.app), `/v1/runs/${runId}/events?streamMode=debug`)
    await stream.until(/node\.started/)
    await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel` })
    const frames = framesOf(await stream.ended)
    expect(frames.map(frame => frame.id)).toEqual(frames.map((_, index) => index))
    expect(frames.at(-1)?.event).toBe('run.cancelled')
  })

  test('R-SSE-7: values: a snapshot after each transition, the last one terminal', async () => {
    host = await startHttp()
    const runId = await start('slow')
    const stream = await openStream(await listen(host.app), `/v1/runs/${runId}/events?streamMode=values`)
    await stream.until(/state\.snapshot/)
    await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel` })
    const frames = framesOf(await stream.ended)
    expect(new Set(frames.map(frame => frame.event))).toEqual(new Set(['state.snapshot']))
    expect(frames[0]?.data).toMatchObject({ runId, status: 'running' })
    expect(frames.at(-1)?.data).toMatchObject({ status: 'cancelled', atSeq: frames.at(-1)?.id })
  })

  test('R-SSE-2: Last-Event-ID continues with the next sequence; at or past the end of an ended run it just closes', async () => {
    host = await startHttp()
    const runId = await start('noop')
    expect(types((await events(runId, '?streamMode=debug', { 'last-event-id': '1' })).text)).toEqual([
      'node.completed',
      'run.completed',
    ])
    for (const past of ['3', '4', '999999']) {
      const reply = await events(runId, '', { 'last-event-id': past })
      expect([reply.status, types(reply.text)]).toEqual([200, []])
    }
    expect(types((await events(runId, '?streamMode=values', { 'last-event-id': '3' })).text)).toEqual([
      'state.snapshot',
    ])
  })

  test('core §6: a stream that resumes at the end of a living run waits, tells only what is newer, and sees it end', async () => {
    host = await startHttp()
    const runId = await start('slow')
    const port = await listen(host.app)
    const url = `/v1/runs/${runId}/events?streamMode=debug`
    const all = await openStream(port, url)
    const known = framesOf(await all.until(/node\.started/)).at(-1)!.id!
    const resumed = await openStream(port, url, { headers: { 'last-event-id': String(known) } })
    let isOver = false
    void resumed.ended.then(() => (isOver = true))
    // A run that lives keeps its streams open, and what the reader has is not sent again.
    await host.call('alice', { url: `/v1/runs/${runId}` })
    expect([resumed.status, isOver, framesOf(resumed.text())]).toEqual([200, false, []])
    await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}/cancel` })
    const told = framesOf(await all.ended)
    expect(told.at(-1)?.event).toBe('run.cancelled')
    expect(framesOf(await resumed.ended)).toEqual(told.filter(({ id }) => id! > known))
  })

  test.each(['abc', '-1', '1.5', '', '1e3', '9'.repeat(40)])('Last-Event-ID %j is 400', async id => {
    host = await startHttp()
    const reply = await events(await start('noop'), '', { 'last-event-id': id })
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
  })

  test('R-SSE-4: bufferMs gathers events into batches, loses none and does not wait for the last', async () => {
    host = await startHttp()
    const runId = await start('noop')
    const reply = await events(runId, '?streamMode=debug&bufferMs=5000')
    const frames = framesOf(reply.text)
    expect(frames.map(frame => [frame.event, frame.id])).toEqual([['batch', 3]])
    expect(frames[0]?.data).toMatchObject([0, 1, 2, 3].map(sequence => ({ sequence })))
  })

  test('a batch is sent when its time is over, though the run goes on', async () => {
    host = await startHttp()
    const runId = await start('slow')
    const stream = await openStream(await listen(host.app), `/v1/runs/${runId}/events?streamMode=debug&bufferMs=30`)
    const text = await stream.until(/event: batch/)
    expect(framesOf(text)[0]?.id).toBe(1)
    stream.close()
  })

  test.each([
    ['?streamMode=nope', 'unsupported_stream_mode'],
    ['?streamMode=updates,nope', 'unsupported_stream_mode'],
    ['?streamMode=values,updates', 'unsupported_stream_mode'],
    ['?streamMode=', 'unsupported_stream_mode'],
    ['?streamMode=updates&streamMode=debug', 'unsupported_stream_mode'],
    ['?bufferMs=5001', 'validation_error'],
    ['?bufferMs=-1', 'validation_error'],
    ['?bufferMs=1.5', 'validation_error'],
    ['?bufferMs=abc', 'validation_error'],
  ])('E63 R-SSE-3 R-SSE-4: %s is 400 %s, whatever Accept says', async (query, code) => {
    host = await startHttp()
    const runId = await start('noop')
    for (const accept of ['text/event-stream', 'application/json']) {
      const reply = await events(runId, query, { accept })
      expect([reply.status, reply.json.error]).toEqual([400, code])
    }
    if (code === 'unsupported_stream_mode') {
      expect((await events(runId, query)).json.details.supported).toEqual(['values', 'updates', 'messages', 'debug'])
    }
  })

  test('R-SSE-6: Accept: application/json gets the whole log as JSON', async () => {
    host = await startHttp()
    const reply = await events(await start('noop'), '', { accept: 'application/json' })
    expect(reply.json.events.map((event: { sequence: number }) => event.sequence)).toEqual([0, 1, 2, 3])
  })

  test('R-SSE-5: a quiet stream says :keepalive', async () => {
    host = await startHttp({ config: { timeouts: { keepAliveCommentMs: 10, keyRecheckMs: 10 } } })
    const stream = await openStream(await listen(host.app), `/v1/runs/${await start('slow')}/events`)
    await stream.until(/:keepalive\n\n/)
    stream.close()
    expect(httpConfig().timeouts.keepAliveCommentMs).toBeLessThanOrEqual(30_000)
  })

  test('E63 R-SSE-8: streams per key are capped with 429; one that closes makes room', async () => {
    host = await startHttp({ config: { limits: { maxStreamsPerKey: 2 } } })
    const port = await listen(host.app)
    const path = `/v1/runs/${await start('slow')}/events`
    const open = [await openStream(port, path), await openStream(port, path)]
    const refused = await openStream(port, path)
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1'])
    expect(JSON.parse(await refused.ended)).toMatchObject({ error: 'rate_limited', details: { scope: 'key' } })
    expect((await openStream(port, path, { key: 'reader' })).status).toBe(200)
    open[0]?.close()
    await expect.poll(async () => (await openStream(port, path)).status, { timeout: 5000 }).toBe(200)
  })

  test('a reader that takes nothing is cut off with bounded memory, and resumes without a gap', async () => {
    const flood = Array.from({ length: 400 }, (_, sequence) => filler(sequence, 100_000))
    host = await startHttp({
      config: { limits: { maxStreamBufferBytes: 256 * 1024 }, timeouts: { streamStallMs: 200 } },
      wrap: overriding(() => ({
        async follow(_tenant, _runId, from) {
          return (async function* () {
            for (const event of flood.slice(from)) yield [event]
          })()
        },
        async readEvents(_tenant, _runId, from) {
          return flood.slice(from)
        },
      })),
    })
    const runId = await start('slow')
    const port = await listen(host.app)
    const path = `/v1/runs/${runId}/events?streamMode=debug`
    const seen: number[] = []
    // Never reads: the sockets fill, the host waits, then cuts.
    const stalled = await openPaused(port, path)
    await stalled.cut
    const part = await stalled.read()
    expect(part.length).toBeLessThan(flood.length * 100_000)
    for (const frame of framesOf(part.slice(0, part.lastIndexOf('\n\n') + 2))) seen.push(frame.id)
    const rest = await openStream(port, path, { headers: { 'last-event-id': String(seen.at(-1) ?? -1) } })
    for (const frame of framesOf(await rest.ended)) seen.push(frame.id)
    expect(seen).toEqual(flood.map(event => event.sequence))
  })

  test('a Last-Event-ID past the end of a run that goes on is 400; of one that ended, an empty stream', async () => {
    host = await startHttp()
    const headers = { 'last-event-id': '50' }
    const going = await host.call('alice', { url: `/v1/runs/${await start('slow')}/events`, headers })
    expect([going.status, going.json.details]).toEqual([400, { field: 'Last-Event-ID' }])
    const over = await host.call('alice', { url: `/v1/runs/${await start('noop')}/events`, headers })
    expect([over.status, over.text]).toEqual([200, ''])
  })

  test('core §6: of a run that goes on the last sequence is a Last-Event-ID, and the one after it is past the end', async () => {
    host = await startHttp()
    const runId = await start('slow')
    const from = (id: number) => events(runId, '', { accept: 'application/json', 'last-event-id': String(id) })
    const [first, last] = (await events(runId, '', { accept: 'application/json' })).json.events
    expect([first.sequence, last.sequence]).toEqual([0, 1])
    expect((await from(0)).json.events).toEqual([last])
    const atEnd = await from(1)
    expect([atEnd.status, atEnd.json]).toEqual([200, { events: [] }])
    const beyond = await from(2)
    expect([beyond.status, beyond.json.details]).toEqual([400, { field: 'Last-Event-ID' }])
  })

  test('closing the app ends open streams', async () => {
    host = await startHttp()
    const stream = await openStream(await listen(host.app), `/v1/runs/${await start('slow')}/events`)
    await stream.until(/run\.started/)
    await host.app.close()
    expect(await stream.ended).toContain('run.started')
  })

  test('the secret half of an event is never sent', async () => {
    host = await startHttp()
    const payload = { workflowId: 'secretive', inputs: { token: 'CNRY-sensitive-input' } }
    const { runId } = (await host.call('alice', { method: 'POST', url: '/v1/runs', payload })).json
    for (const url of ['', '/events?streamMode=debug', '/events?streamMode=values', '/events/poll']) {
      const reply = await host.call('alice', { url: `/v1/runs/${runId}${url}` })
      expect(reply.text).toContain('[REDACTED]')
      expect(reply.text).not.toContain('CNRY')
    }
  })
})

const filler = (sequence: number, bytes: number): StoredEvent => ({
  sequence,
  type: 'log.appended',
  nodeId: 'wait',
  payload: JSON.stringify({ level: 'info', message: 'x'.repeat(bytes), nodeId: 'wait' }),
  secret: null,
  cause: null,
  foreignCause: null,
  at: 0,
  input: null,
  salt: null,
  erased: null,
  hash: '',
})

/** A client that asks and then does not read until told to. `cut` resolves when the host no longer has the stream. */
async function openPaused(port: number, path: string) {
  const { default: net } = await import('node:net')
  const { secretOf } = await import('./harness.js')
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secretOf('alice')}\r\n\r\n`)
  const count = () => new Promise<number>(resolve => host.app.server.getConnections((_, open) => resolve(open)))
  await expect.poll(count, { timeout: 5000 }).toBe(1)
  const cut = expect.poll(count, { timeout: 20_000 }).toBe(0)
  const read = () =>
    new Promise<string>(resolve => {
      let text = ''
      socket.on('data', data => {
        text += data
      })
      socket.on('close', () => resolve(unchunked(text)))
      socket.resume()
    })
  return { cut, read }
}

/** Takes the chunk sizes of transfer-encoding out again, as far as the text goes. */
function unchunked(text: string): string {
  let rest = text.slice(text.indexOf('\r\n\r\n') + 4)
  let body = ''
  for (let line = rest.indexOf('\r\n'); line > 0; line = rest.indexOf('\r\n')) {
    const size = Number.parseInt(rest.slice(0, line), 16)
    body += rest.slice(line + 2, line + 2 + size)
    rest = rest.slice(line + 2 + size + 2)
  }
  return body
}
