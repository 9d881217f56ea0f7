import { afterEach, describe, expect, test } from 'vitest'
import { createEgress, type EgressOptions, type StreamRequest } from '../../../src/egress/egress.js'
import { fetchThrough } from '../../../src/egress/fetch.js'
import { EgressInterrupted } from '../../../src/egress/stream.js'
import { systemClock } from '../../../src/system.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { freePort } from '../../support/free-port.js'
import { answering, type Behaviour, type Sink, startSink } from '../webhooks/sink.js'
import { until } from '../webhooks/until.js'

const egressWith = (over: Partial<EgressOptions> = {}) =>
  createEgress({ allowPrivate: false, clock: systemClock, ...over })

const get = (url: string, over: Partial<StreamRequest> = {}): StreamRequest => ({
  method: 'GET',
  url,
  headers: {},
  timeoutMs: 5000,
  maxResponseBytes: 1024 * 1024,
  trusted: true,
  ...over,
})

const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})
async function sinkWith(behave: Behaviour = answering(200)): Promise<Sink> {
  const sink = await startSink({ behave })
  opened.push(sink)
  return sink
}

/** Counts what is connected, to see that it is let go. */
const connected = (sink: Sink) => sink.connections

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of body) text += chunk.toString()
  return text
}

const drip: Behaviour = response => {
  const timer = setInterval(() => (response.destroyed ? clearInterval(timer) : response.write('.')), 2)
}

describe('open', () => {
  test('the body comes piece by piece, before the answer has ended', async () => {
    let finish: () => void = () => undefined
    const sink = await sinkWith(response => {
      response.write('first')
      finish = () => response.end('second')
    })
    const answer = await egressWith().open(get(sink.url))
    if (!answer.ok) throw new Error(answer.message)
    const body = answer.body[Symbol.asyncIterator]()
    expect(String((await body.next()).value)).toBe('first')
    finish()
    expect(String((await body.next()).value)).toBe('second')
    expect((await body.next()).done).toBe(true)
  })

  test('a body that is read late is whole', async () => {
    const sink = await sinkWith(response => response.end('x'.repeat(300_000)))
    const answer = await egressWith().open(get(sink.url))
    if (!answer.ok) throw new Error(answer.message)
    await new Promise(resolve => setImmediate(resolve))
    expect(await textOf(answer.body)).toHaveLength(300_000)
  })

  test('G1: only a trusted request goes to this machine, and trust is for one request', async () => {
    const sink = await sinkWith()
    const egress = egressWith()
    expect(await egress.open(get(sink.url, { trusted: false }))).toMatchObject({ ok: false, code: 'refused-url' })
    const tls = sink.url.replace('http:', 'https:')
    expect(await egress.open(get(tls, { trusted: false }))).toMatchObject({ ok: false, code: 'blocked-address' })
    expect(await egress.send(get(sink.url))).toMatchObject({ ok: false })
    expect(connected(sink)).toBe(0)
    expect(await egress.open(get(sink.url))).toMatchObject({ ok: true, status: 200 })
  })

  test('G2: a name is resolved once, and what it resolves to is judged', async () => {
    const sink = await sinkWith()
    const resolve = async () => ['127.0.0.1']
    const url = `https://sink.example:${sink.port}/`
    expect(await egressWith({ resolve }).open(get(url, { trusted: false }))).toMatchObject({
      ok: false,
      code: 'blocked-address',
    })
    expect(connected(sink)).toBe(0)
  })

  test.each<[string, Behaviour]>([
    ['no answer', () => undefined],
    ['a slow drip', drip],
  ])('G3: %s is cut at the deadline', async (_, behave) => {
    const sink = await sinkWith(behave)
    const clock = new ManualClock()
    let settled = false
    const read = (async () => {
      const answer = await egressWith({ clock }).open(get(sink.url))
      return answer.ok ? textOf(answer.body) : Promise.reject(new EgressInterrupted(answer))
    })().finally(() => {
      settled = true
    })
    const refused = expect(read).rejects.toMatchObject({ name: 'EgressInterrupted', code: 'timeout' })
    await until(() => sink.received.length === 1)
    await clock.advance(4999)
    expect(settled).toBe(false)
    await clock.advance(1)
    await refused
  })

  test('G3: silence is cut after idleMs, and words begin it anew', async () => {
    let say: (text: string) => void = () => undefined
    const sink = await sinkWith(response => {
      say = text => void response.write(text)
      say('a')
    })
    const clock = new ManualClock()
    const answer = await egressWith({ clock }).open(get(sink.url, { idleMs: 1000, timeoutMs: 60_000 }))
    if (!answer.ok) throw new Error(answer.message)
    const body = answer.body[Symbol.asyncIterator]()
    await body.next()
    const second = body.next()
    await clock.advance(999)
    say('b')
    expect(String((await second).value)).toBe('b')
    const third = expect(body.next()).rejects.toMatchObject({ code: 'timeout' })
    await clock.advance(1000)
    await third
  })

  test('G3: an endless body is cut at the size', async () => {
    const sink = await sinkWith(response => {
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16 * 1024, 'x')));
      }
      response.on('drain', pour)
      pour()
    })
    const answer = await egressWith().open(get(sink.url, { maxResponseBytes: 100_000 }))
    if (!answer.ok) throw new Error(answer.message)
    let size = 0
    const read = async () => {
      for await (const chunk of answer.body) size += chunk.length
    }
    await expect(read()).rejects.toMatchObject({ code: 'too-large' })
    expect(size).toBeLessThanOrEqual(100_000)
  })

  test('an answer that breaks off says so', async () => {
    const sink = await sinkWith(response => {
      response.writeHead(200, { 'content-length': '50' }).write('short')
      setImmediate(() => response.socket?.destroy())
    })
    const answer = await egressWith().open(get(sink.url))
    if (!answer.ok) throw new Error(answer.message)
    await expect(textOf(answer.body)).rejects.toMatchObject({ name: 'EgressInterrupted', code: 'connection-lost' })
  })

  test.each<[string, (stop: { caller: AbortController; close: () => void }) => void]>([
    ['the caller', ({ caller }) => caller.abort()],
    ['the host that stops', ({ close }) => close()],
  ])('a body that is being read is cut by %s', async (_, cut) => {
    const gone: boolean[] = []
    const sink = await sinkWith((response, n, request) => {
      response.on('close', () => gone.push(true))
      drip(response, n, request)
    })
    const caller = new AbortController()
    const egress = egressWith()
    const answer = await egress.open(get(sink.url, { signal: caller.signal }))
    if (!answer.ok) throw new Error(answer.message)
    const read = expect(textOf(answer.body)).rejects.toMatchObject({ code: 'aborted' })
    cut({ caller, close: () => egress.close() })
    await read
    await until(() => gone.length === 1)
  })

  test('whoever stops reading lets the connection go', async () => {
    const gone: boolean[] = []
    const sink = await sinkWith((response, n, request) => {
      response.on('close', () => gone.push(true))
      drip(response, n, request)
    })
    const answer = await egressWith().open(get(sink.url))
    if (!answer.ok) throw new Error(answer.message)
    for await (const _ of answer.body) break
    await until(() => gone.length === 1)
  })

  test('nobody listens', async () => {
    const answer = await egressWith().open(get(`http://127.0.0.1:${await freePort()}/`))
    expect(answer).toMatchObject({ ok: false, code: 'connect-failed' })
  })
})

