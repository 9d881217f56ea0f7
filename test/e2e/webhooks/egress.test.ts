import net from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createEgress, type EgressOptions, type EgressRequest } from '../../../src/egress/egress.js'
import { systemClock } from '../../../src/system.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { freePort } from '../../support/free-port.js'
import { certificate } from './certificate.js'
import { PRIVATE_HOSTS } from './private-urls.js'
import { answering, type Behaviour, type Sink, startSink } from './sink.js'
import { until } from './until.js'

const PUBLIC = '93.184.216.34'

const egressWith = (over: Partial<EgressOptions> = {}) =>
  createEgress({ allowPrivate: true, clock: systemClock, ...over })

const guarded = (addresses: readonly string[] = [PUBLIC], over: Partial<EgressOptions> = {}) =>
  egressWith({ allowPrivate: false, resolve: async () => addresses, ...over })

const post = (url: string, over: Partial<EgressRequest> = {}): EgressRequest => ({
  method: 'POST',
  url,
  headers: { 'x-test': '1' },
  body: '{"a":1}',
  timeoutMs: 5000,
  maxResponseBytes: 1024,
  ...over,
})

const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

async function sinkWith(behave: Behaviour = answering(200), tls = false): Promise<Sink> {
  const sink = await startSink({ behave, tls })
  opened.push(sink)
  return sink
}

/** A server that writes these bytes whatever it is asked. */
async function rawServer(bytes: string): Promise<string> {
  const port = await freePort()
  const server = net.createServer(socket => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => socket.end(bytes))
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  opened.push(server)
  return `http://127.0.0.1:${port}/`
}

