import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/driver.js'
import { temporaryFolder } from '../cli/assay-process.js'
import { node, workflow } from '../http/harness.js'
import { calls, DONE, enemies, persuade } from './enemy.js'
import { type Ask, type LiveHost, startLiveHost } from './live-host.js'

/** Everything through which words come into memory and workspace, tried with what must not get in. */
const SECRET = 'Zx9-secret-token-5521-canary'
const MEMORY = '/v1/host/assay/memory'
const FILES = '/v1/host/workspace/files'
const post = (body: object): Ask => ({ method: 'POST', body })

let live: LiveHost
const logged: string[] = []
const keep = (...said: unknown[]) => void logged.push(JSON.stringify(said))
beforeAll(async () => {
  const secretFile = path.join(temporaryFolder(), 'web-token')
  writeFileSync(secretFile, SECRET)
  const mcp = { web: { url: 'https://127.0.0.1:1/', headers: { Authorization: { file: secretFile } } } }
  const config = {
    models: { script: 'script.json' },
    prices: { 'scripted:*': { input: 1, output: 2 } },
    tools: { mcp },
  }
  live = await startLiveHost(
    {},
    { log: { info: keep, warn: keep, error: keep } },
    { ...enemies(), 'assay.config.yaml': config },
  )
  // The server is not there, and its token is known from now on.
  expect((await live.call('alice', '/v1/tools')).status).toBe(200)
})
afterAll(() => live.stop())

const put = (url: string, ask: Ask) => live.call('alice', `${FILES}/${url}`, { method: 'PUT', ...ask })
const bytes = (content: string | Buffer, type = 'text/plain'): Ask => ({
  bytes: content,
  headers: { 'content-type': type },
})

describe('a secret that the host knows', () => {
  test('R-MEM-15, R-WS-4: is masked in words and tags, and no name holds it, whoever writes', async () => {
    const masked = '[REDACTED:web-token]'
    const entry = { content: `it is ${SECRET}`, tags: [SECRET] }
    const tools = [
      { tool: 'assay:memory.put', args: { id: 'by-tool', ref: 'r', ...entry } },
      { tool: 'assay:memory.put', args: { id: SECRET, ref: SECRET, content: 'x' } },
      { tool: 'assay:workspace.write', args: { path: 'by-tool.md', content: entry.content } },
      { tool: 'assay:workspace.write', args: { path: `a/${SECRET}.md`, content: 'x' } },
      { tool: 'assay:workspace.write', args: { path: 'typed.md', content: 'x', contentType: `x/${SECRET}` } },
    ]
    expect((await persuade(live, 'alice', [calls(...tools), DONE], { scopeId: 'team' })).status).toBe('completed')
    const told = (await live.call('alice', `${MEMORY}/entries/by-tool?ref=r&scope=team`)).json
    expect([told.content, told.tags]).toEqual([`it is ${masked}`, [masked]])
    expect((await live.call('alice', `${FILES}/by-tool.md`)).json.content).toBe(`it is ${masked}`)
    expect((await put('by-key.md', { body: { content: entry.content } })).status).toBe(201)
    expect((await put('by-bytes.md', bytes(entry.content))).status).toBe(201)
    for (const name of ['by-key.md', 'by-bytes.md'])
      expect((await live.call('alice', `${FILES}/${name}?raw=1`)).text).toBe(`it is ${masked}`)
    const refused = [
      await put(`a-${SECRET}.md`, { body: { content: 'x' } }),
      await put('typed.md', { body: { content: 'x', contentType: `x/${SECRET}` } }),
      await put('typed.md', bytes('x', `x/${SECRET}`)),
      await put('binary.bin', bytes(Buffer.concat([Buffer.from([0, 255]), Buffer.from(SECRET)]), 'x/y')),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    const everywhere = [
      `${MEMORY}?scope=team`,
      `${MEMORY}?scope=team&q=token`,
      FILES,
      '/v1/host/assay/stream',
      `${MEMORY}/scopes`,
    ]
    for (const url of everywhere)
      expect([url, (await live.call('alice', url)).text.includes(SECRET)]).toEqual([url, false])
    const kept = readdirSync(live.data, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
    expect(kept.length).toBeGreaterThan(3)
    for (const { parentPath, name } of kept)
      expect([name, readFileSync(path.join(parentPath, name)).includes(SECRET)]).toEqual([name, false])
    expect(logged.join('\n')).not.toContain(SECRET)
  })
})

describe('If-Match', () => {
  test('in any other words than a version is refused, and nothing is written', async () => {
    expect((await put('v.md', { body: { content: 'one' } })).status).toBe(201)
    const odd = [
      '"1", "2"',
      '"1" "2"',
      '01',
      '"01"',
      '+1',
      '1.0',
      '1e0',
      '0x1',
      '""',
      '" 1"',
      'abc',
      '"*"',
      '-1',
      '9'.repeat(16),
    ]
    for (const match of odd) {
      const ask = { headers: { 'if-match': match } }
      const replies = [
        await put('v.md', { body: { content: 'two' }, ...ask }),
        await live.call('alice', `${FILES}/v.md`, { method: 'DELETE', ...ask }),
      ]
      expect([match, ...replies.map(({ status }) => status)]).toEqual([match, 400, 400])
    }
    for (const match of ['"2"', '"0"', '2', 'W/"7"', '"999999999999999"'])
      expect([match, (await put('v.md', { body: { content: 'two' }, headers: { 'if-match': match } })).status]).toEqual(
        [match, 409],
      )
    const both = { 'if-match': '"1"', 'if-none-match': '*' }
    expect((await put('v.md', { body: { content: 'two' }, headers: both })).status).toBe(400)
    expect((await live.call('alice', `${FILES}/v.md`)).json).toMatchObject({ content: 'one', version: 1 })
  })

  test('R-WS-2: of many who saw the same version one writes', async () => {
    const headers = { 'if-match': '"1"' }
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => put('v.md', { body: { content: `of ${i}` }, headers })),
    )
    const statuses = all.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(19).fill(409)])
    const { content, version } = (await live.call('alice', `${FILES}/v.md`)).json
    expect([version, content]).toEqual([2, `of ${all.findIndex(({ status }) => status === 200)}`])
  })
})