describe('fetchThrough', () => {
  const limits = { timeoutMs: 5000, maxResponseBytes: 1024 * 1024 }

  test('method, headers, body, status and headers of the answer', async () => {
    const sink = await sinkWith(response =>
      response.writeHead(201, { 'x-a': 'b', 'set-cookie': ['c=1', 'd=2'] }).end('made'),
    )
    const send = fetchThrough(egressWith(), { ...limits, trustedUrl: sink.url })
    const response = await send(new URL(sink.url), {
      method: 'POST',
      headers: [['X-Test', '1']],
      body: new TextEncoder().encode('{"ä":1}'),
    })
    expect([response.status, response.headers.get('x-a'), await response.text()]).toEqual([201, 'b', 'made'])
    expect(sink.received[0]).toMatchObject({ body: '{"ä":1}', headers: { 'x-test': '1', 'content-length': '8' } })
  })

  test('a Request is sent as it is', async () => {
    const sink = await sinkWith()
    const send = fetchThrough(egressWith(), { ...limits, trustedUrl: sink.url })
    await (await send(new Request(sink.url, { method: 'PUT', headers: { 'x-test': '1' }, body: 'put' }))).text()
    expect(sink.received[0]).toMatchObject({ body: 'put', headers: { 'x-test': '1' } })
  })

  test('G1: trust is for the configured origin, not for where a server points to', async () => {
    const [sink, other] = [await sinkWith(), await sinkWith()]
    const send = fetchThrough(egressWith(), { ...limits, trustedUrl: sink.url })
    expect((await send(`http://127.0.0.1:${sink.port}/elsewhere`)).status).toBe(200)
    await expect(send(other.url)).rejects.toMatchObject({ name: 'EgressInterrupted', code: 'refused-url' })
    await expect(send('http://169.254.169.254/latest')).rejects.toMatchObject({ code: 'refused-url' })
    await expect(send('nonsense')).rejects.toMatchObject({ code: 'malformed-url' })
    expect(connected(other)).toBe(0)
  })

  test('G4: a redirect is an answer', async () => {
    const other = await sinkWith()
    const sink = await sinkWith(answering(302, { location: other.url }))
    const response = await fetchThrough(egressWith(), { ...limits, trustedUrl: sink.url })(sink.url)
    expect([response.status, connected(other)]).toEqual([302, 0])
    await response.body?.cancel()
  })

  test.each([204, 304])('status %i has no body', async status => {
    const sink = await sinkWith(response => response.writeHead(status).end())
    const response = await fetchThrough(egressWith(), { ...limits, trustedUrl: sink.url })(sink.url)
    expect([response.status, response.body]).toEqual([status, null])
  })

  test('a request that is taken back rejects with the reason its caller gave', async () => {
    const sink = await sinkWith(() => undefined)
    const caller = new AbortController()
    const sent = fetchThrough(egressWith(), { ...limits, trustedUrl: sink.url })(sink.url, { signal: caller.signal })
    await until(() => sink.received.length === 1)
    const refused = expect(sent).rejects.toBe('enough')
    caller.abort('enough')
    await refused
  })

  test('what breaks off breaks the body, and whoever cancels it lets the connection go', async () => {
    const gone: boolean[] = []
    const sink = await sinkWith((response, n, request) => {
      response.on('close', () => gone.push(true))
      drip(response, n, request)
    })
    const send = fetchThrough(egressWith(), { ...limits, maxResponseBytes: 20, trustedUrl: sink.url })
    await expect((await send(sink.url)).text()).rejects.toMatchObject({ code: 'too-large' })
    const response = await send(sink.url)
    await response.body?.cancel()
    await until(() => gone.length === 2)
  })

  test('only text and bytes can be sent', async () => {
    await expect(
      fetchThrough(egressWith(), limits)('https://x.example/', { method: 'POST', body: new URLSearchParams('a=b') }),
    ).rejects.toThrow(TypeError)
  })
})
