import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { BroadcastChannel, Worker } from 'node:worker_threads'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/engine/ports/event-log.js'
import { openStore } from '../../../src/store/open-store.js'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { writerUrl } from '../../../src/store/sqlite/driver.js'
import { openSqliteStore, SqliteStore, type SqliteStoreOptions } from '../../../src/store/sqlite/sqlite-store.js'
import { SQL } from '../../../src/store/sqlite/statements.js'
import { storeContract } from './contract.js'
import * as f from './fixtures.js'

const folders: string[] = []
const freshPath = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-sqlite-'))
  folders.push(folder)
  return join(folder, 'assay.db')
}

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true })
})

/** A writer whose thread ends at its n-th batch: before it looks at it, or after the commit but before the answer. */
const mortalWriter = (workerData: unknown, when: 'before' | 'after', n: number): Worker =>
  new Worker(
    `const { parentPort } = require('node:worker_threads')
     const { on, postMessage } = parentPort
     let batches = 0
     const die = when => { if (when === '${when}' && batches === ${n}) process.exit(1) }
     parentPort.on = (name, listener) => on.call(parentPort, name, batch => {
       batches += batch === null ? 0 : 1
       die('before')
       listener(batch)
     })
     parentPort.postMessage = reply => { die('after'); postMessage.call(parentPort, reply) }
     import('${writerUrl()}')`,
    { eval: true, workerData },
  )

/** What the store under contract has run, here or in its writer. */
const executed = new Set<string>()
const told = new BroadcastChannel('assay-test-statements').unref()
told.onmessage = event => executed.add(String((event as MessageEvent).data))
for (const way of ['run', 'get', 'all'] as const) {
  const method = Connection.prototype[way] as (this: Connection, ...given: unknown[]) => never
  Connection.prototype[way] = function (sql: string, ...parameters: unknown[]) {
    executed.add(sql)
    return method.call(this, sql, ...parameters)
  }
}

/** A writer that tells which statements it runs, each once. */
const tellingWriter = (workerData: unknown): Worker =>
  new Worker(
    `const { BroadcastChannel } = require('node:worker_threads')
     const channel = new BroadcastChannel('assay-test-statements').unref()
     const told = new Set()
     import('${new URL('./connection.js', writerUrl())}').then(({ Connection }) => {
       for (const way of ['run', 'get', 'all']) {
         const method = Connection.prototype[way]
         Connection.prototype[way] = function (sql, ...parameters) {
           if (!told.has(sql)) channel.postMessage(sql)
           told.add(sql)
           return method.call(this, sql, ...parameters)
         }
       }
       return import('${writerUrl()}')
     })`,
    { eval: true, workerData },
  )

storeContract({
  name: 'sqlite',
  open: async () => {
    const store = await openSqliteStore(await freshPath(), { spawnWriter: tellingWriter })
    return { store, peer: async () => store }
  },
})

describe('sqlite statements', () => {
  it('are run by the contract above, every one', async () => {
    const left = () =>
      Object.entries(SQL).flatMap(([subject, statements]) =>
        Object.entries(statements).flatMap(([name, sql]) => (executed.has(sql) ? [] : [`${subject}.${name}`])),
      )
    // What writers tell arrives a little later than what they write.
    await expect.poll(left, { timeout: 20_000 }).toEqual([])
  })
})

