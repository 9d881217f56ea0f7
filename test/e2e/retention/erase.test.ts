import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { erasureMarks, signErasure } from '../../../src/audit/erasure-mark.js'
import { Sealer } from '../../../src/audit/sealer.js'
import { AuditVerifier } from '../../../src/audit/verify.js'
import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import type { Erasure, ErasureMark } from '../../../src/engine/ports/tenants.js'
import { ERASED, erasedContent } from '../../../src/engine/log/chain.js'
import { Eraser } from '../../../src/retention/eraser.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import * as f from '../../contract/store/fixtures.js'
import { isThorough } from '../../support/thorough.js'
import { chained, write, writeFork } from '../audit/chained-runs.js'
import { signer } from '../audit/signer.js'
import { Died, mortal } from './mortal.js'
import { emptyStores } from './stores.js'

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }
const CANARY = 'CNRY-of-acme'
const PARTS = ['acme', 'acme~test']
const MARKS = PARTS.map(part => signErasure(part, f.T0, signer.key))
const MAKER = erasureMarks(signer.key, async () => signer.trusted)

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-erase-'))
afterAll(() => rmSync(scratch, { recursive: true }))
/** How many calls lie between two deaths: every one is tried where that costs little, or when asked for. */
const STRIDES = { memory: 1, sqlite: isThorough ? 1 : 5, postgres: isThorough ? 1 : 5 }

const eraserOn = (store: Store, clock: ManualClock, hostId: string): Eraser =>
  new Eraser({ store, clock, log: quiet, hostId: () => hostId, configured: ['default'], marks: MAKER })

const logOf = (length: number, said: string): StoredEvent[] =>
  chained(
    Array.from({ length }, (_, i) =>
      f.event(i, {
        type: i === length - 1 ? 'run.completed' : i === 0 ? 'run.started' : 'node.started',
        payload: `{"text":"${said} payload ${i}"}`,
        secret: `{"kept":"${said} secret ${i}"}`,
        input: `{"told":"${said} input ${i}"}`,
      }),
    ),
  )

/** A long run with a fork, one that is test data, one of the old unsalted form, and the run of another tenant. */
async function world(store: Store) {
  const clock = new ManualClock()
  const hostId = await f.host(store)
  await write(store, hostId, { runId: 'run-a', events: logOf(700, CANARY) })
  await writeFork(store, hostId, { runId: 'run-b', source: 'run-a', fromSeq: 3, length: 6 })
  await write(store, hostId, { runId: 'run-c', events: logOf(3, CANARY), tenant: 'acme~test' })
  const old = chained(logOf(3, CANARY).map(event => ({ ...event, salt: null })))
  await write(store, hostId, { runId: 'run-d', events: old })
  await write(store, hostId, { runId: 'run-x', events: logOf(5, 'rival'), tenant: 'rival' })
  await store.putWorkflow({ tenant: 'acme', workflowId: 'wf', digest: 'own', definition: `"${CANARY}"`, updatedAt: 1 })
  await store.putStandard({ tenant: 'acme', kind: 'gate', id: 'g', hash: 'h', body: `"${CANARY}"`, updatedAt: 1 })
  await store.claimResponse(f.response({ body: `"${CANARY}"` }), f.T0)
  await store.putWebhook(f.webhook({ secret: CANARY }))
  const effect = f.claim(hostId, { runId: 'run-a' })
  await store.claimEffect(effect)
  await store.finishEffect(effect.id, hostId, { said: CANARY })
  await store.putKey(f.apiKey({ principal: CANARY }))
  await store.putDataKey('acme', CANARY)
  await new Sealer({ store, clock, log: quiet, key: signer.key }).seal()
  const others = JSON.stringify(await store.readEvents('run-x', 0))
  return { clock, hostId, others }
}

const verified = (store: Store) => new AuditVerifier({ store, keys: async () => signer.trusted }).verifyAll()

/** Everything is erased, the other tenant is untouched, and the audit says so. */
async function expectErased(store: Store, others: string): Promise<void> {
  for (const runId of ['run-a', 'run-b', 'run-c', 'run-d'])
    expect(JSON.stringify(await store.readEvents(runId, 0)), runId).not.toContain('CNRY')
  expect(JSON.stringify(await store.readEvents('run-x', 0))).toBe(others)
  const found = await verified(store)
  expect(found).toMatchObject({ runs: 5, erased: 4, unproven: 3, older: 0, anomalies: [] })
  expect((await store.readErasure('acme'))?.erasedAt).not.toBeNull()
}

