import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type KeyName, node, secretOf, startHttp, type TestHost, workflow } from './harness.js'
import { FILES } from './journal-fixtures.js'

/** Files that come with the request for a run, as a form. */

const BINARY = new Uint8Array([0x89, 0x50, 0, 0xff, 10])
const GIVE = workflow('give', [node('only', 'core.noop')], {
  variables: [
    { name: 'report', type: 'string' },
    { name: 'table', type: 'object' },
  ],
})

let host: TestHost
beforeEach(async () => {
  host = await startHttp({ config: { workspace: { maxFileBytes: 1_000 }, limits: { maxRequestBodyBytes: 2_000 } } })
  await host.call('alice', { method: 'PUT', url: '/v1/workflows/give', payload: GIVE })
})
afterEach(() => host.close())

type Part = readonly [name: string, content: string | Uint8Array, fileName?: string, type?: string]

const RUN: Part = ['run', JSON.stringify({ workflowId: 'give' })]
const asking = (inputs: object): Part => ['run', JSON.stringify({ workflowId: 'give', inputs })]

async function send(parts: readonly Part[], key: KeyName = 'alice') {
  const form = new FormData()
  for (const [name, content, fileName, type = ''] of parts)
    if (fileName === undefined) form.append(name, String(content))
    else form.append(name, new Blob([content as never], { type }), fileName)
  const sent = new Response(form)
  const payload = Buffer.from(await sent.arrayBuffer())
  const headers = { 'content-type': sent.headers.get('content-type')! }
  return host.call(key, { method: 'POST', url: '/v1/runs', headers, payload })
}

const given = async (...parts: readonly Part[]) => {
  const reply = await send([RUN, ...parts])
  expect(reply.status, reply.text).toBe(201)
  return (await host.call('alice', { url: `/v1/runs/${reply.json.runId}` })).json.variables
}

const files = async (): Promise<string[]> =>
  (await host.call('alice', { url: FILES })).json.files.map(({ path }: { path: string }) => path)

describe('files that come with a run', () => {
  test('are text, JSON, or files of the workspace; also for inputs that the workflow does not declare (R-REST-3)', async () => {
    expect(await given(['report', '# May\n', 'may.md'])).toMatchObject({ report: '# May\n' })
    expect(await given(['table', '{"a":[1]}', 'table.json'])).toMatchObject({ table: { a: [1] } })
    expect(await given(['report', '', 'empty.txt'])).toMatchObject({ report: '' })
    const { table, other } = await given(['table', BINARY, 'a.png'], ['other', BINARY, 'b.png'])
    expect([table.version, other.version]).toEqual([1, 1])
    const authorization = `Bearer ${secretOf('alice')}`
    const read = await host.app.inject({ url: `${FILES}/${other.file}?raw=true`, headers: { authorization } })
    expect([read.statusCode, read.rawPayload]).toEqual([200, Buffer.from(BINARY)])
  })

  test.each(['..', '.', '../../etc/passwd', '...', 'ä/ö', '-', `${'x'.repeat(300)}.png`])(
    'that are called %s have a path that can be asked for',
    async fileName => {
      const { table } = await given(['table', BINARY, fileName])
      expect(table.file).toMatch(/^inputs\/[\w-]+\/[\w.-]*[A-Za-z0-9][\w.-]*$/)
      expect((await host.call('alice', { url: `${FILES}/${table.file}?raw=true` })).status).toBe(200)
    },
  )

  test.each<[string, readonly Part[], number, RegExp]>([
    [
      'two of one name',
      [RUN, ['report', 'a', 'a.md'], ['report', 'b', 'b.md']],
      400,
      /two files for "report"; send one/,
    ],
    [
      'a value and a file',
      [asking({ report: 'x' }), ['report', 'a', 'a.md']],
      400,
      /"report" is given twice.*leave one out/,
    ],
    ['no request', [['report', 'a', 'a.md']], 400, /has no part "run"; add one/],
    [
      'a request that is no JSON',
      [
        ['run', 'nonsense'],
        ['report', 'a', 'a.md'],
      ],
      400,
      /^Part "run" of the form is not valid JSON/,
    ],
    [
      'a value beside the request',
      [RUN, ['report', 'plain']],
      400,
      /"report" of the form is no file; values go into inputs/,
    ],
    ['a name that no input has', [RUN, ['__proto__', 'a', 'a.md']], 400, /No input can have the name "__proto__"/],
    [
      'JSON that is none',
      [RUN, ['table', '{bad', 'a.json']],
      400,
      /file for input "table" is to be JSON: The file is not valid/,
    ],
    [
      'no text where text is wanted',
      [RUN, ['report', BINARY, 'a.png']],
      400,
      /inputs\.report must be of type string.*the file for "report" is no text.*declare it as an object, or send text/,
    ],
    [
      'a file that is too large',
      [RUN, ['table', new Uint8Array(1_001), 'a.bin']],
      413,
      /^For input "table": The file has 1001 bytes or more; .* 1000 \(workspace\.maxFileBytes\)/,
    ],
    [
      'files that are too large together',
      [RUN, ...['a', 'b', 'c', 'd'].map((name): Part => [name, new Uint8Array(900), 'a.bin'])],
      413,
      /^The form has \d{4} bytes or more; one may have 3000, .*fewer or smaller files/,
    ],
  ])('%s: refused with what to change, and nothing is left of it', async (_, parts, status, message) => {
    const reply = await send([...parts.slice(0, 1), ['spare', BINARY, 'first.bin'], ...parts.slice(1)])
    expect([reply.status, reply.json.message]).toEqual([status, expect.stringMatching(message)])
    expect(await files()).toEqual([])
    expect((await host.call('alice', { url: '/v1/runs' })).json.runs).toEqual([])
  })

  test('whoever may not write files sends none but text', async () => {
    const reply = await send([RUN, ['table', BINARY, 'a.bin']], 'starter')
    expect([reply.status, reply.json.details.scopeRequired]).toEqual([403, 'workspace:write'])
    expect(await files()).toEqual([])
  })

  test('a form that is broken is said to be', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    const reply = await host.call('alice', { method: 'POST', url: '/v1/runs', headers, payload: 'no form' })
    expect([reply.status, reply.json.message]).toEqual([
      400,
      expect.stringMatching(/not a valid multipart\/form-data form/),
    ])
  })
})