describe('paths', () => {
  test('are taken as they are, or not at all', async () => {
    const odd = [
      '..',
      'a/../b',
      'a..b',
      'a//b',
      'a/',
      './a',
      '.env',
      'a\\b',
      'a b',
      'é.md',
      'ａ.md',
      'a\u0000b',
      'a\nb',
      '~',
      'a:b',
      'x'.repeat(257),
    ]
    for (const name of odd) {
      const [as, sent] = [name.slice(0, 40), name.split('/').map(encodeURIComponent).join('/')]
      for (const url of [sent, encodeURIComponent(name)])
        for (const method of ['PUT', 'GET', 'DELETE']) {
          const reply = await live.call('alice', `${FILES}/${url}`, {
            method,
            ...(method === 'PUT' && { body: { content: 'x' } }),
          })
          expect([as, method, reply.status]).toEqual([as, method, expect.toBeOneOf([400, 404, 405])])
        }
    }
    // Neither case nor trailing dots make two of them one.
    for (const name of ['Case.md', 'case.md', 'case.md.', 'case.md-'])
      expect((await put(name, { body: { content: name } })).status).toBe(201)
    for (const name of ['Case.md', 'case.md', 'case.md.', 'case.md-'])
      expect((await live.call('alice', `${FILES}/${name}`)).json).toMatchObject({ content: name, version: 1 })
  })
})