describe.each(emptyStores())('on $name', ({ name, open: openStore }) => {
  const stride = STRIDES[name]

  test('a tenant is erased, and what is left of it is intact', async () => {
    const store = await openStore()
    const { clock, hostId, others } = await world(store)
    expect(await verified(store)).toMatchObject({ runs: 5, erased: 0, anomalies: [] })
    const eraser = eraserOn(store, clock, hostId)
    expect(await eraser.find(PARTS)).toEqual({ state: 'active' })
    expect(await eraser.erase(PARTS)).toMatchObject({ ok: true, value: { state: 'erasing' } })
    await eraser.work()
    expect(await eraser.find(PARTS)).toMatchObject({ state: 'erased' })
    expect(await eraser.erase(PARTS)).toMatchObject({ ok: true, value: { state: 'erased' } })
    await eraser.stop()
    await expectErased(store, others)
    await store.close()
  })

  test('S14: wherever a host dies, the log verifies and the next host finishes', { timeout: 120_000 }, async () => {
    let deaths = 0
    const sizes = new Set<number>()
    for (const when of ['before', 'after'] as const)
      for (let calls = 0; ; calls += stride) {
        const store = await openStore()
        const { clock, hostId, others } = await world(store)
        await store.eraseTenants(MARKS)
        const doomed = mortal(store, calls, when)
        await eraserOn(doomed.store, clock, hostId)
          .work()
          .catch(error => expect(error).toBeInstanceOf(Died))
        const isOver = !doomed.hasDied()
        deaths += Number(!isOver)
        expect((await verified(store)).anomalies).toEqual([])
        sizes.add((await store.readEvents('run-a', 0)).filter(({ erased }) => erased !== null).length)
        clock.skip(60_000)
        await eraserOn(store, clock, await f.host(store)).work()
        await expectErased(store, others)
        await store.close()
        if (isOver) break
      }
    // Also in the middle of a log, whose 700 events go in two slices.
    expect([...sizes].sort()).toEqual([0, 500, 700])
    expect(deaths).toBeGreaterThanOrEqual(40 / stride)
  })

  test('two hosts that erase at once come to the same end', async () => {
    const store = await openStore()
    const { clock, hostId, others } = await world(store)
    await store.eraseTenants(MARKS)
    const both = [eraserOn(store, clock, hostId), eraserOn(store, clock, await f.host(store))]
    await Promise.all(both.map(eraser => eraser.work()))
    await expectErased(store, others)
    await store.close()
  })
})

