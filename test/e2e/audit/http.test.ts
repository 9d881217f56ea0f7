import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditAdmin, AuditAnomaly, AuditPlace, AuditRange, RunEngine } from '../../../src/engine/api.js'
import { startHttp, type TestHost } from '../../http/harness.js'

const TENANTS: { readonly [runId: string]: string } = { 'run-of-acme': 'acme', 'run-of-beta': 'beta' }

/** An engine that knows two more runs. */
const withTenants = (engine: RunEngine): RunEngine =>
  new Proxy(engine, {
    get(target, name) {
      if (name === 'tenantOf') return async (runId: string) => TENANTS[runId]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

const ANOMALIES: readonly AuditAnomaly[] = [
  { kind: 'event-changed', checkpoint: 0, runId: 'run-of-acme', sequence: 17, message: 'event 17 was changed' },
  { kind: 'event-missing', checkpoint: 0, runId: 'run-of-beta', sequence: 3, message: 'event 3 is missing' },
  { kind: 'run-missing', checkpoint: 1, runId: 'run-of-nobody', message: 'the run is gone' },
  { kind: 'key-unknown', checkpoint: 1, message: 'checkpoint 1 is signed with key k, which is not known here' },
]

let host: TestHost
const newest = 1
const asked: AuditRange[] = []
let next: AuditPlace | undefined

const audit: AuditAdmin = {
  async verify(range) {
    asked.push(range)
    const { from, to = Math.max(from, newest) } = range
    const seqs = Array.from({ length: Math.max(0, Math.min(to, newest) - from + 1) }, (_, i) => from + i)
    const checkpoints = seqs.map(seq => ({ seq, at: 5, keyId: 'k', prev: 'p', hash: 'h', signature: 's' }))
    const found = { chainValid: false, checkpointsValid: true, checkpoints, anomalies: ANOMALIES }
    return { fromSeq: from, toSeq: to, ...found, ...(next && { next }) }
  },
}

beforeAll(async () => {
  host = await startHttp({ deps: { audit }, wrap: withTenants })
})
afterAll(() => host.close())

const ask = (query: string, name: 'alice' | 'bob' | 'reader' | null = 'alice') =>
  host.call(name, { url: `/v1/audit/verify${query}` })

describe('GET /v1/audit/verify', () => {
  test('R-REST-22: says what was checked and what is wrong', async () => {
    const { status, json } = await ask('?fromSeq=0&toSeq=1')
    expect(status).toBe(200)
    expect(json).toMatchObject({ fromSeq: 0, toSeq: 1, chainValid: false, checkpointsValid: true })
    expect(json.checkpoints).toEqual([
      { seq: 0, at: 5, keyId: 'k', prev: 'p', hash: 'h', signature: 's' },
      { seq: 1, at: 5, keyId: 'k', prev: 'p', hash: 'h', signature: 's' },
    ])
  })

  test('names to each tenant its own runs only', async () => {
    const ids = async (name: 'alice' | 'bob') => {
      const { json, text } = await ask('', name)
      return { text, ids: json.anomalies.map((anomaly: AuditAnomaly) => anomaly.runId ?? null) }
    }
    const [alice, bob] = [await ids('alice'), await ids('bob')]
    expect(alice.ids).toEqual(['run-of-acme', null, null, null])
    expect(bob.ids).toEqual([null, 'run-of-beta', null, null])
    expect(alice.text).not.toMatch(/run-of-beta|run-of-nobody/)
  })

  test.each([
    'fromSeq=-1',
    'fromSeq=x',
    'fromSeq=1.5',
    'toSeq=',
    'toSeq=1e3',
    'fromSeq=5&toSeq=4',
    'fromSeq=0&fromSeq=1',
  ])('%s is refused', async query => {
    const { status, json } = await ask(`?${query}`)
    expect([status, json.error]).toEqual([400, 'validation_error'])
  })

  test('asks for the logs of the caller’s tenant only, and goes on where it has come to', async () => {
    asked.length = 0
    const walk = { next: 5, older: 0, head: 'h', ifAllLost: '', ifLastLost: 'l', erased: 2, unproven: 1 }
    next = { seq: 7, run: 3, to: 9, walk }
    const first = await ask('?fromSeq=2&toSeq=9')
    next = undefined
    expect(asked).toEqual([{ from: 2, to: 9, tenant: 'acme' }])
    const cursor = first.json.nextCursor as string
    const second = await ask(`?cursor=${cursor}`)
    expect(asked[1]).toEqual({ from: 7, place: { seq: 7, run: 3, to: 9, walk }, tenant: 'acme' })
    expect(second.json).not.toHaveProperty('nextCursor')
    for (const [query, name] of [
      [`cursor=${cursor}`, 'bob'],
      [`cursor=${cursor}&fromSeq=0`, 'alice'],
      [`cursor=${cursor.slice(0, -4)}`, 'alice'],
      ['cursor=e30', 'alice'],
      ['cursor=', 'alice'],
    ] as const) {
      const { status, json } = await ask(`?${query}`, name)
      expect([status, json.error], query).toEqual([400, 'validation_error'])
    }
  })

  test('needs audit:read', async () => {
    expect((await ask('', null)).status).toBe(401)
    const { status, json } = await ask('', 'reader')
    expect([status, json.details]).toEqual([403, { scopeRequired: 'audit:read' }])
  })
})
