import { createTrail } from '../../../src/audit/trail.js'
import { describe, expect, test } from 'vitest'
import { Sealer } from '../../../src/audit/sealer.js'
import { AuditVerifier } from '../../../src/audit/verify.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { Purger } from '../../../src/retention/purger.js'
import type { RetentionRules } from '../../../src/retention/rules.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import * as f from '../../contract/store/fixtures.js'
import { isThorough } from '../../support/thorough.js'
import { headOf, log, write, writeFork } from '../audit/chained-runs.js'
import { signer } from '../audit/signer.js'
import { Died, mortal } from './mortal.js'
import { emptyStores } from './stores.js'

const DAY = 86_400_000
const RULES: RetentionRules = { days: 7, tenants: {}, workflows: {} }
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** A host that purges, with a hand of its own on the store. */
async function purgerOn(store: Store, clock: ManualClock, hostId: string): Promise<() => Promise<number>> {
  const sealer = new Sealer({ store, clock, log: quiet, key: signer.key })
  const purger = new Purger({
    trail: createTrail({ store, clock }),
    store,
    clock,
    log: quiet,
    rules: RULES,
    seal: () => sealer.seal(),
    hostId: () => hostId,
  })
  return () => purger.purge()
}

/** Two families whose time is over, one with a fork that is younger, and one that is younger itself. */
async function world(store: Store) {
  const clock = new ManualClock()
  clock.skip(f.T0 + 30 * DAY - clock.now())
  const hostId = await f.host(store)
  const child = async (runId: string, parentRunId: string) => {
    const events = log(4)
    const stream = f.creation(runId, { events, status: 'completed', head: headOf(events) }, { parentRunId })
    await store.commit(f.commit(hostId, [stream]))
  }
  await write(store, hostId, { runId: 'run-a', events: log(700) })
  await child('run-a1', 'run-a')
  await child('run-a2', 'run-a1')
  await write(store, hostId, { runId: 'run-b', events: log(5) })
  await writeFork(store, hostId, { runId: 'run-c', source: 'run-b', fromSeq: 3, length: 6 })
  const families = [['run-a', 'run-a1', 'run-a2'], ['run-b'], ['run-c']]
  return { clock, hostId, families }
}

/** Of each family: all of it can be found, or none. */
async function visible(store: Store, families: readonly (readonly string[])[]): Promise<boolean[]> {
  return Promise.all(
    families.map(async family => {
      const found = await Promise.all(family.map(async runId => (await store.readRun('acme', runId)) !== undefined))
      expect(new Set(found).size, family.join()).toBe(1)
      return found[0]!
    }),
  )
}

const intact = async (store: Store) => {
  const found = await new AuditVerifier({ store, keys: async () => signer.trusted }).verifyAll()
  expect(found.anomalies).toEqual([])
  return found
}

/** How many calls lie between two deaths: every one is tried where that costs little, or when asked for. */
const STRIDES = { memory: 1, sqlite: 1, postgres: isThorough ? 1 : 2 }