describe('what is let out', () => {
  test('the table of private hosts is long enough to mean something', () => {
    expect(new Set(PRIVATE_HOSTS).size).toBeGreaterThanOrEqual(40)
  })

  test.each(PRIVATE_HOSTS)(
    'G1 R-HOOK-2: %s is refused at registration and at delivery, without a connection',
    async host => {
      const sink = await sinkWith()
      const egress = guarded()
      for (const url of [`https://${host}/x`, `https://${host}:${sink.port}/x`]) {
        expect((await egress.check(url))?.code).toBe('blocked-address')
        expect(await egress.send(post(url))).toMatchObject({ ok: false, code: 'blocked-address' })
      }
      expect(sink.connections).toBe(0)
    },
  )

  test.each([
    ['http://sink.example/', 'refused-url'],
    ['ftp://sink.example/', 'refused-url'],
    ['file:///etc/passwd', 'refused-url'],
    ['gopher://sink.example/', 'refused-url'],
    ['javascript:alert(1)', 'refused-url'],
    ['https://user:pass@sink.example/', 'refused-url'],
    ['https://user@sink.example/', 'refused-url'],
    ['https://sink.example/#x', 'refused-url'],
    ['https://sink.example/#', 'refused-url'],
    ['https://sink.example#@127.0.0.1/', 'refused-url'],
    ['https://sink.example:25/', 'refused-url'],
    ['https://sink.example:22/', 'refused-url'],
    ['https://sink.example:6379/', 'refused-url'],
    ['https://sink.example:5432/', 'refused-url'],
    ['sink.example/hook', 'malformed-url'],
    ['//sink.example/hook', 'malformed-url'],
    ['https://', 'malformed-url'],
    ['https://[::1/', 'malformed-url'],
    ['https://sink.example:99999/', 'malformed-url'],
    ['', 'malformed-url'],
  ])('%s is %s', async (url, code) => {
    const egress = guarded()
    expect((await egress.check(url))?.code).toBe(code)
    expect(await egress.send(post(url))).toMatchObject({ ok: false, code })
  })

  test.each([
    'https://sink.example/',
    'https://sink.example:8443/a?b=c',
    `https://${PUBLIC}/`,
    'https://sink.example./',
  ])('%s may be registered', async url => {
    expect(await guarded().check(url)).toBeUndefined()
  })

  test('a name that cannot be resolved is refused, and says so', async () => {
    for (const resolve of [async () => [], () => Promise.reject(new Error('ENOTFOUND'))]) {
      const egress = egressWith({ allowPrivate: false, resolve })
      expect((await egress.check('https://sink.example/'))?.code).toBe('unresolvable')
      expect(await egress.send(post('https://sink.example/'))).toMatchObject({ ok: false, code: 'unresolvable' })
    }
  })

  test.each([
    [[PUBLIC, '127.0.0.1']],
    [['127.0.0.1', PUBLIC]],
    [[PUBLIC, '::1']],
    [[PUBLIC, '2606:4700::1111', 'fd00::1']],
    [[PUBLIC, 'nonsense']],
  ])('G2: one private address among %j is enough', async addresses => {
    const sink = await sinkWith()
    const egress = guarded(addresses)
    const url = `https://sink.example:${sink.port}/`
    expect((await egress.check(url))?.code).toBe('blocked-address')
    expect(await egress.send(post(url))).toMatchObject({ ok: false, code: 'blocked-address' })
    expect(sink.connections).toBe(0)
  })

  test('G1: a name that was public when it was registered and is private now is not connected to', async () => {
    const sink = await sinkWith()
    const answers = [[PUBLIC], ['127.0.0.1']]
    const egress = egressWith({ allowPrivate: false, resolve: async () => answers.shift() ?? [] })
    const url = `https://rebinding.example:${sink.port}/`
    expect(await egress.check(url)).toBeUndefined()
    expect(await egress.send(post(url))).toMatchObject({ ok: false, code: 'blocked-address' })
    expect([answers.length, sink.connections]).toEqual([0, 0])
  })

  test('G2: the name is resolved once, and the connection goes to what was judged, with Host and SNI kept', async () => {
    const sink = await sinkWith(answering(200), true)
    let asked = 0
    // A second resolution would find nobody.
    const resolve = async () => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2'])
    const egress = egressWith({ resolve, ca: certificate.cert })
    const answer = await egress.send(post(`https://sink.example:${sink.port}/a?b=c`))
    expect(answer).toMatchObject({ ok: true, status: 200, truncated: false })
    expect(asked).toBe(1)
    const [request] = sink.received
    expect(request).toMatchObject({ path: '/a?b=c', body: '{"a":1}', servername: 'sink.example' })
    expect(request?.headers).toMatchObject({ host: `sink.example:${sink.port}`, 'x-test': '1', 'content-length': '7' })
  })

  test('an address is not resolved', async () => {
    const sink = await sinkWith()
    const egress = egressWith({ resolve: () => Promise.reject(new Error('asked')) })
    expect(await egress.send(post(sink.url))).toMatchObject({ ok: true, status: 200 })
  })

  test('a closed client sends nothing more, and cuts what is under way', async () => {
    const sink = await sinkWith(() => undefined)
    const egress = egressWith()
    const sent = egress.send(post(sink.url))
    await until(() => sink.received.length === 1)
    egress.close()
    expect(await sent).toMatchObject({ ok: false, code: 'aborted' })
    expect(await egress.send(post(sink.url))).toMatchObject({ ok: false, code: 'aborted' })
    expect(sink.connections).toBe(1)
  })
})