describe('files that come with a run', () => {
  const form = (
    parts: readonly (readonly [name: string, file: string | undefined, type: string, body: string | Buffer])[],
  ): Ask => {
    const chunks = parts.flatMap(([name, file, type, body]) => [
      Buffer.from(
        `--XX\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}\r\n`,
      ),
      Buffer.from(`Content-Type: ${type}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ])
    const whole = Buffer.concat([...chunks, Buffer.from('--XX--\r\n')])
    return { method: 'POST', bytes: whole, headers: { 'content-type': 'multipart/form-data; boundary=XX' } }
  }
  const run = (workflowId = 'hello') => ['run', undefined, 'application/json', JSON.stringify({ workflowId })] as const
  const binary = Buffer.from([0, 1, 255])
  const inputs = async () =>
    ((await live.call('alice', `${FILES}?prefix=inputs/`)).json.files as { path: string }[]).map(file => file.path)

  test('have names that are paths, and are gone where no run is made of them', async () => {
    const made = await live.call(
      'alice',
      '/v1/runs',
      form([run(), ['file', '../../../etc/pass\u0001wd..png', 'image/png', binary]]),
    )
    expect([made.status, made.text]).toEqual([201, expect.any(String)])
    const [kept, ...others] = await inputs()
    expect([kept, others]).toEqual([expect.stringMatching(/^inputs\/[\w-]+\/[\w.-]+png$/), []])
    expect(kept).not.toContain('..')
    expect((await live.call('alice', `${FILES}/${kept}?raw=1`)).headers['content-type']).toBe('image/png')
    const nowhere = form([run('nowhere'), ['file', 'a.png', 'image/png', binary]])
    expect((await live.call('alice', '/v1/runs', nowhere)).status).toBe(404)
    const refused = [
      form([run(), ['file', 'a.png', 'image/png', binary], ['__proto__', 'b.png', 'image/png', binary]]),
      form([run(), ['file', 'a.png', 'image/png', binary], ['file', 'b.png', 'image/png', binary]]),
      form([run(), ['file', `${SECRET}.png`, 'image/png', binary]]),
      form([run(), ...Array.from({ length: 33 }, (_, i) => [`n${i}`, 'a.png', 'image/png', binary] as const)]),
      form([['file', 'a.png', 'image/png', binary]]),
      form([run(), ['file', 'a.json', 'application/json', '{"a":1,"a":2}']]),
    ]
    for (const [i, ask] of refused.entries())
      expect([i, (await live.call('alice', '/v1/runs', ask)).status]).toEqual([i, 400])
    const large = form([run(), ['file', 'a.png', 'image/png', Buffer.alloc(70 * 1024 * 1024)]])
    expect((await live.call('alice', '/v1/runs', large)).status).toBe(413)
    expect(await inputs()).toEqual([kept])
    expect((await live.call('bob', `${FILES}/${kept}`)).status).toBe(404)
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

describe('a tenant that goes', () => {
  test('is not erased under a run that writes; then nothing of its memory and files is left', async () => {
    const scopes = [
      'runs:create',
      'runs:read',
      'runs:cancel',
      'workflows:write',
      'memory:read',
      'workspace:read',
      'workspace:write',
    ]
    const { key } = (await live.call('admin', '/v1/keys', post({ tenant: 'leaver', scopes }))).json
    const config = { memoryRef: 'notes', memoryId: 'k', content: 'leaver-words', tags: ['leaver-tag'] }
    const nodes = [node('n', 'core.memoryPut', { config }), node('w', 'core.delay', { config: { delayMs: 3_600_000 } })]
    expect((await live.call({ key }, '/v1/workflows', post(workflow('writes', nodes)))).status).toBe(201)
    const { runId } = (await live.call({ key }, '/v1/runs', post({ workflowId: 'writes', scopeId: 'team' }))).json
    await expect
      .poll(async () => (await live.call({ key }, `${MEMORY}?scope=team`)).json.entries.length, { timeout: 20_000 })
      .toBe(1)
    await live.call({ key }, `${FILES}/leaver.md`, { method: 'PUT', body: { content: 'leaver-words' } })
    const erase = () => live.call('admin', '/v1/host/assay/tenants/leaver/erase', post({ tenant: 'leaver' }))
    const busy = await erase()
    expect([busy.status, busy.json.error]).toEqual([409, 'tenant_in_use'])
    await live.call({ key }, `/v1/runs/${runId}/cancel`, post({}))
    const database = openDatabase(path.join(live.data, 'assay.db'), 5_000)
    const tables = [
      'journal_writes',
      'journal_contents',
      'journal_scopes',
      'journal_layers',
      'journal_reads',
      'tenant_events',
    ]
    const counts = () =>
      tables.map(table =>
        Number(
          (database.prepare(`SELECT count(*) AS n FROM ${table} WHERE tenant = 'leaver'`).get() as { n: number }).n,
        ),
      )
    expect(
      counts()
        .slice(0, 4)
        .every(count => count > 0),
    ).toBe(true)
    expect((await erase()).status).toBe(202)
    await expect
      .poll(async () => (await live.call('admin', '/v1/host/assay/tenants/leaver')).json.state, { timeout: 60_000 })
      .toBe('erased')
    expect(counts()).toEqual(tables.map(() => 0))
    database.close()
    expect((await live.call({ key }, `${MEMORY}?scope=team`)).status).toBe(401)
    expect((await live.call('alice', `${FILES}/by-key.md`)).status).toBe(200)
  })
})
