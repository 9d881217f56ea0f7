import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type HostOptions, type KeyName, secretOf, startHttp, type TestHost } from './harness.js'
import { FILES, file, put } from './journal-fixtures.js'

let host: TestHost
const start = async (options: HostOptions = {}) => {
  host = await startHttp(options)
}
beforeEach(() => start())
afterEach(() => host.close())

const stream = async (key: KeyName = 'alice', query = '') =>
  (await host.call(key, { url: `/v1/host/assay/stream${query}` })).json

describe('files of a workspace', () => {
  test('are written, read, listed and removed, each with its version as ETag', async () => {
    const made = await host.call('alice', put('reports/2026.md', '# Snow\n'))
    expect(made.status, made.text).toBe(201)
    expect(made.json).toMatchObject({ path: 'reports/2026.md', version: 1, etag: '"1"', size: 7 })
    expect(made.headers.etag).toBe('"1"')
    const again = await host.call('alice', put('reports/2026.md', '# Rain\n', { headers: { 'if-match': '"1"' } }))
    expect([again.status, again.json.version]).toEqual([200, 2])
    const read = await host.call('alice', { url: file('reports/2026.md') })
    expect(read.json).toEqual({
      path: 'reports/2026.md',
      content: '# Rain\n',
      version: 2,
      updatedAt: expect.stringMatching(/^\d{4}-/),
      contentType: 'text/markdown',
      etag: '"2"',
    })
    await host.call('alice', put('other.txt', 'x'))
    const list = (await host.call('alice', { url: FILES })).json.files
    expect(list.map(({ path, version }: { path: string; version: number }) => [path, version])).toEqual([
      ['other.txt', 1],
      ['reports/2026.md', 2],
    ])
    expect(JSON.stringify(list)).not.toContain('Rain')
    expect((await host.call('alice', { url: `${FILES}?prefix=reports/` })).json.files).toHaveLength(1)
    expect((await host.call('alice', { url: file('reports/2026.md'), method: 'DELETE' })).status).toBe(204)
    expect((await host.call('alice', { url: file('reports/2026.md') })).status).toBe(404)
    expect((await host.call('alice', { url: file('reports/2026.md'), method: 'DELETE' })).status).toBe(404)
  })

  test('R-WS-2: every write and every removal is a new version, told on the stream of the tenant and of nobody else', async () => {
    await host.call('alice', put('a.md', 'one'))
    await host.call('alice', put('a.md', 'two'))
    await host.call('alice', { url: file('a.md'), method: 'DELETE' })
    await host.call('alice', put('a.md', 'four'))
    await host.call('alice', put('b.md', 'one'))
    const told = await stream()
    expect(told.events.map(({ type, payload }: { type: string; payload: object }) => [type, payload])).toEqual([
      ['workspace.updated', { path: 'a.md', version: 1 }],
      ['workspace.updated', { path: 'a.md', version: 2 }],
      ['workspace.updated', { path: 'a.md', version: 3 }],
      ['workspace.updated', { path: 'a.md', version: 4 }],
      ['workspace.updated', { path: 'b.md', version: 1 }],
    ])
    expect(await stream('bob')).toEqual({ events: [], next: null })
    expect((await stream('alice', `?after=${told.next}`)).events).toEqual([])
    expect((await stream('alice', `?after=${told.events[3].sequence}`)).events).toHaveLength(1)
    expect((await stream('alice', '?limit=2')).events).toHaveLength(2)
  })

  test('every version stays readable by its number; a removed one is none', async () => {
    for (const text of ['one', 'two', 'three']) await host.call('alice', put('a.md', text))
    await host.call('alice', { url: file('a.md'), method: 'DELETE' })
    await host.call('alice', put('a.md', 'five'))
    const versions = []
    for (let version = 1; version <= 6; version += 1)
      versions.push((await host.call('alice', { url: file('a.md', `?version=${version}`) })).json.content ?? 'none')
    expect(versions).toEqual(['one', 'two', 'three', 'none', 'five', 'none'])
  })

  test.each([
    ['a version that is not there any more', { 'if-match': '"7"' }, 2],
    ['none, where there is one', { 'if-match': '"0"' }, 2],
    ['none, the other way', { 'if-none-match': '*' }, 2],
  ])('If-Match that asks for %s changes nothing and says which there is', async (_, headers, currentVersion) => {
    await host.call('alice', put('a.md', 'one'))
    await host.call('alice', put('a.md', 'two'))
    for (const method of ['PUT', 'DELETE'] as const) {
      if (method === 'DELETE' && 'if-none-match' in headers) continue
      const reply = await host.call('alice', { ...put('a.md', 'three', { headers: { ...headers } }), method })
      expect([reply.status, reply.json.error], reply.text).toEqual([409, 'workspace_conflict'])
      expect(reply.json.details).toEqual({ path: 'a.md', currentVersion })
      expect(reply.json.message).toMatch(/its version is 2 now\. Read it again/)
    }
    expect((await host.call('alice', { url: file('a.md') })).json.content).toBe('two')
    expect((await stream()).events).toHaveLength(2)
  })

  test('If-Match: * wants a file to be there', async () => {
    const headers = { 'if-match': '*' }
    const none = await host.call('alice', put('a.md', 'one', { headers }))
    expect([none.status, none.json.details.currentVersion]).toEqual([409, 0])
    await host.call('alice', put('a.md', 'one'))
    expect((await host.call('alice', put('a.md', 'two', { headers }))).json.version).toBe(2)
  })

  test('whoever has the version is told that it has not changed', async () => {
    await host.call('alice', put('a.md', 'one'))
    const reply = await host.call('alice', { url: file('a.md'), headers: { 'if-none-match': '"1"' } })
    expect([reply.status, reply.text]).toEqual([304, ''])
  })

  test('two that write at once under the same version: one of them does', async () => {
    await host.call('alice', put('a.md', 'one'))
    const replies = await Promise.all(
      ['x', 'y', 'z'].map(text => host.call('alice', put('a.md', text, { headers: { 'if-match': '1' } }))),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  })

  test('the same request under one Idempotency-Key writes one version, of raw bytes too', async () => {
    const headers = { 'idempotency-key': 'k1', 'content-type': 'text/plain' }
    const request = { method: 'PUT', url: file('a.txt'), payload: 'one', headers } as const
    const [first, second] = [await host.call('alice', request), await host.call('alice', request)]
    expect([first.json.version, second.json.version]).toEqual([1, 1])
    expect(second.headers['openwop-idempotent-replay']).toBe('true')
    const other = await host.call('alice', { ...request, payload: 'two' })
    expect([other.status, other.json.error]).toEqual([409, 'idempotency_key_mismatch'])
  })
})

describe('bytes', () => {
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255, 254])
  const raw = {
    method: 'PUT',
    url: file('logo.png'),
    payload: bytes,
    headers: { 'content-type': 'image/png' },
  } as const

  test('that are no text go in and out as they are, and JSON says how to get them', async () => {
    const made = await host.call('alice', raw)
    expect([made.status, made.json.size, made.json.contentType]).toEqual([201, 9, 'image/png'])
    const asked = await host.call('alice', { url: file('logo.png'), headers: { accept: 'application/json' } })
    expect([asked.status, asked.json.error]).toEqual([400, 'validation_error'])
    expect(asked.json.message).toMatch(/logo\.png is no text.*\?raw=true/)
    for (const ask of [
      { url: file('logo.png'), headers: { accept: 'image/png' } },
      { url: file('logo.png', '?raw=true') },
    ]) {
      const reply = await host.app.inject({
        ...ask,
        headers: { ...ask.headers, authorization: `Bearer ${secretOf('alice')}` },
      })
      expect([reply.statusCode, reply.headers['content-type']]).toEqual([200, 'image/png'])
      expect(reply.headers['content-disposition']).toBe('attachment')
      expect(reply.headers['x-content-type-options']).toBe('nosniff')
      expect(reply.rawPayload.equals(bytes)).toBe(true)
    }
  })

  test.each(['bogus', 'text/', '/x'])('that are sent as %s are refused with the types there are', async type => {
    const headers = { 'content-type': type }
    const reply = await host.call('alice', { url: file('a.bin'), method: 'PUT', headers, payload: 'x' })
    expect([reply.status, reply.json.error], reply.text).toEqual([415, 'unsupported_media_type'])
    expect(reply.json.message).toMatch(/^Content-Type must be the type of the file, such as text\/markdown/)
    expect(reply.json.message).toContain(`got ${JSON.stringify(type)}`)
  })

  test('text that is sent raw is text', async () => {
    const sent = {
      method: 'PUT',
      url: file('page.html'),
      payload: '<b>ü</b>',
      headers: { 'content-type': 'text/html' },
    }
    await host.call('alice', sent as never)
    const { json } = await host.call('alice', { url: file('page.html') })
    expect([json.content, json.contentType]).toEqual(['<b>ü</b>', 'text/html'])
  })

  test('more than workspace.maxFileBytes are refused with both sizes, however they are sent', async () => {
    await host.close()
    await start({ config: { workspace: { maxFileBytes: 1000 } } })
    const said = { error: 'workspace_too_large', details: { limit: 1000, size: expect.any(Number) } }
    const ways = [
      put('a.txt', 'x'.repeat(1001)),
      put('a.txt', 'x'.repeat(200_000)),
      { ...raw, payload: Buffer.alloc(1001) },
      { ...raw, payload: Buffer.alloc(500_000) },
    ]
    for (const way of ways) {
      const reply = await host.call('alice', way)
      expect(reply.status, reply.text).toBe(413)
      expect(reply.json).toMatchObject(said)
      expect(reply.json.message).toMatch(/may have 1000 \(workspace\.maxFileBytes\)/)
    }
    expect((await host.call('alice', { ...raw, payload: Buffer.alloc(1000) })).status).toBe(201)
    expect((await host.call('alice', put('b.txt', '"'.repeat(1000)))).status).toBe(201)
  })
})

