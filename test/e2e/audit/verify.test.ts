import { generateKeyPairSync, sign } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { signCheckpoint } from '../../../src/audit/checkpoint.js'
import { Sealer } from '../../../src/audit/sealer.js'
import type { SigningKey } from '../../../src/audit/signing-key.js'
import { keyIdOf } from '../../../src/audit/signing-key.js'
import { AuditVerifier } from '../../../src/audit/verify.js'
import type { AuditPlace, AuditReport } from '../../../src/engine/api.js'
import type { Checkpoint } from '../../../src/engine/ports/audit.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import * as f from '../../contract/store/fixtures.js'
import { chained, headOf, log, write } from './chained-runs.js'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const key: SigningKey = {
  keyId: keyIdOf(publicKey),
  sign: text => sign(null, Buffer.from(text), privateKey).toString('base64url'),
}
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

let store: MemoryStore
let hostId: string
let verifier: AuditVerifier
const keys = new Map([[key.keyId, publicKey]])
const seal = () => new Sealer({ store, clock: new ManualClock(), log: quiet, key }).seal()

beforeEach(async () => {
  store = new MemoryStore()
  hostId = await f.host(store)
  verifier = new AuditVerifier({ store, keys: async () => keys })
})

const sealRuns = async (count: number) => {
  for (let i = 0; i < count; i += 1) {
    await write(store, hostId, { runId: `run-${i}`, events: log(3) })
    await seal()
  }
}

describe('verify', () => {
  test('of nothing finds nothing', async () => {
    expect(await verifier.verify({ from: 0 })).toEqual({
      fromSeq: 0,
      toSeq: 0,
      chainValid: true,
      checkpointsValid: true,
      checkpoints: [],
      anomalies: [],
    })
  })

  test('R-REST-22: covers the range asked for, both ends included, without the runs', async () => {
    await sealRuns(45)
    const report = await verifier.verify({ from: 3, to: 42 })
    expect(report).toMatchObject({ fromSeq: 3, toSeq: 42, chainValid: true, checkpointsValid: true, anomalies: [] })
    expect(report.checkpoints.map(({ seq }) => seq)).toEqual(Array.from({ length: 40 }, (_, i) => i + 3))
    expect(report.checkpoints.some(checkpoint => 'runs' in checkpoint)).toBe(false)
    expect((await verifier.verify({ from: 40 })).toSeq).toBe(44)
    expect((await verifier.verify({ from: 40, to: 1000 })).checkpoints).toHaveLength(5)
    expect((await verifier.verify({ from: 45 })).checkpoints).toEqual([])
  })

  test('tells an unknown key from a broken chain', async () => {
    await sealRuns(2)
    const report = await new AuditVerifier({ store, keys: async () => new Map() }).verify({ from: 0 })
    expect(report).toMatchObject({ chainValid: true, checkpointsValid: false })
    expect(report.anomalies.map(({ kind, checkpoint }) => [kind, checkpoint])).toEqual([
      ['key-unknown', 0],
      ['key-unknown', 1],
    ])
  })

  test.each([
    [{ from: 0 }, [2]],
    [{ from: 2, to: 2 }, [2]],
    [{ from: 0, to: 2 }, [2]],
    [{ from: 3 }, [2]],
    [{ from: 4 }, []],
  ])('%j names checkpoint 2 when it is gone and in reach', async (range, missing) => {
    await sealRuns(6)
    const list = store.listCheckpoints.bind(store)
    store.listCheckpoints = async (from, limit) =>
      (await list(from, limit + 1)).filter(({ seq }) => seq !== 2).slice(0, limit)
    const { anomalies, chainValid } = await verifier.verify(range)
    expect(anomalies.map(({ kind, checkpoint }) => [kind, checkpoint])).toEqual(
      missing.map(seq => ['checkpoint-missing', seq]),
    )
    expect(chainValid).toBe(missing.length === 0)
  })

  test('reads a log in pages', async () => {
    await write(store, hostId, { runId: 'long', events: log(2500) })
    await seal()
    const limits: (number | undefined)[] = []
    const read = store.readEvents.bind(store)
    store.readEvents = (runId, from, limit) => {
      limits.push(limit)
      return read(runId, from, limit)
    }
    expect(await verifier.verifyAll()).toMatchObject({ runs: 1, events: 2500, anomalies: [] })
    // Then whether there is more, and how it began: a run with gates says so there.
    expect(limits).toEqual([1000, 1000, 500, 1, 1])
  })
})