/** All rows of all tables, as text. */
function rowsIn(db: Connection): string {
  const tables = db.all(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
  return JSON.stringify(tables.map(({ name }) => db.all(`SELECT * FROM "${name}"`)))
}

test('no row of the database holds what the tenant said, and after VACUUM no byte of its file does', async () => {
  const file = path.join(scratch, 'canary.db')
  const store = await openSqliteStore(file)
  const { clock, hostId } = await world(store)
  const db = new Connection(file, 5_000, [])
  expect(rowsIn(db).split(CANARY).length).toBeGreaterThan(2_000)
  await store.eraseTenants(MARKS)
  await eraserOn(store, clock, hostId).work()
  await store.close()
  const rows = rowsIn(db)
  expect(rows).not.toContain('CNRY')
  for (let i = 0; i < 5; i += 1) expect(rows).toContain(`rival payload ${i}`)
  db.exec('VACUUM')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  expect(readFileSync(file).includes('CNRY')).toBe(false)
  db.close()
})

describe('what is not to be erased', () => {
  test('a tenant with open runs, that of the configured key, and one nobody knows', async () => {
    const store = new MemoryStore()
    const { clock, hostId } = await world(store)
    await f.created(store, hostId, {}, { tenant: 'acme~test' })
    const eraser = eraserOn(store, clock, hostId)
    const refusalOf = async (...parts: string[]) => {
      const answer = await eraser.erase(parts)
      return answer.ok || !('refusal' in answer) ? undefined : answer.refusal
    }
    expect(await refusalOf(...PARTS)).toMatchObject({ code: 'tenant_in_use', details: { openRuns: 1 } })
    expect(await refusalOf('default', 'default~test')).toMatchObject({ code: 'tenant_in_use' })
    expect(await refusalOf('nobody')).toMatchObject({ code: 'not_found' })
    expect(await store.readErasure('acme')).toBeUndefined()
    expect(await store.readErasure('nobody')).toBeUndefined()
  })
})

describe('what only looks like an erasure is found', () => {
  const audited = async (tamper: (event: StoredEvent) => Partial<StoredEvent>, erased = true) => {
    const store = new MemoryStore()
    const { clock, hostId } = await world(store)
    if (erased) {
      await store.eraseTenants(MARKS)
      await eraserOn(store, clock, hostId).work()
    }
    const seen = new Proxy(store, {
      get: (target, property) => {
        const value = Reflect.get(target, property)
        if (property !== 'readEvents') return typeof value === 'function' ? value.bind(target) : value
        return async (...asked: Parameters<Store['readEvents']>) =>
          (await target.readEvents(...asked)).map(event =>
            asked[0] === 'run-c' && event.sequence === 1 ? { ...event, ...tamper(event) } : event,
          )
      },
    })
    const found = await new AuditVerifier({ store: seen, keys: async () => signer.trusted }).verifyAll()
    return found.anomalies.map(({ kind, runId, sequence }) => `${kind} ${runId} ${sequence}`)
  }

  test.each<[string, Partial<StoredEvent>]>([
    ['another type', { type: 'node.completed' }],
    ['another time', { at: 7 }],
    ['another node', { nodeId: 'n2' }],
    ['content put back', { payload: '{"text":"made up"}' }],
    ['a secret put back', { secret: '{}' }],
    [
      'digests that are not those of the content',
      { erased: `{"payload":"${'A'.repeat(43)}","secret":null,"input":null}` },
    ],
    ['no digests', { erased: '{}' }],
    ['no mark', { erased: null }],
    ['another hash', { hash: `2.${'A'.repeat(43)}` }],
  ])('%s', async (_what, change) => {
    expect(await audited(() => change)).toEqual(['event-changed run-c 1'])
  })

  test('an event that was erased although its tenant was not', async () => {
    const found = await audited(event => ({ ...ERASED, erased: erasedContent(event) }), false)
    expect(found).toEqual(['content-missing run-c undefined'])
  })
})

describe('an erasure that nobody asked for', () => {
  const unsigned = { keyId: null, signature: null } as const
  const [asked] = MARKS as [ErasureMark, ErasureMark]
  const FORGED: readonly [string, Partial<Erasure>][] = [
    ['a row without a signature', unsigned],
    [
      'a signature that is made up',
      { keyId: signer.key.keyId, signature: asked.signature.replace(/^./, first => (first === 'A' ? 'B' : 'A')) },
    ],
    ['the signature of another tenant’s erasure', signErasure('rival', f.T0, signer.key)],
    ['the signature of another moment', { ...signErasure('acme', f.T0 + 1, signer.key), askedAt: f.T0 }],
    ['the signature of a checkpoint', { keyId: signer.key.keyId, signature: signer.key.sign('hash') }],
  ]

  /** Erased by the host itself, and then the row as somebody has put it there. */
  async function forged(mark: Partial<Erasure>, isErased: boolean) {
    const store = new MemoryStore()
    const { clock, hostId } = await world(store)
    await store.eraseTenants(MARKS)
    if (isErased) await eraserOn(store, clock, hostId).work()
    const seen = new Proxy(store, {
      get: (target, property) => {
        const value = Reflect.get(target, property)
        if (property !== 'readErasure') return typeof value === 'function' ? value.bind(target) : value
        return async (tenant: string) => {
          const erasure = await target.readErasure(tenant)
          return tenant === 'acme' && erasure ? { ...erasure, ...mark, tenant } : erasure
        }
      },
    })
    return { store: seen as Store, clock, hostId }
  }

  test.each(FORGED)('is named, whatever is gone: %s', async (_what, mark) => {
    const { store } = await forged(mark, true)
    const { anomalies } = await verified(store)
    expect(anomalies.map(({ kind, runId }) => `${kind} ${runId}`).sort()).toEqual(
      ['run-a', 'run-b', 'run-d'].map(runId => `erasure-forged ${runId}`),
    )
    expect(anomalies[0]?.message).toMatch(/^the content of \d+ events is gone, but the mark of its tenant’s erasure /)
  })

  test.each(FORGED)('is named before anything is gone, and leads to nothing: %s', async (_what, mark) => {
    const { store, clock, hostId } = await forged(mark, false)
    await eraserOn(store, clock, hostId).work()
    expect(JSON.stringify(await store.readEvents('run-a', 0))).toContain(CANARY)
    expect(JSON.stringify(await store.readEvents('run-c', 0))).not.toContain(CANARY)
    const { anomalies } = await verified(store)
    expect(anomalies.filter(({ kind }) => kind === 'erasure-forged').map(({ runId }) => runId)).toHaveLength(3)
  })

  test('one that another host signed, whose key is not known here, is named as that', async () => {
    const { store } = await forged({ keyId: 'somebody', signature: asked.signature }, true)
    const { anomalies } = await verified(store)
    expect(anomalies.map(({ kind }) => kind)).toEqual(Array(3).fill('key-unknown'))
  })

  test('asking for it again signs what was not signed, and leaves a good mark as it is', async () => {
    const store = new MemoryStore()
    const { clock, hostId, others } = await world(store)
    const eraser = eraserOn(store, clock, hostId)
    await store.eraseTenants([{ ...asked, signature: 'made up' }])
    expect(await eraser.erase(PARTS)).toMatchObject({ ok: true })
    await eraser.work()
    await expectErased(store, others)
    const first = await store.readErasure('acme')
    clock.skip(1_000)
    expect(await eraser.erase(PARTS)).toMatchObject({ ok: true, value: { state: 'erased' } })
    expect(await store.readErasure('acme')).toEqual(first)
    await eraser.stop()
  })
})
