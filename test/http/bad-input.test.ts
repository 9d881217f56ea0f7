import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { node, secretOf, spare, startHttp, type TestHost } from './harness.js'
import { listen, sendRaw } from './sockets.js'
import '../support/seed.js'

let host: TestHost
let port: number
beforeAll(async () => {
  host = await startHttp({
    config: { limits: { maxRequestBodyBytes: 100_000 }, timeouts: { requestMs: 1000, headersMs: 900 } },
  })
  port = await listen(host.app)
})
afterAll(() => host.close())

/** After every attack: no prototype was touched, no bug was logged, and the host still answers. */
afterEach(async () => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as { admin?: unknown }).admin).toBeUndefined()
  expect(host.lines.filter(line => line.level === 'error')).toEqual([])
  // A machine that is busy with other things may be late with the lease; what a request broke would stay broken.
  const isWell = async () => expect((await host.call(null, { url: '/healthz' })).status).toBe(200)
  await vi.waitFor(isWell, { timeout: 60_000, interval: 100 })
})

const post = (payload: string | Buffer, headers: object = {}, url = '/v1/runs') =>
  host.call('alice', { method: 'POST', url, payload, headers: { 'content-type': 'application/json', ...headers } })

const head = (more: string) =>
  `POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secretOf('alice')}\r\nContent-Type: application/json\r\n${more}\r\n`

const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))

describe('names that a database could take for others', () => {
  const unstored = [
    { workflowId: 'noop\0' },
    { workflowId: 'noop\0x' },
    { workflowId: '\0noop' },
    { workflowId: 'assay-judge\0', inputs: { gateId: 'g', output: 1 } },
    { workflowId: 'NOOP' },
    { workflowId: 'noop ' },
    { workflowId: 'noop\u200b' },
    { workflowId: 'n\u00f6op' },
    { agentId: 'acme.writer\0' },
    { workflowId: 'noop', scopeId: 'a\0' },
    { workflowId: 'noop', tags: ['a\0'] },
  ]

  test.each(unstored)('%j is 400, names the field, and starts nothing', async payload => {
    const before = (await host.call('alice', { url: '/v1/runs' })).json.runs.length
    const reply = await post(JSON.stringify(payload))
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.json.message).toMatch(/body\.(workflowId|agentId|scopeId|tags)/)
    expect((await host.call('alice', { url: '/v1/runs' })).json.runs).toHaveLength(before)
  })

  test.each([
    ['core.subWorkflow', { workflowId: 'noop\0' }],
    ['core.subWorkflow', { workflowId: 'NOOP' }],
    ['core.dispatch', { perWorkerInputMappings: { 'noop\0': {} } }],
    ['core.dispatch', { perWorkerOutputMappings: { 'noop\0': {} } }],
  ])('a %s with %j is refused with its workflow', async (typeId, config) => {
    const payload = { ...spare, nodes: [node('s', typeId, { config })] }
    const reply = await post(JSON.stringify(payload), {}, '/v1/workflows')
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.json.message).toContain(`config.${Object.keys(config)[0]}`)
  })

  test.each(['/v1/runs/a%00', '/v1/runs?workflowId=noop%00', '/v1/runs?tag=a%00', '/v1/workflows/noop%00'])(
    '%s finds nothing',
    async url => {
      expect((await host.call('alice', { url })).status).toBeOneOf([400, 404])
    },
  )
})

describe('E53: size and pace', () => {
  test('R-DISC-6: a body over the limit is 413 with the limit, by Content-Length and chunked alike', async () => {
    const big = JSON.stringify({ workflowId: 'noop', inputs: { a: 'x'.repeat(100_000) } })
    const reply = await post(big)
    expect([reply.status, reply.json.error, reply.json.details]).toEqual([413, 'payload_too_large', { limit: 100_000 }])
    const chunked = await sendRaw(
      port,
      `${head('Transfer-Encoding: chunked\r\n')}${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`,
    )
    expect(chunked).toMatch(/^HTTP\/1.1 413/)
  })

  test('a body that announces more than it sends, or drips, is 408', async () => {
    const reply = await sendRaw(port, `${head('Content-Length: 50\r\n')}{"workflowId"`)
    expect(reply).toMatch(/^HTTP\/1.1 408/)
    expect(bodyOf(reply).error).toBe('request_timeout')
  })

  test('compressed bodies are 415: nothing is ever unpacked', async () => {
    const reply = await post(Buffer.from('1f8b08', 'hex'), { 'content-encoding': 'gzip' })
    expect([reply.status, reply.json.error]).toEqual([415, 'unsupported_media_type'])
  })
})