describe.each(emptyStores())('on $name', ({ name, open: openStore }) => {
  const stride = STRIDES[name]

  test('whole families go when their time is over, a fork before what it shares; the audit knows them as purged', async () => {
    const store = await openStore()
    const { clock, hostId, families } = await world(store)
    const purge = await purgerOn(store, clock, hostId)
    expect(await purge()).toBe(0)
    expect(await visible(store, families)).toEqual([true, true, true])
    expect(await purge()).toBe(2)
    expect(await visible(store, families)).toEqual([false, true, false])
    for (const runId of families[0]!) expect(await store.readEvents(runId, 0)).toEqual([])
    expect(await purge()).toBe(1)
    expect(await visible(store, families)).toEqual([false, false, false])
    expect(await purge()).toBe(0)
    expect(await intact(store)).toMatchObject({ runs: 0, purged: 5 })
    await store.close()
  })

  test('S12: wherever a host dies, nothing is half gone for readers, and the next host finishes', {
    timeout: 120_000,
  }, async () => {
    let deaths = 0
    const sizes = new Set<number>()
    for (const when of ['before', 'after'] as const)
      for (let calls = 0; ; calls += stride) {
        const store = await openStore()
        const { clock, hostId, families } = await world(store)
        await (await purgerOn(store, clock, hostId))()
        const doomed = mortal(store, calls, when)
        const dying = await purgerOn(doomed.store, clock, hostId)
        await dying().catch(error => expect(error).toBeInstanceOf(Died))
        const isOver = !doomed.hasDied()
        deaths += Number(!isOver)
        await visible(store, families)
        await intact(store)
        sizes.add((await store.readEvents('run-a', 0)).length)
        const next = await purgerOn(store, clock, await f.host(store))
        clock.skip(DAY)
        await next()
        await next()
        expect(await visible(store, families)).toEqual([false, false, false])
        for (const runId of families.flat()) expect(await store.readEvents(runId, 0), runId).toEqual([])
        expect(await intact(store)).toMatchObject({ runs: 0, purged: 5 })
        await store.close()
        if (isOver) break
      }
    // Also in the middle of a log, whose 700 events go in two slices.
    expect([...sizes].sort()).toEqual([0, 200, 700])
    expect(deaths).toBeGreaterThanOrEqual(Math.ceil(21 / stride))
  })

  test('of two hosts that purge at once each family has one who marks it', async () => {
    const store = await openStore()
    const { clock, hostId, families } = await world(store)
    await (await purgerOn(store, clock, hostId))()
    const both = [await purgerOn(store, clock, hostId), await purgerOn(store, clock, await f.host(store))]
    const marked = await Promise.all(both.map(purge => purge()))
    clock.skip(DAY)
    for (const purge of both) marked.push(await purge())
    expect(marked.reduce((sum, one) => sum + one, 0)).toBe(families.length)
    expect(await visible(store, families)).toEqual([false, false, false])
    expect(await intact(store)).toMatchObject({ purged: 5 })
    await store.close()
  })

  test('S12: of two hosts that purge at once one dies, wherever: nothing is half gone, and the other finishes', {
    timeout: 120_000,
  }, async () => {
    let deaths = 0
    for (let calls = 0; ; calls += 3 * stride) {
      const store = await openStore()
      const { clock, hostId, families } = await world(store)
      await (await purgerOn(store, clock, hostId))()
      const doomed = mortal(store, calls, calls % 2 === 0 ? 'before' : 'after')
      const dying = await purgerOn(doomed.store, clock, hostId)
      const living = await purgerOn(store, clock, await f.host(store))
      await Promise.all([dying().catch(error => expect(error).toBeInstanceOf(Died)), living()])
      const isOver = !doomed.hasDied()
      deaths += Number(!isOver)
      await visible(store, families)
      await intact(store)
      clock.skip(DAY)
      for (let i = 0; i < 2; i += 1) await living()
      expect(await visible(store, families)).toEqual([false, false, false])
      for (const runId of families.flat()) expect(await store.readEvents(runId, 0), runId).toEqual([])
      expect(await intact(store)).toMatchObject({ runs: 0, purged: 5 })
      await store.close()
      if (isOver) break
    }
    expect(deaths).toBeGreaterThan(1)
  })
})

describe('what only looks like a purge is found', () => {
  const audited = async (over: (store: Store) => Partial<Store>) => {
    const store = new MemoryStore()
    const { clock, hostId } = await world(store)
    const purge = await purgerOn(store, clock, hostId)
    await purge()
    await purge()
    const seen = new Proxy(store, {
      get: (target, property) => {
        const value = Reflect.get(over(target), property) ?? Reflect.get(target, property)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const found = await new AuditVerifier({ store: seen, keys: async () => signer.trusted }).verifyAll()
    return found.anomalies.map(({ kind, runId, message }) => `${kind} ${runId}: ${message}`)
  }

  test('a run that is gone without a record', async () => {
    expect(await audited(() => ({ readPurged: async () => undefined }))).toContain('run-missing run-a: the run is gone')
  })

  test('a record that no checkpoint tells of, of a run whose events are gone', async () => {
    const found = await audited(store => ({
      readPurged: async (tenant, runId) => {
        const purged = await store.readPurged(tenant, runId)
        return purged && { ...purged, checkpoint: null }
      },
    }))
    expect(found).toContain('run-missing run-a: the run is gone, and no checkpoint tells that it was purged')
  })

  test('a record that names a checkpoint which says nothing of it', async () => {
    const found = await audited(store => ({
      readPurged: async (tenant, runId) => {
        const purged = await store.readPurged(tenant, runId)
        return purged && { ...purged, checkpoint: 0 }
      },
    }))
    expect(found).toContain('run-missing run-a: checkpoint 0, which should tell of its purge, does not')
  })

  test('a record of another end than was sealed', async () => {
    const found = await audited(store => ({
      readPurged: async (tenant, runId) => {
        const purged = await store.readPurged(tenant, runId)
        return purged && { ...purged, length: purged.length + 1 }
      },
    }))
    expect(found).toContain('run-missing run-a: the record of its purge is not as the run was sealed')
  })
})