describe('R-WS-4: what is secret', () => {
  test('is masked in text before it is stored, and a file that cannot be masked is refused', async () => {
    host.learnSecret('CRM_KEY', 'hunter2-hunter2')
    await host.call('alice', put('a.md', 'the key is hunter2-hunter2, keep it'))
    const { json } = await host.call('alice', { url: file('a.md') })
    expect(json.content).toBe('the key is [REDACTED:CRM_KEY], keep it')
    const payload = Buffer.concat([Buffer.from([0, 255]), Buffer.from('hunter2-hunter2')])
    const headers = { 'content-type': 'application/zip' }
    const refused = await host.call('alice', { method: 'PUT', url: file('a.zip'), payload, headers })
    expect([refused.status, refused.json.error]).toEqual([400, 'validation_error'])
    expect(refused.json.message).toMatch(/holds a secret that this host knows/)
    expect(refused.text).not.toContain('hunter2')
  })

  test('a file of one tenant is to another as if it never was, byte for byte, under the same name too', async () => {
    await host.call('alice', put('plan.md', 'of acme'))
    const never = await host.call('bob', { url: file('never.md') })
    const ways = [
      { url: file('plan.md') },
      { url: file('plan.md', '?version=1') },
      { url: file('plan.md', '?raw=true') },
      { url: file('plan.md'), method: 'DELETE' as const },
    ]
    for (const way of ways) {
      const reply = await host.call('bob', way)
      expect([reply.status, reply.text]).toEqual([404, never.text])
    }
    expect((await host.call('bob', { url: FILES })).json.files).toEqual([])
    const headers = { 'if-match': '"1"' }
    expect((await host.call('bob', put('plan.md', 'of beta', { headers }))).json.details.currentVersion).toBe(0)
    await host.call('bob', put('plan.md', 'of beta'))
    await host.call('tester', put('plan.md', 'of a test'))
    const read = async (key: KeyName) => (await host.call(key, { url: file('plan.md') })).json
    expect([await read('alice'), await read('bob'), await read('tester')]).toMatchObject([
      { content: 'of acme', version: 1 },
      { content: 'of beta', version: 1 },
      { content: 'of a test', version: 1 },
    ])
    await host.call('bob', { url: file('plan.md'), method: 'DELETE' })
    expect((await read('alice')).content).toBe('of acme')
  })

  test('content is sealed in the store', async () => {
    await host.call('alice', put('a.md', 'seen by nobody'))
    const view = { scope: '', upTo: 1, runs: [] }
    const row = await host.store.entryAt('acme', 'workspace', view, { ref: '', id: 'a.md' })
    const content = await host.store.readContent('acme', row?.contentId ?? '')
    expect(content).toMatchObject({ sealed: true, text: null })
    expect(await host.store.readContent('beta', row?.contentId ?? '')).toBeUndefined()
  })
})