describe('E54: what is not the JSON we can agree on', () => {
  test.each<[string, string | Buffer]>([
    ['not JSON', '{"workflowId":'],
    ['a byte order mark', '\uFEFF{"workflowId":"noop"}'],
    ['NaN', '{"workflowId":"noop","inputs":{"a":NaN}}'],
    ['a repeated key', '{"workflowId":"noop","workflowId":"slow"}'],
    ['a repeated key, escaped', '{"workflowId":"noop","inputs":{"a":1,"\\u0061":2}}'],
    ['50,000 brackets', '['.repeat(50_000)],
    ['depth 65', `{"workflowId":"noop","inputs":{"a":${'['.repeat(63)}1${']'.repeat(63)}}}`],
    ['a lone surrogate', '{"workflowId":"noop","inputs":{"a":"\\ud800"}}'],
    ['a lone surrogate in a key', '{"workflowId":"noop","inputs":{"\\udc00":1}}'],
    ['bytes that are not UTF-8', Buffer.from('7b22776f726b666c6f774964223a22ff227d', 'hex')],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"noop"'],
    ['nothing', ''],
    ['a trailing comma', '{"workflowId":"noop",}'],
  ])('%s is 400 validation_error', async (_, payload) => {
    const reply = await post(payload)
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
  })

  test('a million members are refused by count, or by size', async () => {
    const many = `{"workflowId":"noop","inputs":{${Array.from({ length: 9000 }, (_, i) => `"k${i}":1`)}}}`
    const strict = await startHttp({ config: { limits: { maxJsonMembers: 1000 } } })
    const reply = await strict.call('alice', {
      method: 'POST',
      url: '/v1/runs',
      payload: many,
      headers: { 'content-type': 'application/json' },
    })
    expect([reply.status, reply.json.details]).toEqual([400, { field: 'body', limit: 1000 }])
    await strict.close()
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'application/json; charset=utf-16',
    'nonsense',
  ])('Content-Type %s is 415', async type => {
    const reply = await post('{"workflowId":"noop"}', { 'content-type': type })
    expect([reply.status, reply.json.error]).toEqual([415, 'unsupported_media_type'])
  })

  test('depth 64 and paired surrogates are fine', async () => {
    expect((await post(`{"workflowId":"noop","inputs":{"a":${'['.repeat(62)}1${']'.repeat(62)}}}`)).status).toBe(201)
    expect((await post('{"workflowId":"noop","inputs":{"a":"\\ud83d\\ude00"}}')).status).toBe(201)
  })
})

describe('E55: keys that reach for a prototype', () => {
  test.each([
    '{"workflowId":"noop","inputs":{"__proto__":{"admin":true}}}',
    '{"workflowId":"noop","__proto__":{"admin":true}}',
    '{"workflowId":"noop","inputs":{"\\u005f_proto__":{"admin":true}}}',
    '{"workflowId":"noop","inputs":{"constructor":{"prototype":{"admin":true}}}}',
  ])('%s is 400', async payload => {
    expect((await post(payload)).json.error).toBe('validation_error')
  })

  test('toString, constructor and hasOwnProperty are plain data', async () => {
    const inputs = { toString: 1, constructor: 'x', hasOwnProperty: [2] }
    const created = await post(JSON.stringify({ workflowId: 'noop', inputs }))
    const snapshot = await host.call('alice', { url: created.json.statusUrl })
    expect(snapshot.json.inputs).toEqual(inputs)
  })

  test('they are no query, path, header or id either', async () => {
    for (const url of ['/v1/runs?__proto__=1', '/v1/runs?constructor=1&status=running', '/v1/runs?toString=1']) {
      expect((await host.call('alice', { url })).status).toBe(200)
    }
    for (const id of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect((await host.call('alice', { url: `/v1/runs/${id}` })).status).toBe(404)
      expect((await host.call('alice', { url: `/v1/workflows/${id}` })).status).toBe(404)
      // What could be a name is not registered; what could be none is refused as such.
      const refused = await post(JSON.stringify({ workflowId: id }))
      expect([id, refused.status]).toEqual([id, id === 'constructor' ? 404 : 400])
    }
  })
})