describe('verify, a slice at a time', () => {
  /** All slices, and how many events each has read. */
  async function slices(range: { readonly tenant?: string } = {}) {
    const read = store.readEvents.bind(store)
    let events = 0
    store.readEvents = async (runId, from, limit) => {
      const page = await read(runId, from, limit)
      events += page.length
      return page
    }
    const reports: AuditReport[] = []
    const reads: number[] = []
    for (let place: AuditPlace | undefined; ; ) {
      events = 0
      const report = await verifier.verify({ from: 0, ...range, ...(place && { place }) })
      reports.push(report)
      reads.push(events)
      place = report.next
      if (place === undefined) break
    }
    store.readEvents = read
    return { reports, reads }
  }

  test('follows a long log over several slices, each of bounded work, and comes to the same', async () => {
    await write(store, hostId, { runId: 'long', events: log(12_500) })
    await write(store, hostId, { runId: 'short', events: log(3) })
    await seal()
    const whole = await slices()
    // What lies beyond the end, and how the run began, is looked up at the end.
    expect(Math.max(...whole.reads)).toBeLessThanOrEqual(5_002)
    expect(whole.reports.length).toBeGreaterThanOrEqual(3)
    expect(whole.reports.flatMap(({ checkpoints }) => checkpoints)).toHaveLength(1)
    expect(whole.reports.flatMap(({ anomalies }) => anomalies)).toEqual([])
    expect(whole.reports.every(({ chainValid, checkpointsValid }) => chainValid && checkpointsValid)).toBe(true)
  })

  test('finds what was changed in whichever slice it is, once', async () => {
    const events = log(12_500)
    await write(store, hostId, { runId: 'long', events })
    await seal()
    const read = store.readEvents.bind(store)
    store.readEvents = async (runId, from, limit) =>
      (await read(runId, from, limit)).map(event => (event.sequence === 9_000 ? { ...event, payload: '{}' } : event))
    const { reports } = await slices()
    const found = reports.flatMap(({ anomalies }) => anomalies)
    expect(found).toMatchObject([{ kind: 'event-changed', runId: 'long', sequence: 9_000 }])
  })

  test('goes on between runs and between checkpoints', async () => {
    for (let i = 0; i < 12; i += 1) await write(store, hostId, { runId: `run-${i}`, events: log(1_500) })
    await seal()
    await sealRunsNamed('later', 4, 1_500)
    const { reports, reads } = await slices()
    expect(Math.max(...reads)).toBeLessThanOrEqual(5_000 + 2 * 4)
    expect(reports.flatMap(({ checkpoints }) => checkpoints.map(({ seq }) => seq))).toEqual([0, 1, 2, 3, 4])
    expect(reads.reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(16 * 1_500)
    expect(reports.flatMap(({ anomalies }) => anomalies)).toEqual([])
  })

  test('of one tenant reads no log of another', async () => {
    await write(store, hostId, { runId: 'mine', events: log(4) })
    await seal()
    const all = await slices({ tenant: 'somebody else' })
    expect(all.reads).toEqual([0])
    expect(all.reports[0]).toMatchObject({ checkpointsValid: true, chainValid: true })
    expect(all.reports[0]?.checkpoints).toHaveLength(1)
    expect((await slices({ tenant: 'acme' })).reads[0]).toBeGreaterThanOrEqual(4)
  })

  test('of one tenant looks up no more runs of others than a slice may, one checkpoint at a time', async () => {
    for (let i = 0; i < 6_000; i += 1)
      await write(store, hostId, { runId: `run-${i}`, events: log(1), tenant: 'others' })
    await seal()
    const [readRun, list] = [store.readRun.bind(store), store.listCheckpoints.bind(store)]
    let work = 0
    const pages: number[] = []
    store.readRun = (tenant, runId) => {
      work += 1
      return readRun(tenant, runId)
    }
    store.listCheckpoints = async (from, limit) => {
      pages.push(limit)
      return list(from, limit)
    }
    let seen = 0
    for (let place: AuditPlace | undefined; ; ) {
      work = 0
      const report = await verifier.verify({ from: 0, tenant: 'mine', ...(place && { place }) })
      seen += work
      // What a checkpoint lists is hashed: 500 runs are worth 50 that are looked up. What is begun with one is read.
      expect(work + 51 * report.checkpoints.length).toBeLessThanOrEqual(5_000 + 50)
      place = report.next
      if (place === undefined) break
    }
    expect(seen).toBe(6_000)
    expect(new Set(pages)).toEqual(new Set([1]))
  })

  test('looks at no more checkpoints in one slice than it may, though they cover no run', async () => {
    const all: Checkpoint[] = []
    for (let i = 0; i < 6_000; i += 1) all.push(signCheckpoint(all.at(-1), i, { runs: [], purged: [] }, key))
    store.listCheckpoints = async (from, limit) => all.slice(from, from + limit)
    store.latestCheckpoint = async () => all.at(-1)
    const { reports } = await slices()
    expect(reports.map(({ checkpoints }) => checkpoints.length)).toEqual([5_000, 1_000])
    expect(reports.flatMap(({ anomalies }) => anomalies)).toEqual([])
  })

  test('lets everything else have its turn after each hundred runs, though the store never waits', async () => {
    for (let i = 0; i < 500; i += 1) await write(store, hostId, { runId: `run-${i}`, events: log(1), tenant: 'others' })
    await seal()
    let turns = 0
    let isOver = false
    const count = () => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await verifier.verify({ from: 0, tenant: 'mine' })
    isOver = true
    expect(turns).toBeGreaterThanOrEqual(5)
  })

  async function sealRunsNamed(name: string, count: number, length: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      await write(store, hostId, { runId: `${name}-${i}`, events: log(length) })
      await seal()
    }
  }
})