describe('sqlite', () => {
  const toClose: { close(): unknown }[] = []
  afterEach(async () => {
    for (const one of toClose.splice(0)) await one.close()
  })
  const open = async (path: string, options?: SqliteStoreOptions): Promise<SqliteStore> => {
    const store = await openSqliteStore(path, options)
    toClose.push(store)
    return store
  }
  const raw = (path: string): Connection => {
    const connection = new Connection(path, 0, [])
    toClose.unshift(connection)
    return connection
  }

  it('groups commits that arrive while one is under way into one transaction', async () => {
    const store = await open(await freshPath())
    const hostId = await f.host(store)
    const before = store.counters
    await Promise.all(Array.from({ length: 200 }, () => f.created(store, hostId)))
    expect(store.counters.commits - before.commits).toBe(200)
    expect(store.counters.transactions - before.transactions).toBe(2)
  })

  it('S7 reads while a write transaction is open, and the write goes through afterwards', async () => {
    const path = await freshPath()
    const store = await open(path)
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId)
    const blocker = raw(path)
    blocker.exec('BEGIN IMMEDIATE')
    let written = false
    const write = store.commit(f.commit(hostId, [f.extension(runId, 2)])).then(() => {
      written = true
    })
    for (let i = 0; i < 1000; i += 1) expect(await store.readEvents(runId, 0)).toHaveLength(2)
    await store.ping()
    expect(written).toBe(false)
    blocker.exec('ROLLBACK')
    await write
    expect(await store.readEvents(runId, 0)).toHaveLength(3)
  })

  it('keeps everything over a reopen, a clean one or not', async () => {
    const path = await freshPath()
    const first = await openSqliteStore(path)
    const hostId = await f.host(first)
    const runId = await f.created(first, hostId)
    await first.close()
    await expect(first.readRun(null, runId)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(first.commit(f.commit(hostId, [f.extension(runId, 2)]))).rejects.toBeInstanceOf(StoreUnavailable)
    const second = await openStore(`sqlite:${path}`)
    toClose.push(second)
    expect(await second.readEvents(runId, 0)).toEqual(f.events(0, 2))
    expect(await second.commit(f.commit(hostId, [f.extension(runId, 2)]))).toEqual({ kind: 'committed' })
  })

  it('makes its files readable for the owner only', async () => {
    const path = await freshPath()
    const store = await open(path)
    await f.host(store)
    for (const suffix of ['', '-wal', '-shm']) expect((await stat(path + suffix)).mode & 0o777).toBe(0o600)
  })

  it.each([
    [
      'an answer',
      SQL.invocations.answer,
      /^SEARCH invocations USING INDEX invocations_answers \(tenant=\? AND cache_key=\?\)$/,
    ],
    ['runs', SQL.runs.list, /^SEARCH runs USING PRIMARY KEY \(run_id<\?\)$/],
    ['runs of a tenant', SQL.runs.listOfTenant, /^SEARCH runs USING INDEX runs_tenant \(tenant=\? AND run_id<\?\)$/],
    [
      'runs of a parent',
      SQL.runs.listOfParent,
      /^SEARCH runs USING INDEX runs_parent \(parent_run_id=\? AND run_id<\?\)$/,
    ],
    ['verdicts', SQL.gates.listVerdicts, /^SEARCH verdicts USING INDEX verdicts_newest \(tenant=\? AND at>\?\)$/],
    [
      'verdicts of a gate',
      SQL.gates.listVerdictsOfGate,
      /^SEARCH verdicts USING INDEX verdicts_of_gate \(tenant=\? AND gate_id=\? AND at>\?\)$/,
    ],
  ])('looks for %s in an index, newest first, and sorts nothing', async (_, sql, step) => {
    const path = await freshPath()
    await open(path)
    const plan = raw(path).all(`EXPLAIN QUERY PLAN ${sql}`)
    const [first, ...others] = plan.map(({ detail }) => String(detail))
    expect(first).toMatch(step)
    expect(others.filter(detail => detail.includes('TEMP B-TREE FOR ORDER BY'))).toEqual([])
  })

  it('S9 writes as much for a fork of 10,000 events as for one of 10', async () => {
    const path = await freshPath()
    const store = await open(path)
    const hostId = await f.host(store)
    const db = raw(path)
    const rows = () =>
      ['runs', 'events', 'prefixes'].map(table => db.get(`SELECT count(*) AS n FROM ${table}`)?.n as number)
    for (const length of [10, 10_000]) {
      const source = await f.created(store, hostId, { events: f.events(0, length) })
      const fork = f.fork(f.id('fork'), source, length, f.events(length, 1))
      const before = rows()
      expect((await store.commit(f.commit(hostId, [fork]))).kind).toBe('committed')
      expect(rows().map((n, i) => n - before[i]!)).toEqual([1, 1, 1])
      expect(await store.readEvents(fork.runId, 0)).toHaveLength(length + 1)
    }
  })

  it('S5 the database itself refuses what no fork may hold', async () => {
    const path = await freshPath()
    const store = await open(path)
    const hostId = await f.host(store)
    const source = await f.created(store, hostId, { events: [f.event(0), f.terminal(1)], status: 'completed' })
    const [open1, ended] = [f.id('fork'), f.id('fork')]
    await store.commit(f.commit(hostId, [f.fork(open1, source, 1), f.fork(ended, source, 2)]))
    const db = raw(path)
    const insert = (run: string, seq: number) => () =>
      db.exec(`INSERT INTO events (run_id, seq, type, payload, at, epoch) VALUES ('${run}', ${seq}, 'x', '{}', 0, 1)`)
    expect(insert(open1, 0)).toThrow(/dense/)
    expect(insert(open1, 2)).toThrow(/dense/)
    expect(insert(ended, 2)).toThrow(/after its terminal/)
    insert(open1, 1)()
  })

  it('S5 R-LOG-1 R-LOG-2 the database itself refuses what no log may hold', async () => {
    const path = await freshPath()
    const store = await open(path)
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId, { events: [f.event(0), f.terminal(1)], status: 'completed' })
    const running = await f.created(store, hostId)
    await store.putWorkflow({ tenant: null, workflowId: 'w', digest: 'd', definition: '{}', updatedAt: 0 })
    const db = raw(path)
    const insert =
      (run: string, seq: number, type: string, cause = 'NULL') =>
      () =>
        db.exec(`INSERT INTO events (run_id, seq, type, payload, cause, at, epoch)
               VALUES ('${run}', ${seq}, '${type}', '{}', ${cause}, 0, 1)`)
    expect(insert(runId, 2, 'node.started')).toThrow(/after its terminal/)
    expect(insert(runId, 2, 'run.failed')).toThrow(/after its terminal/)
    expect(insert(running, 3, 'node.started')).toThrow(/dense/)
    expect(insert(running, 1, 'node.started')).toThrow(/UNIQUE/)
    expect(insert(running, 2, 'node.started', '2')).toThrow(/CHECK/)
    expect(insert('no-such-run', 0, 'run.started')).toThrow(/FOREIGN KEY/)
    expect(() => db.exec(`UPDATE events SET type = 'run.failed' WHERE seq = 0`)).toThrow(/UNIQUE/)
    expect(() => db.exec(`UPDATE definitions SET definition = '[]'`)).toThrow(/never changes/)
    expect(() => db.exec(`UPDATE runs SET wake_at = 0, ended_at = 1`)).toThrow(/CHECK/)
    insert(running, 2, 'run.failed', '1')()
  })

  it('answers StoreUnavailable while the database is full, loses nothing it acknowledged, and recovers', async () => {
    const path = await freshPath()
    const store = await open(path, { maxBytes: 1_000_000 })
    const hostId = await f.host(store)
    const acknowledged: string[] = []
    let faults = 0
    const fill = async (i: number) => {
      const runId = f.id('run')
      const response = f.response({ key: `${i}`, body: 'x'.repeat(20_000), at: i })
      try {
        const result = await store.commit(f.commit(hostId, [f.creation(runId)], { response }))
        if (result.kind === 'committed') acknowledged.push(runId)
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailable)
        faults += 1
      }
    }
    for (let i = 0; faults < 5; i += 1) await Promise.all([fill(2 * i), fill(2 * i + 1)])
    expect(acknowledged.length).toBeGreaterThan(10)
    const stored = async () => (await store.listRuns({ tenant: null, limit: 10_000 })).map(run => run.runId)
    expect(new Set(await stored())).toEqual(new Set(acknowledged))

    expect(await store.purgeResponses(Number.MAX_SAFE_INTEGER)).toBe(acknowledged.length)
    acknowledged.push(await f.created(store, hostId))
    expect(new Set(await stored())).toEqual(new Set(acknowledged))
    for (const runId of acknowledged) expect(await store.readEvents(runId, 0)).toHaveLength(2)
    expect(raw(path).get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' })
  })

  it('does not write into a file that was moved away, nor start an empty one, and goes on when it is back', async () => {
    const path = await freshPath()
    const store = await open(path)
    const hostId = await f.host(store)
    await rename(path, `${path}.away`)
    await expect(f.created(store, hostId)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(f.created(store, hostId)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(stat(path)).rejects.toThrow(/ENOENT/)
    await rename(`${path}.away`, path)
    await f.created(store, hostId)
  })

  it('S4 survives the death of its writer, before or after the transaction: all is applied exactly once', async () => {
    const deaths: ('before' | 'after')[] = []
    const spawnWriter = (workerData: unknown) => {
      deaths.push(deaths.length % 2 === 0 ? 'before' : 'after')
      return mortalWriter(workerData, deaths.at(-1)!, 3)
    }
    const store = await open(await freshPath(), { spawnWriter })
    const hostId = await f.host(store)
    for (let round = 0; round < 20; round += 1) {
      const runs = Array.from({ length: 20 }, () => f.created(store, hostId))
      const effects = Array.from({ length: 5 }, () => store.claimEffect(f.claim(hostId)))
      const responses = Array.from({ length: 5 }, () => store.claimResponse(f.response({ state: 'pending' }), 0))
      for (const runId of await Promise.all(runs)) expect(await store.readEvents(runId, 0)).toHaveLength(2)
      for (const state of await Promise.all(effects)) expect(state).toEqual({ kind: 'claimed', again: false })
      for (const claim of await Promise.all(responses)) expect(claim).toEqual({ claimed: true })
    }
    expect(deaths.filter(when => when === 'before').length).toBeGreaterThan(5)
    expect(deaths.filter(when => when === 'after').length).toBeGreaterThan(5)
    expect(await store.listRuns({ tenant: null, limit: 10_000 })).toHaveLength(20 * 20)
  })

  it('gives up with StoreUnavailable when writers keep dying, and starts anew with the next write', async () => {
    let broken = false
    let current: Worker | undefined
    let spawned = 0
    const spawnWriter = (workerData: unknown) => {
      spawned += 1
      current = broken ? new Worker('process.exit(1)', { eval: true }) : new Worker(writerUrl(), { workerData })
      return current
    }
    const store = await open(await freshPath(), { spawnWriter })
    const hostId = await f.host(store)
    broken = true
    current?.postMessage(null)
    await once(current!, 'exit')
    await expect(f.created(store, hostId)).rejects.toThrow(/died twice/)
    expect(spawned).toBe(3)
    broken = false
    await f.created(store, hostId)
    expect(spawned).toBe(4)
  })

  it('a claim whose answer was lost is taken up by the next attempt, which counts as begun', async () => {
    let deaths = 0
    let broken = false
    const spawnWriter = (workerData: unknown) => {
      deaths += broken ? 1 : 0
      return broken ? mortalWriter(workerData, 'after', 1) : new Worker(writerUrl(), { workerData })
    }
    const path = await freshPath()
    await (await openSqliteStore(path)).close()
    broken = true
    const store = new SqliteStore(path, { spawnWriter })
    toClose.push(store)
    const peer = await open(path)
    const [hostId, other] = [await f.host(peer), await f.host(peer)]
    const claim = f.claim(hostId)
    await expect(store.claimEffect(claim)).rejects.toThrow(/died twice/)
    expect(deaths).toBe(2)
    broken = false
    const fresh = { kind: 'claimed', again: false }
    expect(await store.claimEffect({ ...claim, attempt: 2 })).toEqual(fresh)
    await peer.releaseHost(hostId)
    const taken = await peer.claimEffect({ ...claim, hostId: other, attempt: 2 })
    expect(taken).toEqual({ kind: 'claimed', again: true })
  })

  it('S1 loses no acknowledged commit when the process is killed', async () => {
    const path = await freshPath()
    await (await openSqliteStore(path)).close()
    let acknowledged = 0
    for (let round = 0; round < 5; round += 1) {
      const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/commit-forever.mjs'), path])
      const lines: string[] = []
      createInterface(child.stdout).on('line', line => lines.push(line))
      await f.eventually('the child has committed something', async () => lines.length > 50 + 40 * round)
      child.kill('SIGKILL')
      const [, signal] = await once(child, 'close')
      expect(signal).toBe('SIGKILL')
      const store = await openSqliteStore(path)
      for (const runId of lines) expect(await store.readEvents(runId, 0)).toHaveLength(4)
      acknowledged += lines.length
      await store.close()
    }
    expect(acknowledged).toBeGreaterThan(250)
    expect(raw(path).get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' })
  })
})

describe('openStore', () => {
  it('refuses what it does not know', async () => {
    await expect(openStore('mysql://x')).rejects.toThrow(/unknown database "mysql:"/)
    await expect(openStore('sqlite:')).rejects.toThrow(/path/)
    await expect(openStore('sqlite::memory:')).rejects.toThrow(/memory:/)
  })
})