describe('E56: schemas that users bring are bounded', () => {
  const deep = (levels: number): object => (levels === 0 ? {} : { properties: { a: deep(levels - 1) } })
  test.each<[string, object]>([
    ['a remote $ref', { $ref: 'http://169.254.169.254/schema' }],
    ['a file $ref', { $ref: 'file:///etc/passwd' }],
    ['deep nesting', deep(40)],
    ['20,000 properties', { properties: Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`p${i}`, {}])) }],
    ['nonsense', { type: 'nonsense' }],
  ])('%s in configurableSchema is 4xx', async (_, configurableSchema) => {
    const payload = JSON.stringify({ ...(spare as object), id: 'bomb', configurableSchema })
    const reply = await post(payload, {}, '/v1/workflows')
    expect([400, 422]).toContain(reply.status)
  })

  test('R-REST-5: a pattern that backtracks for ever does not hold up the host', async () => {
    const configurableSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
    const payload = JSON.stringify({ ...(spare as object), id: 'redos', configurableSchema })
    const registered = await post(payload, {}, '/v1/workflows')
    expect([200, 201, 400]).toContain(registered.status)
    const run = await post(JSON.stringify({ workflowId: 'redos', configurable: { a: `${'a'.repeat(40)}!` } }))
    expect(run.status).toBe(400)
  })
})

describe('E57: expressions are never code', () => {
  test.each([
    "constructor.constructor('return process')()",
    'this.process.exit()',
    "import('fs')",
    'while(1){}',
    '{{7*7}}',
  ])('%s in a workflow is refused or harmless, never a crash', async expression => {
    const nodes = [node('a', 'core.identity', { inputs: { payload: { type: 'expression', expression } } })]
    const payload = JSON.stringify({ ...(spare as object), id: 'evil', nodes })
    const reply = await post(payload, {}, '/v1/workflows')
    expect([200, 201, 400]).toContain(reply.status)
    if (reply.status === 400) return
    const run = await post('{"workflowId":"evil"}')
    const snapshot = await host.call('alice', { url: run.json.statusUrl })
    expect(snapshot.json.status).toBe('failed')
    expect(snapshot.json.error.code).toMatch(/^expression_/)
  })
})

describe('E61: headers', () => {
  const plain = `GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secretOf('alice')}\r\n`

  test.each([
    ['CL and TE together', `${head('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\n`, 400],
    ['bare LF', plain.replaceAll('\r\n', '\n').concat('\n'), 400],
    ['100 kB of one header', `${plain}X-Big: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
    ['10,000 headers', `${plain}${'a: b\r\n'.repeat(10_000)}\r\n`, 431],
    ['a request line of rubbish', 'HELLO\r\n\r\n', 400],
    ['a NUL in a header', `${plain}X-A: a\0b\r\n\r\n`, 400],
  ])('R-ERR-1: %s is refused with the closed envelope', async (_, bytes, status) => {
    const reply = await sendRaw(port, bytes)
    expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status}`))
    expect(Object.keys(bodyOf(reply)).sort()).toEqual(['error', 'message'])
  })

  test('CRLF in an id is not echoed into a header', async () => {
    const reply = await host.call('alice', { url: '/v1/runs/a%0d%0aX-Evil:%201' })
    expect(reply.status).toBe(404)
    expect(reply.headers['x-evil']).toBeUndefined()
  })

  test('a broken percent escape is 400', async () => {
    const reply = await host.call('alice', { url: '/v1/runs/a%zz' })
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
  })
})