describe('runs that no checkpoint covers', () => {
  test('are checked by their chain and record', async () => {
    await write(store, hostId, { runId: 'good', events: log(4, 'open') })
    const changed = log(4, 'open').with(2, { ...log(4, 'open')[2]!, payload: '{}' })
    await write(store, hostId, { runId: 'bad', events: changed })
    const { anomalies, runs } = await verifier.verifyRuns(['good', 'bad', 'none'])
    expect(runs).toBe(2)
    expect(anomalies).toEqual([
      { kind: 'event-changed', runId: 'bad', sequence: 2, message: 'event 2 was changed' },
      { kind: 'run-missing', runId: 'none', message: 'there is no such run' },
    ])
  })

  test('may grow while they are checked', async () => {
    const events = log(4, 'open')
    await write(store, hostId, { runId: 'grows', events })
    const read = store.readEvents.bind(store)
    store.readEvents = async (runId, from, limit) => {
      store.readEvents = read
      const more = chained([f.event(4)], headOf(events))
      await store.commit(f.commit(hostId, [f.extension('grows', 4, { events: more, head: headOf(more) })]))
      return read(runId, from, limit)
    }
    expect(await verifier.verifyRuns(['grows'])).toMatchObject({ events: 4, anomalies: [] })
    expect(await verifier.verifyRuns(['grows'])).toMatchObject({ events: 5, anomalies: [] })
  })

  test('that are longer than their record are named', async () => {
    await write(store, hostId, { runId: 'long', events: log(4, 'open') })
    const row = store.readRun.bind(store)
    const shorter = { length: 3, head: log(4, 'open')[2]!.hash }
    store.readRun = async (tenant, runId) => ({ ...(await row(tenant, runId))!, ...shorter })
    expect((await verifier.verifyRuns(['long'])).anomalies).toMatchObject([{ kind: 'event-extra', sequence: 3 }])
  })
})