describe('mistakes', () => {
  test.each(['a//b', 'a..b', 'a/..b', '.hidden', 'a/', '-x', 'ü.md', 'x'.repeat(257), 'a b'])(
    'PUT %j is refused, and says what a path is',
    async path => {
      const url = file(path.split('/').map(encodeURIComponent).join('/'))
      const reply = await host.call('alice', { method: 'PUT', url, payload: { content: 'x' } })
      expect([reply.status, reply.json.error], reply.text).toEqual([400, 'validation_error'])
      expect(reply.json.message).toMatch(/path must be 1 to 256 of .* such as reports\/2026\.md; got "/)
      expect((await host.call('alice', { url })).status).toBe(404)
    },
  )

  test.each([
    [{ 'if-match': 'abc' }, /If-Match must be a version such as "3", or \*; got "abc"/],
    [{ 'if-none-match': '"1"' }, /If-None-Match must be \*, and goes without If-Match; got/],
    [{ 'if-match': '1', 'if-none-match': '*' }, /goes without If-Match/],
  ])('%j is refused', async (headers, message) => {
    const reply = await host.call('alice', put('a.md', 'x', { headers: headers as { [name: string]: string } }))
    expect(reply.status).toBe(400)
    expect(reply.json.message).toMatch(message)
  })

  test.each([
    [{ content: 'x', contenttype: 'y' }, /body\.contenttype is not a known field; did you mean contentType\?/],
    [{}, /body\.content is required; add it/],
    [{ content: 5 }, /body\.content must be of type string/],
    [{ content: 'x', contentType: 'nonsense' }, /body\.contentType must match/],
  ])('body %j is refused', async (payload, message) => {
    const reply = await host.call('alice', put('a.md', '', { payload }))
    expect(reply.status).toBe(400)
    expect(reply.json.message).toMatch(message)
  })

  test('a workspace that is full says which setting, how many, and what to do', async () => {
    await host.close()
    await start({ config: { workspace: { maxFiles: 2 } } })
    await host.call('alice', put('a', 'x'))
    await host.call('alice', put('b', 'x'))
    const reply = await host.call('alice', put('c', 'x'))
    expect([reply.status, reply.json.error]).toEqual([429, 'quota_exceeded'])
    expect(reply.json.message).toMatch(/may have 2 files \(workspace\.maxFiles\); remove some, or/)
    expect((await host.call('alice', put('a', 'y'))).status).toBe(200)
    await host.call('alice', { url: file('b'), method: 'DELETE' })
    expect((await host.call('alice', put('c', 'x'))).status).toBe(201)
  })

  test.each(['nonsense', 'run:', ':3', 'a b:3', 'run:-1', 'run:1.5'])('at=%s is refused', async at => {
    const reply = await host.call('alice', { url: `${FILES}?at=${encodeURIComponent(at)}` })
    expect([reply.status, reply.json.details.field]).toEqual([400, 'query.at'])
  })

  test('a moment of a run that is another tenant’s, or never was, is not found; one outside its log is said', async () => {
    const { runId } = (
      await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop', inputs: {} } })
    ).json
    const ask = (key: KeyName, at: string) => host.call(key, { url: `${FILES}?at=${at}` })
    const [foreign, never] = [await ask('bob', `${runId}:1`), await ask('bob', 'never:1')]
    expect([foreign.status, foreign.text]).toEqual([404, never.text])
    for (const seq of [0, 999]) {
      const reply = await ask('alice', `${runId}:${seq}`)
      expect([reply.status, reply.json.error]).toEqual([422, 'invalid_from_seq'])
      expect(reply.json.message).toMatch(/give a number from 1 to \d+\.$/)
    }
  })
})

test('R-WS-1: switched off, all four are 501, and discovery does not speak of it', async () => {
  await host.close()
  await start({ config: { workspace: { enabled: false } } })
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const reply = await host.call('alice', { method, url: file('a.md') })
    expect([method, reply.status, reply.json.error]).toEqual([method, 501, 'capability_not_provided'])
    expect(reply.json.message).toMatch(/workspace\.enabled/)
  }
  expect((await host.call('alice', { url: FILES })).status).toBe(501)
  const { workspace } = (await host.call(null, { url: '/.well-known/openwop' })).json
  expect(workspace).toBeUndefined()
})