describe('what comes back', () => {
  test.each([200, 204, 404, 410, 500, 503])('status %i is told as it is', async status => {
    const sink = await sinkWith(answering(status))
    expect(await egressWith().send(post(sink.url))).toMatchObject({ ok: true, status })
  })

  test.each([301, 302, 307, 308])('G4 R-HOOK-2: redirect %i is a status, not a way', async status => {
    const other = await sinkWith()
    const sink = await sinkWith(answering(status, { location: other.url }))
    expect(await egressWith().send(post(sink.url))).toMatchObject({ ok: true, status })
    expect([sink.received.length, other.connections]).toEqual([1, 0])
  })

  test('G3: an endless body is cut at the size', async () => {
    const sink = await sinkWith(response => {
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16 * 1024, 'x')));
      }
      response.on('drain', pour)
      pour()
    })
    const answer = await egressWith().send(post(sink.url))
    expect(answer).toMatchObject({ ok: true, status: 200, truncated: true })
    expect(answer.ok && answer.body.length).toBe(1024)
  })

  test('G4: what is compressed stays compressed', async () => {
    const sink = await sinkWith(response => response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip'))
    const answer = await egressWith().send(post(sink.url))
    expect(answer.ok && answer.body.toString()).toBe('not gzip')
    expect(sink.received[0]?.headers['accept-encoding']).toBeUndefined()
  })

  test.each<[string, Behaviour]>([
    ['no answer', () => undefined],
    ['headers and no body', response => response.writeHead(200).flushHeaders()],
    [
      'a slow drip',
      response => {
        const drip = setInterval(() => (response.destroyed ? clearInterval(drip) : response.write('.')), 5)
      },
    ],
  ])('G3: %s is cut at the deadline', async (_, behave) => {
    const sink = await sinkWith(behave)
    const clock = new ManualClock()
    let settled = false
    const sent = egressWith({ clock })
      .send(post(sink.url, { maxResponseBytes: 1_000_000 }))
      .finally(() => {
        settled = true
      })
    await until(() => sink.received.length === 1)
    await clock.advance(4999)
    expect(settled).toBe(false)
    await clock.advance(1)
    expect(await sent).toMatchObject({ ok: false, code: 'timeout' })
  })

  test('G3: the deadline covers the resolver', async () => {
    const clock = new ManualClock()
    const egress = egressWith({ allowPrivate: false, clock, resolve: () => new Promise(() => undefined) })
    const sent = egress.send(post('https://sink.example/'))
    const checked = egress.check('https://sink.example/')
    await clock.advance(5000)
    expect(await sent).toMatchObject({ ok: false, code: 'timeout' })
    expect((await checked)?.code).toBe('unresolvable')
  })

  test('a caller may take a request back', async () => {
    const sink = await sinkWith(() => undefined)
    const caller = new AbortController()
    const sent = egressWith().send(post(sink.url, { signal: caller.signal }))
    await until(() => sink.received.length === 1)
    caller.abort()
    expect(await sent).toMatchObject({ ok: false, code: 'aborted' })
  })

  test.each([
    ['garbage\r\n\r\n', 'bad-response'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n', 'bad-response'],
    [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 'bad-response'],
    ['', 'connection-lost'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort', 'connection-lost'],
    ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', 'connection-lost'],
  ])('an answer that is none: %j', async (bytes, code) => {
    expect(await egressWith().send(post(await rawServer(bytes)))).toMatchObject({ ok: false, code })
  })

  test('nobody listens', async () => {
    const answer = await egressWith().send(post(`http://127.0.0.1:${await freePort()}/`))
    expect(answer).toMatchObject({ ok: false, code: 'connect-failed' })
  })

  test('a certificate nobody vouches for, or of another name, is a failure, and nothing was sent', async () => {
    const sink = await sinkWith(answering(200), true)
    const resolve = async () => ['127.0.0.1']
    const ask = (host: string, ca?: string) =>
      egressWith({ resolve, ...(ca === undefined ? undefined : { ca }) }).send(post(`https://${host}:${sink.port}/`))
    expect(await ask('sink.example')).toMatchObject({ ok: false, code: 'tls-failed' })
    expect(await ask('other.example', certificate.cert)).toMatchObject({ ok: false, code: 'tls-failed' })
    expect(await ask('127.0.0.1', certificate.cert)).toMatchObject({ ok: false, code: 'tls-failed' })
    expect([sink.connections, sink.received.length]).toEqual([3, 0])
  })

  test('TLS asked of a server that has none is a failure', async () => {
    const sink = await sinkWith()
    const answer = await egressWith().send(post(`https://127.0.0.1:${sink.port}/`))
    expect(answer).toMatchObject({ ok: false, code: 'tls-failed' })
  })

  test('G5: no message repeats anything of the URL', async () => {
    const urls = ['https://CNRY.localhost/?CNRY', 'http://CNRY.example/CNRY', 'https://u:CNRY@x.example/', 'CNRY']
    const answers = await Promise.all(urls.map(url => guarded().send(post(url))))
    expect(answers.map(answer => answer.ok)).toEqual([false, false, false, false])
    expect(JSON.stringify(answers).toLowerCase()).not.toContain('cnry')
  })
})
