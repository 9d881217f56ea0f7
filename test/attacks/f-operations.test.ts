import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports/event-log.js'
import type { Store } from '../../src/engine/ports/store.js'
import { openDatabase } from '../../src/store/sqlite/driver.js'
import { attack } from './cases.js'
import { type Ask, isOver, type LiveHost, type Reply, startLiveHost } from './live-host.js'

/** The log, the host and what it is made of. */
let live: LiveHost
let breaks: Error | undefined
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const wrapStore = (store: Store): Store =>
  new Proxy(store, {
    get(whole, name) {
      const value = Reflect.get(whole, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'listRuns' && breaks !== undefined) return Promise.reject(breaks)
        return value.apply(whole, args)
      }
    },
  })
const resolve = async (name: string) => (name.endsWith('.example') ? ['93.184.216.34'] : [])
beforeAll(async () => {
  live = await startLiveHost({}, { log, wrapStore, resolve })
})
afterAll(() => live.stop())

const post = (body: object): Ask => ({ method: 'POST', body })
const told = ({ status, json }: Reply) => [status, json?.error]

attack(66, async () => {
  const runId = await live.start('alice', 'hello')
  await live.until('alice', runId, isOver)
  const before = (await live.call('alice', `/v1/runs/${runId}/events/poll`)).text
  const fork = (body: object, who: 'alice' | 'bob' = 'alice') => live.call(who, `/v1/runs/${runId}:fork`, post(body))
  for (const fromSeq of [-1, 1.5, '1', null, 2 ** 60])
    expect([fromSeq, (await fork({ mode: 'branch', fromSeq })).status]).toEqual([fromSeq, expect.toBeOneOf([400, 422])])
  expect(told(await fork({ mode: 'branch', fromSeq: 10_000 }))).toEqual([422, 'invalid_from_seq'])
  expect((await fork({ mode: 'nonsense' })).status).toBe(400)
  const absent = await live.call('bob', '/v1/runs/00000000-0000-7000-8000-000000000000:fork', post({ mode: 'replay' }))
  expect((await fork({ mode: 'replay' }, 'bob')).text).toBe(absent.text)
  expect((await live.call('alice', `/v1/runs/${runId}/events/poll`)).text).toBe(before)
})

attack(68, async () => {
  const runId = await live.start('alice', 'hello')
  await live.until('alice', runId, isOver)
  const verified = async (who: 'alice' | 'bob') => (await live.call(who, '/v1/audit/verify')).json
  // It is sealed, and all is well.
  await expect
    .poll(async () => (await verified('alice')).checkpoints.length, { timeout: 60_000, interval: 200 })
    .toBeGreaterThan(0)
  expect((await verified('alice')).anomalies).toEqual([])
  const database = openDatabase(path.join(live.data, 'assay.db'), 5_000)
  const change = (from: string, to: string) =>
    database.prepare('UPDATE events SET payload = replace(payload, ?, ?) WHERE run_id = ?').run(from, to, runId)
  change('hello', 'hullo')
  expect((await live.call('alice', `/v1/runs/${runId}/events/poll`)).text).toContain('hullo')
  // As soon as that run, too, is sealed: by the hash of its log as it was written.
  await expect
    .poll(async () => (await verified('alice')).anomalies, { timeout: 60_000, interval: 200 })
    .toContainEqual(expect.objectContaining({ runId, sequence: 0 }))
  // To another tenant, whose log it is not, no name is told.
  expect(JSON.stringify(await verified('bob'))).not.toContain(runId)
  change('hullo', 'hello')
  database.close()
  expect((await verified('alice')).anomalies).toEqual([])
})

attack(69, async () => {
  const secret = 'postgres://user:CNRY-password@10.1.2.3/db'
  breaks = Object.assign(new Error(`connect ECONNREFUSED ${secret} at /srv/assay/src/store.ts:1`), { code: 'X' })
  const bug = await live.call('alice', '/v1/runs')
  breaks = new StoreUnavailable(secret)
  const down = await live.call('alice', '/v1/runs')
  breaks = undefined
  expect(told(bug)).toEqual([500, 'internal_error'])
  expect(told(down)).toEqual([503, 'service_unavailable'])
  expect(Object.keys(bug.json.details)).toEqual(['correlationId'])
  for (const { text, headers } of [bug, down])
    expect(text + JSON.stringify(headers)).not.toMatch(/CNRY|postgres:|\/srv\/|\.ts|at /)
})

attack(71, () => {
  const root = path.resolve(import.meta.dirname, '../..')
  const read = (file: string) => JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'))
  const { packages } = read('package-lock.json') as {
    packages: {
      [name: string]: { resolved?: string; integrity?: string; link?: boolean; dev?: boolean; license?: string }
    }
  }
  // Without `resolved` it is the registry of whoever installs; the hash says what must come from there.
  const foreign = Object.entries(packages).filter(
    ([name, { resolved, integrity, link }]) =>
      name !== '' && (link === true || resolved !== undefined || !integrity?.startsWith('sha512-')),
  )
  expect(foreign).toEqual([])
  expect(Object.keys(packages).length).toBeGreaterThan(100)
  // What is shipped with us may be passed on as we are: nothing that asks for more than its notice.
  const shipped = Object.entries(packages).filter(([name, { dev }]) => name !== '' && dev !== true)
  expect(shipped.length).toBeGreaterThan(50)
  expect(shipped.filter(([, { license }]) => !PERMISSIVE.has(license ?? '')).map(([name]) => name)).toEqual([])
  const { dependencies, devDependencies } = read('package.json') as { [kind: string]: { [name: string]: string } }
  for (const version of Object.values({ ...dependencies, ...devDependencies }))
    expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
})

const PERMISSIVE = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '(AFL-2.1 OR BSD-3-Clause)'])

attack(72, async () => {
  await live.call('alice', '/v1/webhooks', post({ url: 'https://r.example/', events: ['assay.nothing'] }))
  const { secret } = (
    await live.call('alice', '/v1/webhooks', post({ url: 'https://r.example/x', events: ['assay.nothing'] }))
  ).json
  expect(secret).toMatch(/^[0-9a-f]{64}$/)
  const open: string[] = []
  for (const entry of fs.readdirSync(live.data, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name)
    if (!entry.isFile()) continue
    if ((fs.statSync(file).mode & 0o077) !== 0) open.push(path.relative(live.data, file))
    expect(fs.readFileSync(file).includes(secret), file).toBe(false)
  }
  expect(open.filter(file => !PUBLIC.test(file))).toEqual([])
  expect(fs.statSync(live.data).mode & 0o077).toBe(0)
  expect(fs.readdirSync(live.data)).toEqual(expect.arrayContaining(['assay.db', 'host.lock', 'local-key', 'data.key']))
})

/** Public halves of keys. */
const PUBLIC = /^audit-keys\//
