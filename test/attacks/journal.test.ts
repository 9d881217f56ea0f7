import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { node, workflow } from '../http/harness.js'
import { type Ask, isOver, type LiveHost, startLiveHost } from './live-host.js'

const FILES = '/v1/host/workspace/files'
const MEMORY = '/v1/host/assay/memory'
const WORD = 'zanzibar-canary-4711'
const FILE_WORD = 'kilimanjaro-canary-0815'
const NEVER = '00000000-0000-7000-8000-000000000000'

let live: LiveHost
let runId: string
const logged: string[] = []
const keep = (...said: unknown[]) => void logged.push(JSON.stringify(said))
const log = { info: keep, warn: keep, error: keep }

beforeAll(async () => {
  live = await startLiveHost({}, { log })
  const config = { memoryRef: 'notes', memoryId: 'ann', content: `Ann is in ${WORD}.`, tags: ['friends'] }
  const made = await live.call('alice', '/v1/workflows', {
    method: 'POST',
    body: workflow('canary', [node('n', 'core.memoryPut', { config })]),
  })
  expect(made.status, made.text).toBe(201)
  runId = await live.start('alice', 'canary')
  await live.until('alice', runId, isOver)
  const put = await live.call('alice', `${FILES}/a.md`, { method: 'PUT', body: { content: `A ${FILE_WORD}.` } })
  expect(put.status, put.text).toBe(201)
})
afterAll(() => live.stop())

const where = (run: string) => `ref=notes&scope=run:${run}`
const asked = (who: 'alice' | 'bob' | null, url: string, ask?: Ask) => live.call(who, url, ask)

describe('R-MEM-14, R-WS-4: of another tenant', () => {
  test('nothing can be told from what never was', async () => {
    const ways: readonly (readonly [(run: string, id: string, path: string) => string, Ask?])[] = [
      [run => `${MEMORY}?${where(run)}`],
      [run => `${MEMORY}?${where(run)}&q=ann`],
      [run => `${MEMORY}?at=${run}:1`],
      [run => `${MEMORY}?at=${run}:end`],
      [(run, id) => `${MEMORY}/entries/${id}?${where(run)}`],
      [(run, id) => `${MEMORY}/entries/${id}?ref=notes&at=${run}:end`],
      [(run, id) => `${MEMORY}/entries/${id}?${where(run)}&destroy=true`, { method: 'DELETE' }],
      [() => `${MEMORY}/scopes`],
      [run => `${FILES}?at=${run}:end`],
      [() => FILES],
      [(_, _id, path) => `${FILES}/${path}`],
      [(_, _id, path) => `${FILES}/${path}?version=1`],
      [(run, _id, path) => `${FILES}/${path}?at=${run}:end`],
      [(_, _id, path) => `${FILES}/${path}`, { method: 'DELETE' }],
    ]
    for (const [url, ask] of ways) {
      const [foreign, absent] = [
        await asked('bob', url(runId, 'ann', 'a.md'), ask),
        await asked('bob', url(NEVER, 'eve', 'b.md'), ask),
      ]
      expect([url(runId, 'ann', 'a.md'), foreign.status, foreign.text]).toEqual([
        url(runId, 'ann', 'a.md'),
        absent.status,
        absent.text,
      ])
      expect(foreign.text).not.toMatch(/canary|"ann"|a\.md/)
    }
    expect((await asked('alice', `${MEMORY}/entries/ann?${where(runId)}`)).status).toBe(200)
    expect((await asked('alice', `${FILES}/a.md`)).status).toBe(200)
  })
})

describe('words that are kept', () => {
  test('are where they are asked for', async () => {
    for (const url of [
      `${MEMORY}?${where(runId)}`,
      `${MEMORY}?${where(runId)}&q=ann`,
      `${MEMORY}?at=${runId}:end`,
      `${MEMORY}/entries/ann?${where(runId)}`,
    ])
      expect([url, (await asked('alice', url)).text.includes(WORD)]).toEqual([url, true])
    expect((await asked('alice', `${FILES}/a.md`)).text).toContain(FILE_WORD)
    expect((await asked('alice', `${FILES}/a.md?raw=true`)).text).toContain(FILE_WORD)
  })

  test('R-MEM-20, R-WS-2: are in nothing that tells of them, and in nobody else’s answers', async () => {
    const silent: readonly (readonly ['alice' | 'bob' | null, string, Ask?])[] = [
      ['alice', `/v1/runs/${runId}`],
      ['alice', `/v1/runs/${runId}/events?streamMode=debug`, { headers: { accept: 'application/json' } }],
      ['alice', `/v1/runs/${runId}/debug-bundle`],
      ['alice', `/v1/runs/${runId}/withheld`],
      ['alice', '/v1/host/assay/stream'],
      ['alice', FILES],
      ['alice', `${MEMORY}/scopes`],
      ['alice', `${MEMORY}/entries/ann?ref=other&scope=run:${runId}`],
      ['alice', `${FILES}/a.md`, { method: 'PUT', body: { content: 'x' }, headers: { 'if-match': '"9"' } }],
      ['alice', `${FILES}/a.md?version=99`],
      ['bob', FILES],
      ['bob', '/v1/host/assay/stream'],
      ['bob', `${MEMORY}?${where(runId)}&q=ann`],
      [null, '/.well-known/openwop'],
      [null, '/healthz'],
      [null, '/metrics'],
    ]
    for (const [who, url, ask] of silent)
      expect([who, url, (await asked(who, url, ask)).text.match(/\w+-canary-\d+/)]).toEqual([who, url, null])
    expect(logged.join('\n')).not.toMatch(/canary-\d/)
  })
})
