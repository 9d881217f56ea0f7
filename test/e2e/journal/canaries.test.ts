import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { SCOPES } from '../../../src/wire/key.js'
import { runHere } from '../../cli/command-line.js'
import { type HostProcess, until } from '../../support/host-process.js'
import { codingsOf, foundIn, judge, type Matrix, type Verdict } from '../agents/canaries.js'
import { fetchText } from '../agents/talk.js'
import type { World } from '../agents/world.js'
import { bytesOf } from '../verification/gated-world.js'
import { type Sink, startSink } from '../webhooks/sink.js'
import { makeKeepingWorld, type Seeds, seeds } from './kept-words.js'

/**
 * R-MEM-14, R-MEM-15, R-MEM-20, R-WS-4: where the words that agents, nodes and people keep in memory and workspace may be
 * read, and where not, with content that is stored in plain (`memory.fullText`) and with content that is sealed.
 */

type Outlet =
  /** What whoever may read memory and workspace is answered. */
  | 'memory'
  | 'memory as of'
  | 'search'
  | 'files'
  | 'file lists'
  | 'tenant stream'
  | 'journal commands'
  /** What agents are told that look, and those of a branch. */
  | 'looker'
  | 'branch'
  | 'keeper'
  /** What whoever may read runs is answered, by a key with nothing else. */
  | 'events'
  | 'streams'
  | 'snapshots'
  | 'bundles'
  | 'diffs'
  | 'run commands'
  | 'refused'
  | 'webhooks'
  | 'audit'
  /** To the same requests, of another tenant. */
  | 'stranger'
  | 'mistakes'
  | 'log'
  | 'database'
  | 'erased rows'
  | 'erased file'
type Cells = { readonly [O in Outlet]?: Verdict }

const READ: Cells = {
  memory: 'must',
  'memory as of': 'must',
  'journal commands': 'must',
  looker: 'must',
  branch: 'must',
}
const FILE: Cells = { files: 'must', 'journal commands': 'must', looker: 'must', branch: 'must' }
/** Names are told: whoever reads the run that wrote it knows them, and so does whoever is told of it. */
const NAMED: Cells = {
  events: 'must',
  streams: 'must',
  webhooks: 'must',
  'run commands': 'must',
  bundles: 'may',
  diffs: 'may',
  database: 'must',
  mistakes: 'may',
}

const matrixOf = (fullText: boolean): Matrix<keyof Seeds, Outlet> => {
  const stored: Cells = fullText ? { database: 'must', search: 'must' } : {}
  return {
    memoryText: { ...READ, ...stored, keeper: 'must' },
    // What it can be found by is stored as it is.
    memoryTag: { ...READ, keeper: 'must', database: 'must', search: 'may' },
    memoryId: { ...READ, ...NAMED, keeper: 'must', search: 'may' },
    fileText: { ...FILE, keeper: 'must' },
    fileName: { ...FILE, ...NAMED, 'file lists': 'must', 'tenant stream': 'must', keeper: 'must' },
    // The run was given it as an input that readers do not see.
    nodeText: { ...READ, database: 'must', search: 'may' },
    peopleText: FILE,
    peopleName: { ...FILE, 'file lists': 'must', 'tenant stream': 'must', database: 'must', mistakes: 'may' },
    heldText: { keeper: 'must', database: fullText ? 'may' : 'never' },
    heldFile: { keeper: 'must' },
    providerKey: {},
  }
}

const TENANT_SCOPES = SCOPES.filter(scope => scope !== 'tenants:manage')
const MEMORY = '/v1/host/assay/memory'
const FILES = '/v1/host/workspace/files'
const counts = { cells: 0, must: 0, never: 0, asked: 0 }

