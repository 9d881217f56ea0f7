import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../cli/assay-process.js'
import { writeProject } from '../crash/process/workflows.js'
import { node, workflow } from '../http/harness.js'
import { openStream, sendRaw } from '../http/sockets.js'
import { HostProcess } from '../support/host-process.js'
import { startPostgres } from '../support/postgres.js'
import { attack } from './cases.js'
import { type Ask, isOver, type LiveHost, type Reply, startLiveHost } from './live-host.js'

/** What is sent, how much of it, and how it is read. */
let live: LiveHost
const errors: unknown[] = []
const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void errors.push(fields) }
beforeAll(async () => {
  live = await startLiveHost({ 'limits.maxRequestBodyBytes': '100000' }, { log })
})
afterAll(() => live.stop())
afterEach(async () => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(errors).toEqual([])
  expect((await live.call(null, '/healthz')).status).toBe(200)
})

const hasStrace = (() => {
  try {
    execFileSync('strace', ['-f', '-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

const told = ({ status, json }: Reply) => [status, json?.error]
const post = (body: object): Ask => ({ method: 'POST', body })
const sent = (bytes: string | Buffer, headers: object = {}) =>
  live.call('alice', '/v1/runs', { method: 'POST', bytes, headers: { ...headers } })
const INVALID = [400, 'validation_error']
const head = (more: string, host = 'localhost') =>
  `POST /v1/runs HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${live.keyOf('alice')}\r\nContent-Type: application/json\r\n${more}\r\n`

attack(53, async () => {
  const big = JSON.stringify({ workflowId: 'hello', inputs: { a: 'x'.repeat(100_000) } })
  expect(told(await sent(big))).toEqual([413, 'payload_too_large'])
  const chunked = `${head('Transfer-Encoding: chunked\r\nConnection: close\r\n')}${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`
  expect(await sendRaw(live.port, chunked, text => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1.1 413/)
  expect(told(await sent(Buffer.from('1f8b08', 'hex'), { 'content-encoding': 'gzip' }))).toEqual([
    415,
    'unsupported_media_type',
  ])
})

attack(54, async () => {
  const bodies = [
    '{',
    '\ufeff{"workflowId":"hello"}',
    '{"workflowId":"hello","inputs":{"a":NaN}}',
    '{"workflowId":"hello","workflowId":"asks"}',
    '['.repeat(90_000),
    '{"workflowId":"hello","inputs":{"a":"\\ud800"}}',
    '[]',
    'null',
    '"hello"',
    '1e999',
  ]
  for (const body of bodies)
    expect([body.slice(0, 40), ...told(await sent(body))]).toEqual([body.slice(0, 40), ...INVALID])
  expect(told(await sent('{"workflowId":"hello"}', { 'content-type': 'text/plain' }))).toEqual([
    415,
    'unsupported_media_type',
  ])
})

attack(55, async () => {
  for (const body of [
    '{"workflowId":"hello","inputs":{"__proto__":{"admin":1}}}',
    '{"workflowId":"hello","inputs":{"constructor":{"prototype":{"admin":1}}}}',
  ])
    expect(told(await sent(body))).toEqual(INVALID)
  const inputs = { toString: 1, constructor: 'x', hasOwnProperty: [2] }
  const { runId } = (await live.call('alice', '/v1/runs', post({ workflowId: 'hello', inputs }))).json
  expect((await live.call('alice', `/v1/runs/${runId}`)).json.inputs).toMatchObject(inputs)
  for (const id of ['__proto__', 'constructor', 'toString']) {
    expect((await live.call('alice', `/v1/workflows/${id}`)).status).toBe(404)
    expect((await live.call('alice', `/v1/host/assay/gates/${id}`)).status).toBe(404)
  }
})

attack(56, async () => {
  const deep = (levels: number): object => (levels === 0 ? {} : { properties: { a: deep(levels - 1) } })
  const bombs = [
    { $ref: 'http://169.254.169.254/' },
    { $ref: 'file:///etc/passwd' },
    deep(40),
    { type: 'nonsense' },
    { properties: Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`p${i}`, {}])) },
  ]
  for (const configurableSchema of bombs) {
    const reply = await live.call(
      'alice',
      '/v1/workflows',
      post(workflow('bomb', [node('n', 'core.noop')], { configurableSchema })),
    )
    expect(told(reply)).toEqual([expect.toBeOneOf([400, 413, 422]), expect.any(String)])
  }
})

attack(57, async () => {
  for (const expression of [
    "constructor.constructor('return process')()",
    'this.process',
    "import('fs')",
    'while(1){}',
    '{{7*7}}',
    'inputs.__proto__.x',
  ]) {
    const nodes = [node('a', 'core.identity', { inputs: { payload: { type: 'expression', expression } } })]
    const put = await live.call('alice', '/v1/workflows', post(workflow('evil', nodes)))
    expect([expression, put.status]).toEqual([expression, expect.toBeOneOf([200, 201, 400])])
    if (put.status === 400) continue
    const ended = await live.until('alice', await live.start('alice', 'evil'), isOver)
    expect([expression, ended.status, ended.error?.code]).toEqual([
      expression,
      'failed',
      expect.stringMatching(/^expression_/),
    ])
  }
})

attack(58, async () => {
  for (const path of ['../x', '$..*', '/a/~2', 'a', '/\0']) {
    const probes = [{ type: 'equals', path, value: 1 }]
    const gate = {
      gate_id: 'climber',
      name: 'x',
      position: { workflow_id: 'weather', phase_id: 'write', placement: 'phase_exit' },
      intent_refs: ['true-weather'],
      evaluation_criteria: [{ dimension: 'd', scale: { min: 0, max: 1, type: 'integer' }, pass_threshold: 1, probes }],
      verifier_requirements: {},
      gate_behaviour: {},
    }
    expect([path, ...told(await live.call('alice', '/v1/host/assay/gates', post(gate)))]).toEqual([path, ...INVALID])
  }
  const config = {
    workflowId: 'hello',
    inputMapping: { name: '__proto__.x' },
    outputMapping: { '../x': 'constructor' },
  }
  const put = await live.call(
    'alice',
    '/v1/workflows',
    post(workflow('mapper', [node('s', 'core.subWorkflow', { config })])),
  )
  expect(put.status).toBeOneOf([200, 201, 400])
})

/** Paths out of the folder, wherever a path takes a name. */
const climbing = (runId: string): string[] =>
  [
    '..%2f..%2fetc%2fpasswd',
    '%252e%252e%252fpasswd',
    '..%5c..%5cwin.ini',
    'art-0%00',
    '%2fetc%2fpasswd',
    'CON',
    '%c0%ae%c0%ae',
    'a'.repeat(3000),
  ].flatMap(name => [
    `/v1/runs/${runId}/artifacts/${name}`,
    `/v1/workflows/${name}`,
    `/v1/host/assay/gates/${name}`,
    `/v1/agents/${name}`,
  ])

attack(59, async () => {
  const runId = await live.start('alice', 'hello')
  for (const url of climbing(runId))
    expect([url.slice(0, 80), (await live.call('alice', url)).status]).toEqual([
      url.slice(0, 80),
      expect.toBeOneOf([400, 404]),
    ])
  const probes = [{ type: 'file', file: '../../data/local-key' }]
  expect(
    (
      await live.call(
        'alice',
        '/v1/host/assay/gates',
        post({ gate_id: 'f', evaluation_criteria: [{ dimension: 'd', probes }] }),
      )
    ).status,
  ).toBe(400)
  expect(readdirSync(live.folder).sort()).toEqual(['data', 'project'])
})

test.runIf(hasStrace)('attack 59: paths out of the folder, as the system sees it (needs strace)', async () => {
  const folder = temporaryFolder()
  const [data, trace] = [path.join(folder, 'data'), path.join(folder, 'trace')]
  const under = ['strace', '-f', '-y', '-o', trace, '-e', 'trace=open,openat,connect']
  const host = await HostProcess.spawn({
    data,
    database: `sqlite:${data}/assay.db`,
    project: writeProject(folder, 'linear'),
    under,
  })
  const { runId } = (await host.call('POST', '/v1/runs', { workflowId: 'linear' })).body
  const before = readFileSync(trace, 'utf8').length
  for (const url of climbing(runId)) expect((await host.call('GET', url)).status).toBeOneOf([400, 404])
  // What it does open is seen: its database is its own.
  expect((await host.call('POST', '/v1/runs', { workflowId: 'linear' })).status).toBe(201)
  const seen = readFileSync(trace, 'utf8')
  await host.finish()
  expect(seen.slice(0, before)).toContain(`${data}/assay.db`)
  const lines = seen.slice(before).split('\n')
  const opened = lines.flatMap(line => /open(?:at)?\(.*?"([^"]*)"/.exec(line)?.[1] ?? [])
  const own = [folder, process.cwd(), realpathSync('node_modules'), '/proc/self', '/proc/meminfo', '/sys/fs/cgroup']
  expect(opened.filter(file => !own.some(root => file.startsWith(root)))).toEqual([])
  expect(lines.filter(line => /connect\(.*AF_INET/.test(line))).toEqual([])
  rmSync(folder, { recursive: true })
})

/** What FTS5, tsquery, LIKE, regular expressions, JSON paths and SQL each take for something. */
const QUERIES = [
  '"',
  '""',
  "'",
  '*',
  'sn*',
  '^snow',
  'NEAR(snow ann)',
  'snow NEAR/2 ann',
  'snow AND NOT ann',
  'snow OR',
  'content:snow',
  '{a b}:snow',
  'snow:*',
  'snow:A',
  '&',
  '|',
  '!',
  'snow & !ann',
  '(snow',
  '<->',
  'a <2> b',
  '%',
  '_now',
  '(a+)+$',
  '$..*',
  "' OR 1=1 --",
  '\\',
  '#friends',
  '@1',
  '-',
  '\u0000',
  'ſnow',
  '𝐬𝐧𝐨𝐰',
  'SNOW',
  'a '.repeat(249),
  'x'.repeat(500),
]

attack(60, async () => {
  const config = { memoryRef: 'people', memoryId: 'ann', content: 'Ann likes snow, "x" and *.', tags: ['friends'] }
  const notes = workflow('searched', [node('n', 'core.memoryPut', { config })])
  for (const database of ['sqlite', 'memory', 'postgres'] as const) {
    const postgres = database === 'postgres' ? await startPostgres() : undefined
    const at = database === 'memory' ? 'memory:' : await postgres?.createDatabase()
    const host = await startLiveHost(at === undefined ? {} : { database: at })
    expect((await host.call('alice', '/v1/workflows', { method: 'POST', body: notes })).status).toBe(201)
    const body = { workflowId: 'searched', scopeId: 'team' }
    const { runId } = (await host.call('alice', '/v1/runs', { method: 'POST', body })).json
    await host.until('alice', runId, isOver)
    const found = async (q: string) => {
      const reply = await host.call('alice', `/v1/host/assay/memory?scope=team&q=${encodeURIComponent(q)}`)
      expect([database, q, reply.status, reply.text.slice(0, 200)]).toEqual([database, q, 200, expect.any(String)])
      return reply.json.entries.length as number
    }
    const hits: string[] = []
    for (const q of QUERIES) if ((await found(q)) > 0) hits.push(q)
    // Each is words, and all of them must be there; what has none finds nothing.
    expect([database, hits]).toEqual([database, ['^snow', 'snow:*', '(snow', 'SNOW']])
    expect(await Promise.all(['snow', 'snow ann', 'Ann. Likes: snow!'].map(found))).toEqual([1, 1, 1])
    await host.stop()
    await postgres?.stop()
  }
})

attack(61, async () => {
  const raw = async (bytes: string, status: number) => {
    const reply = await sendRaw(live.port, bytes, text => /\r\n\r\n.*}$/s.test(text))
    expect([bytes.slice(0, 120), reply.slice(0, 12)]).toEqual([bytes.slice(0, 120), `HTTP/1.1 ${status}`])
    expect(Object.keys(JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4)))).toEqual(
      expect.arrayContaining(['error', 'message']),
    )
  }
  await raw(`${head('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\n`, 400)
  await raw(head(`X-Big: ${'x'.repeat(100_000)}\r\n`), 431)
  await raw(head('Host: localhost\r\nContent-Length: 2\r\n').concat('{}'), 400)
  await raw(head('Expect: bogus\r\nContent-Length: 2\r\n'), 417)
  for (const key of ['x'.repeat(300), 'a b'])
    expect(told(await sent('{"workflowId":"hello"}', { 'idempotency-key': key }))).toEqual(INVALID)
  const echoed = await live.call('alice', '/v1/runs/a%0d%0aX-Evil:%201')
  expect([echoed.status, echoed.headers['x-evil']]).toEqual([404, undefined])
})

attack(62, async () => {
  const slow = await startLiveHost({ 'rateLimit.requestsPerSecond': '1', 'rateLimit.burst': '30' })
  const ask = (who: 'bob' | null) => slow.call(who, '/v1/runs', { method: 'POST', body: {} })
  const burst = await Promise.all(Array.from({ length: 100 }, () => ask('bob')))
  const refused = burst.filter(reply => reply.status === 429)
  expect(refused.length).toBeGreaterThan(0)
  for (const reply of refused)
    expect([reply.json.error, Number(reply.headers['retry-after']) > 0]).toEqual(['rate_limited', true])
  expect([(await slow.call('alice', '/v1/runs')).status, (await ask(null)).status]).toEqual([200, 401])
  await slow.stop()
})

attack(63, async () => {
  const ended = await live.start('alice', 'hello')
  await live.until('alice', ended, isOver)
  const key = { headers: { authorization: `Bearer ${live.keyOf('alice')}` } }
  const stream = await openStream(live.port, `/v1/runs/${ended}/events`, key)
  expect(await stream.ended).toContain('run.completed')
  expect(told(await live.call('alice', `/v1/runs/${ended}/events?streamMode=nonsense`))).toEqual([
    400,
    'unsupported_stream_mode',
  ])
})

attack(64, async () => {
  for (const name of ['evil.example', `evil.example:${live.port}`, 'localhost.evil.example', '127.0.0.1.nip.io'])
    for (const url of ['/.well-known/openwop', '/v1/openapi.json', '/healthz', '/v1/runs'])
      expect(told(await live.call('alice', url, { headers: { host: name } }))).toEqual([421, 'misdirected_request'])
  for (const name of ['localhost', `127.0.0.1:${live.port}`, '[::1]:1'])
    expect((await live.call('alice', '/v1/runs', { headers: { host: name } })).status).toBe(200)
})

attack(65, async () => {
  const script = '<script>alert(1)</script>'
  const files = [
    ['page.html', 'text/html', script],
    ['pic.svg', 'image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    ['code.js', 'text/javascript', 'alert(1)'],
    ['doc.xml', 'application/xhtml+xml', script],
  ] as const
  for (const [name, type, content] of files) {
    const url = `/v1/host/workspace/files/${name}`
    const put = await live.call('alice', url, { method: 'PUT', bytes: content, headers: { 'content-type': type } })
    expect([name, put.status]).toEqual([name, 201])
    const sent = await live.call('alice', `${url}?raw=1`, { headers: { accept: 'text/html' } })
    expect([sent.status, sent.headers['content-type'], sent.text]).toEqual([200, type, content])
    // It is kept, and not run: in no tab, and not as something else.
    expect(sent.headers).toMatchObject({
      'content-disposition': expect.stringMatching(/^attachment\b/),
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    })
    const asked = await live.call('alice', url)
    expect([asked.headers['content-type'], asked.json.content]).toEqual([JSON_TYPE, content])
  }
  const runId = await live.start('alice', 'hello', { name: script })
  // Nothing that it says is a page, whatever stands in it.
  for (const url of [`/v1/runs/${runId}`, '/v1/runs', `/v1/runs/${script}`, `/${script}`, '/v1/workflows/hello']) {
    const path = url.replace(/[<>]/g, encodeURIComponent)
    const { headers } = await live.call('alice', path, { headers: { accept: 'text/html' } })
    expect([url, headers['content-type']]).toEqual([url, JSON_TYPE])
  }
})

const JSON_TYPE = 'application/json; charset=utf-8'