describe('messages say what to do', () => {
  test.each<[object, RegExp]>([
    [{}, /^body\.workflowId is required/],
    [{ workflowId: 5 }, /^body\.workflowId must be of type string; got 5/],
    [{ workflowId: 'noop', nope: 1 }, /^body\.nope is not a known field; remove it\. Known fields: workflowId/],
    [{ workflowId: 'noop', tags: ['ok', 7] }, /^body\.tags\[1\] must be of type string/],
    [{ workflowId: 'noop', tags: ['x'.repeat(257)] }, /^body\.tags\[0\] must have at most 256 characters; got 257/],
    [{ workflowId: 'noop', tags: Array(101).fill('t') }, /^body\.tags must have at most 100 items/],
    [{ workflowId: 'noop', inputs: 'CNRY-secret' }, /^body\.inputs must be of type object; got string\.$/],
    [{ workflowId: 'noop', metadata: { a: 'x'.repeat(9000) } }, /^body\.metadata takes \d+ bytes/],
    [{ workflowId: 'noop', metadata: { a: { b: { c: { d: {} } } } } }, /^body\.metadata nests deeper than 4/],
    [{ workflowId: 'noop', callbackUrl: 'https://x' }, /^body\.callbackUrl is not supported by this host yet/],
    [{ workflowId: 'noop', residency: { region: 'eu' } }, /^body\.residency is not supported/],
    [{ workflowId: 'noop', configurable: { mockProvider: {} } }, /^body\.configurable\.mockProvider\.id must be/],
  ])('R-REST-23 R-REST-24: %j', async (payload, message) => {
    const reply = await post(JSON.stringify(payload))
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.json.message).toMatch(message)
    expect(reply.json.details.field).toMatch(/^body/)
  })
})

describe('one mutated field of a valid request', () => {
  const valid = {
    workflowId: 'noop',
    inputs: { a: 1 },
    scopeId: 's',
    configurable: { recursionLimit: 10 },
    tags: ['t'],
    metadata: { m: 1 },
  }
  const json = fc.jsonValue({ maxDepth: 4 })

  test('R-ERR-4: is a documented 4xx or accepted, never 5xx', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(valid), 'extra', 'mode', 'tenantId'),
        json,
        async (field, value) => {
          const reply = await post(JSON.stringify({ ...valid, [field]: value }))
          expect([201, 400, 403, 422, 501]).toContain(reply.status)
          if (reply.status !== 201)
            expect(Object.keys(reply.json)).toEqual(expect.arrayContaining(['error', 'message']))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('in a workflow definition is 4xx or accepted, never 5xx', async () => {
    const fields = [...Object.keys(spare as object), 'channels', 'groups', 'configurableSchema', 'extra']
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...fields), json, async (field, value) => {
        const reply = await post(JSON.stringify({ ...(spare as object), [field]: value }), {}, '/v1/workflows')
        expect([200, 201, 400, 422]).toContain(reply.status)
      }),
      { numRuns: 300 },
    )
  })

  test('R-ERR-4: any query and any path are 200, 400, 404 or 405, never 5xx', async () => {
    const word = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom('..', '%00', '/', ':pause', '__proto__'),
    )
    const name = fc.constantFrom('status', 'limit', 'cursor', 'tag', 'workflowId', 'parentRunId', 'x')
    await fc.assert(
      fc.asyncProperty(word, name, word, async (part, parameter, value) => {
        const list = await host.call('alice', { url: `/v1/runs?${parameter}=${encodeURIComponent(wellFormed(value))}` })
        expect([200, 400]).toContain(list.status)
        const one = await host.call('alice', { url: `/v1/runs/${encodeURIComponent(wellFormed(part))}` })
        expect([200, 400, 404]).toContain(one.status)
      }),
      { numRuns: 300 },
    )
  })
})

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '?')