describe.each([{ fullText: true }, { fullText: false }])('memory.fullText $fullText', ({ fullText }) => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-kept-words-'))
  const seed = seeds()
  const outlets: { -readonly [O in Outlet]?: Buffer } = {}
  const keys: { [who: string]: string } = {}
  let world: World
  let host: HostProcess
  let sink: Sink
  const runs: { [name: string]: string } = {}
  const add = (outlet: Outlet, ...said: readonly unknown[]) => {
    outlets[outlet] = Buffer.concat([outlets[outlet] ?? Buffer.alloc(0), bytesOf(said)])
  }

  const ask = (
    who: string,
    at: string,
    init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
  ) => {
    counts.asked += 1
    return fetchText(host, at, { ...init, headers: { authorization: `Bearer ${keys[who]}`, ...init.headers } })
  }
  const send = (who: string, method: string, at: string, body: object, headers: Record<string, string> = {}) =>
    ask(who, at, { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
  const good = async <T extends { readonly status: number; readonly text: string }>(reply: Promise<T>): Promise<T> => {
    const got = await reply
    expect(got.status, got.text).toBeLessThan(300)
    return got
  }

  const start = async (workflowId: string, inputs: object): Promise<string> => {
    const configurable = { ai: { provider: 'local', model: 'm-1' } }
    const made = await good(send('alice', 'POST', '/v1/runs', { workflowId, inputs, configurable, scopeId: 'team' }))
    return (JSON.parse(made.text) as { runId: string }).runId
  }
  const over = (runId: string) =>
    until(`run ${runId} to end`, async () => {
      const { status } = JSON.parse((await ask('alice', `/v1/runs/${runId}`)).text) as { status: string }
      return ['completed', 'failed', 'cancelled'].includes(status) ? status : undefined
    })

  beforeAll(async () => {
    world = await makeKeepingWorld(scratch, seed)
    sink = await startSink()
    const settings = { 'memory.fullText': String(fullText), 'webhooks.allowPrivate': 'true' }
    host = await world.start({ logLevel: 'debug', settings })
    for (const [who, tenant, scopes] of [
      ['alice', 'acme', TENANT_SCOPES],
      ['reader', 'acme', ['runs:read']],
      ['bob', 'beta', TENANT_SCOPES],
    ] as const) {
      const made = await host.call('POST', '/v1/keys', { tenant, principal: who, scopes })
      keys[who] = (made.body as unknown as { key: string }).key
    }
    await tell()
    await look()
    await eraseAll()
  })

  afterAll(async () => {
    await sink?.close()
    await world?.close()
    rmSync(scratch, { recursive: true, force: true })
  })

  /** Everybody writes, then an agent looks, and a branch of it looks again. */
  async function tell(): Promise<void> {
    for (const who of ['alice', 'bob'])
      await good(send(who, 'POST', '/v1/webhooks', { url: sink.url, events: ['*'], tags: [] }))
    const response = { 'idempotency-key': 'the-same-key' }
    await good(
      send(
        'alice',
        'PUT',
        `${FILES}/${seed.peopleName}`,
        { content: `b ${seed.peopleText} ${seed.providerKey}` },
        response,
      ),
    )
    // Of another tenant, the same key of a request means nothing.
    add('stranger', await good(send('bob', 'PUT', `${FILES}/${seed.peopleName.slice(-9)}`, { content: 'c' }, response)))
    runs.keeper = await start('keeper', { task: 'please keep it' })
    expect(await over(runs.keeper)).toBe('completed')
    runs.noting = await start('noting', { note: `d ${seed.nodeText}` })
    expect(await over(runs.noting)).toBe('completed')
    runs.held = await start('held', { task: 'please keep it for yourself' })
    expect(await over(runs.held)).toBe('failed')
    const before = world.model.requests().length
    runs.looker = await start('looker', { task: 'please look' })
    expect(await over(runs.looker)).toBe('completed')
    const between = world.model.requests().length
    const forked = await good(send('alice', 'POST', `/v1/runs/${runs.looker}:fork`, { mode: 'branch', fromSeq: 1 }))
    runs.branch = (JSON.parse(forked.text) as { runId: string }).runId
    expect(await over(runs.branch)).toBe('completed')
    const said = world.model.requests().map(({ body }) => body.messages)
    add('keeper', ...said.slice(0, before))
    add('looker', ...said.slice(before, between))
    add('branch', ...said.slice(between))
    expect(said.length).toBeGreaterThan(between)
  }

  async function look(): Promise<void> {
    const entries = [seed.memoryId, 'noted']
    const asOf = `at=${runs.noting}:end`
    add('memory', ...(await all('alice', [`${MEMORY}?scope=team`, ...entries.map(one => entry(one, 'scope=team'))])))
    add('memory as of', ...(await all('alice', [`${MEMORY}?${asOf}`, ...entries.map(one => entry(one, asOf))])))
    const words = seed.memoryText.split('/')[0]
    const found = await ask('alice', `${MEMORY}?scope=team&q=${words}`)
    expect(found.status, found.text).toBe(fullText ? 200 : 400)
    if (!fullText) expect(found.text).toContain('memory.fullText is off')
    add('search', found)
    const files = [seed.fileName, seed.peopleName]
    add(
      'files',
      ...(await all(
        'alice',
        files.flatMap(one => [`${FILES}/${one}`, `${FILES}/${one}?at=${runs.looker}:end`]),
      )),
    )
    add('file lists', ...(await all('alice', [FILES, `${FILES}?at=${runs.looker}:end`])))
    add('tenant stream', await good(ask('alice', '/v1/host/assay/stream')))
    await commands()
    await asReader()
    await asStranger()
    add('mistakes', ...(await mistakes()))
    add(
      'audit',
      await ask('alice', '/v1/audit/verify'),
      await ask('alice', '/v1/quotas'),
      await ask('alice', '/metrics'),
    )
    await until('webhooks to be told of the ends', () => {
      const told = sink.received.map(({ body }) => JSON.parse(body) as { runId: string; event: { type: string } })
      const ends = told.filter(({ event }) => ['run.completed', 'run.failed'].includes(event.type))
      return Object.values(runs).every(runId => ends.some(one => one.runId === runId))
    })
    add('webhooks', ...sink.received.map(({ body, headers }) => [body, headers]))
  }

  const entry = (id: string, where: string) => `${MEMORY}/entries/${id}?ref=facts&${where}`
  const all = (who: string, urls: readonly string[]) => Promise.all(urls.map(url => good(ask(who, url))))

  async function commands(): Promise<void> {
    const run = async (...args: string[]) => {
      const said = await runHere(['--url', (await host.url())!, '--key', keys.alice!, ...args])
      expect(said.code, said.stderr).toBe(0)
      return said
    }
    const where = ['--scope', 'team']
    add('journal commands', await run('memory', 'list', ...where), await run('memory', 'list', ...where, '--json'))
    add('journal commands', await run('memory', 'get', seed.memoryId, '--ref', 'facts', ...where))
    add('journal commands', await run('workspace', 'ls'))
    for (const file of [seed.fileName, seed.peopleName]) add('journal commands', await run('workspace', 'get', file))
    for (const runId of Object.values(runs))
      add('run commands', await run('runs', 'get', runId), await run('runs', 'events', runId))
  }

  /** May read runs, and neither memory nor workspace. */
  async function asReader(): Promise<void> {
    for (const runId of Object.values(runs)) {
      const at = `/v1/runs/${runId}`
      add('events', await good(ask('reader', `${at}/events`, { headers: { accept: 'application/json' } })))
      add('events', await good(ask('reader', `${at}/events/poll`)))
      for (const mode of ['updates', 'values', 'messages', 'debug'])
        add('streams', await good(ask('reader', `${at}/events?streamMode=${mode}`)))
      add('snapshots', await good(ask('reader', at)), await good(ask('reader', '/v1/runs?host=true')))
      add('bundles', await good(ask('reader', `${at}/debug-bundle`)))
      add('diffs', await ask('reader', `${at}:diff?against=${runs.looker}`))
    }
    add('diffs', await good(ask('reader', `/v1/host/assay/runs/${runs.branch}/comparison?against=${runs.looker}`)))
    for (const url of journalUrls()) {
      const refused = await ask('reader', url)
      expect([url, refused.status]).toEqual([url, 403])
      add('refused', { ...refused, url: '' })
    }
  }

  const journalUrls = () => [
    `${MEMORY}?scope=team`,
    `${MEMORY}?at=${runs.looker}:end`,
    `${MEMORY}/scopes`,
    entry(seed.memoryId, 'scope=team'),
    FILES,
    `${FILES}/${seed.fileName}`,
    `${FILES}/${seed.peopleName}?version=1`,
  ]

  async function asStranger(): Promise<void> {
    for (const url of [...journalUrls(), '/v1/host/assay/stream', ...Object.values(runs).map(id => `/v1/runs/${id}`)]) {
      // What was asked for is said back where it is not found; that is not what was kept.
      const { status, text } = await ask('bob', url)
      add('stranger', {
        status,
        text: text.replaceAll(seed.fileName, '').replaceAll(seed.peopleName, '').replaceAll(seed.memoryId, ''),
      })
    }
    const told = sink.received.filter(({ body }) => body.includes('"beta"'))
    add('stranger', ...told.map(({ body }) => body))
  }

  /** Whoever may read everything, and asks for what there is not. */
  const mistakes = () =>
    Promise.all([
      send('alice', 'PUT', `${FILES}/${seed.peopleName}`, { content: 'x' }, { 'if-match': '"9"' }),
      send('alice', 'PUT', `${FILES}/..`, { content: 'x' }),
      ask('alice', `${FILES}/${seed.fileName}?version=99`),
      ask('alice', entry('never', 'scope=team')),
      ask('alice', `${MEMORY}?scope=team&at=${runs.looker}:end`),
      ask('alice', `${MEMORY}?at=${runs.looker}:9999`),
      ask('alice', `${MEMORY}?scope=team&limit=-1`),
    ])

  /** What the data folder holds while the host works, and when the tenant is erased. */
  async function eraseAll(): Promise<void> {
    const bytes = () =>
      Buffer.concat(
        readdirSync(world.data)
          .filter(file => file.startsWith('assay.db'))
          .map(file => readFileSync(path.join(world.data, file))),
      )
    outlets.database = bytes()
    const erase = await host.call('POST', '/v1/host/assay/tenants/acme/erase', { tenant: 'acme' })
    expect(erase.status, JSON.stringify(erase.body)).toBe(202)
    await until('the tenant to be erased', async () => {
      const { body } = await host.call('GET', '/v1/host/assay/tenants/acme')
      return (body as unknown as { state: string }).state === 'erased'
    })
    await host.handOver()
    outlets.log = Buffer.from(host.errors + host.output)
    const db = new Connection(path.join(world.data, 'assay.db'), 5_000, [])
    const tables = db.all(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
    outlets['erased rows'] = bytesOf(tables.map(({ name }) => db.all(`SELECT * FROM "${name}"`)))
    // As docs/reference/storage.md says; sqlite3 folds in what was written ahead when it closes the file.
    db.exec('VACUUM')
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    outlets['erased file'] = bytes()
    expect(outlets['erased file'].length).toBeGreaterThan(10_000)
  }

  it('every word is where it must be, and nowhere else', () => {
    const matrix = matrixOf(fullText)
    expect(Object.keys(outlets)).toHaveLength(25)
    for (const [outlet, said] of Object.entries(outlets)) expect(said.length, outlet).toBeGreaterThan(0)
    expect(judge(seed, outlets, matrix)).toEqual([])
    const cells = Object.values(matrix).flatMap(row => Object.values(row))
    counts.cells += Object.keys(seed).length * Object.keys(outlets).length
    counts.must += cells.filter(cell => cell === 'must').length
    counts.never +=
      Object.keys(seed).length * Object.keys(outlets).length - cells.filter(cell => cell !== 'never').length
  })

  it('R-MEM-15 R-WS-4: a secret that an agent or a person wrote down has its name in its place', () => {
    for (const outlet of ['memory', 'files'] as const)
      expect(outlets[outlet]?.toString()).toContain('[REDACTED:OPENAI_API_KEY]')
    expect(outlets.looker?.toString()).toContain('[REDACTED:OPENAI_API_KEY]')
  })

  it('the search finds what a sabotaged host would say', () => {
    for (const leak of [seed.memoryText, seed.fileText, seed.peopleText, seed.heldText])
      for (const said of [leak, encodeURIComponent(leak), btoa(`x${leak}yz`), Buffer.from(leak).toString('hex')])
        expect(judge(seed, { log: Buffer.from(`…${said}…`) }, matrixOf(fullText))).toHaveLength(1)
    expect(foundIn(Buffer.from(seed.memoryText, 'utf16le'), seed.memoryText)).toEqual(['UTF-16'])
  })
})

it('so many cells have been looked at', () => {
  const { cells, must, never, asked } = counts
  console.log(`${cells} cells in ${codingsOf('x').length} codings: ${must} must, ${never} must not; ${asked} requests`)
  expect([cells, must > 100, never > 350, asked > 150]).toEqual([550, true, true, true])
})
