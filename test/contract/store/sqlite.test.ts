import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/engine/ports/event-log.js'
import { openStore } from '../../../src/store/open-store.js'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { writerUrl } from '../../../src/store/sqlite/driver.js'
import { initial } from '../../../src/store/sqlite/migrations/0001-initial.js'
import { openSqliteStore, SqliteStore, type SqliteStoreOptions } from '../../../src/store/sqlite/sqlite-store.js'
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

storeContract({
  name: 'sqlite',
  open: async () => {
    const store = await openSqliteStore(await freshPath())
    return { store, peer: async () => store }
  },
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

  it('refuses a database that is newer than the program', async () => {
    const path = await freshPath()
    await (await openSqliteStore(path)).close()
    const connection = new Connection(path, 0, [])
    connection.exec(`INSERT INTO migrations (version, name) VALUES (999, 'from the future')`)
    connection.close()
    await expect(openSqliteStore(path)).rejects.toThrow(
      /schema version 999, but this version of Assay knows only up to/,
    )
  })

  it('upgrades a database of the first version: its runs are read, extended, forked, and not sealed', async () => {
    const path = await freshPath()
    const old = new Connection(path, 0, [])
    old.exec(initial.sql)
    old.exec(`CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT);
      INSERT INTO migrations (version, name) VALUES (1, 'initial');
      INSERT INTO hosts VALUES ('h', 'name', 0, 'alive');`)
    const insertRun = (runId: string, types: string[], endedAt: number | null) => {
      old.run(
        `INSERT INTO runs VALUES (?, 'acme', 'wf', 'd', 'running', NULL, NULL, NULL, '[]', ?, 'h', 1, 0, NULL, 0, 1, ?)`,
        runId,
        types.length,
        endedAt,
      )
      for (const [seq, type] of types.entries()) {
        old.run(`INSERT INTO events VALUES (?, ?, ?, NULL, '{}', NULL, NULL, ?, 1, NULL)`, runId, seq, type, seq)
      }
    }
    insertRun('going', ['run.started', 'node.started'], null)
    insertRun('ended', ['run.started', 'run.completed'], 1)
    old.close()

    const store = await open(path)
    expect(await store.readEvents('going', 1)).toEqual([
      f.event(1, { nodeId: null, payload: '{}', cause: null, at: 1, salt: null, hash: '' }),
    ])
    expect(await store.readRun('acme', 'ended')).toMatchObject({ fork: null, head: '', checkpoint: null, endedAt: 1 })
    expect(await store.unsealedRuns(10)).toEqual([])
    const end = f.extension('going', 2, { events: [f.terminal(2)], head: 'chained' })
    expect((await store.commit(f.commit('h', [end]))).kind).toBe('committed')
    expect((await store.commit(f.commit('h', [f.fork('fork', 'ended', 1, f.events(1, 1))]))).kind).toBe('committed')
    expect(await store.readEvents('fork', 0)).toHaveLength(2)
    expect(await store.unsealedRuns(10)).toEqual([{ runId: 'going', length: 3, head: 'chained' }])
  })

  it('upgrades the effects of an older version: known ones stay known, and an abandoned one was a first attempt', async () => {
    const path = await freshPath()
    const old = new Connection(path, 0, [])
    old.exec(initial.sql)
    old.exec(`CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT);
      INSERT INTO migrations (version, name) VALUES (1, 'initial');
      INSERT INTO hosts VALUES ('h', 'name', 0, 'alive'), ('gone', 'other', 0, 'fenced');
      INSERT INTO runs VALUES
        ('going', 'acme', 'wf', 'd', 'running', NULL, NULL, NULL, '[]', 1, 'h', 1, 0, NULL, 0, 1, NULL);
      INSERT INTO invocations VALUES
        ('known', 'going', 'n1', 7, 'http', 'gone', 0, 'token', 0, '{"ok":true}'),
        ('same', 'going', 'n1', 8, 'http', 'gone', 0, 'token', 0, NULL),
        ('next', 'going', 'n1', 9, 'http', 'gone', 0, 'token', 1, NULL)`)
    old.close()

    const store = await open(path)
    expect(await store.readEffect('known')).toEqual({ ok: true })
    const claim = f.claim('h', { runId: 'going' })
    expect(await store.claimEffect({ ...claim, id: 'same' })).toEqual({ kind: 'claimed', again: true })
    expect(await store.claimEffect({ ...claim, id: 'next', attempt: 2 })).toEqual({ kind: 'claimed', again: false })
    await store.claimEffect({ ...claim, id: 'new', ordinal: '3.10' })
    const kept = raw(path).all('SELECT id, tenant, ordinal, attempt FROM invocations ORDER BY id')
    expect(kept.map(row => ({ ...row }))).toEqual([
      { id: 'known', tenant: 'acme', ordinal: '7', attempt: 1 },
      { id: 'new', tenant: 'acme', ordinal: '3.10', attempt: 1 },
      { id: 'next', tenant: 'acme', ordinal: '9', attempt: 2 },
      { id: 'same', tenant: 'acme', ordinal: '8', attempt: 1 },
    ])
  })

  it('looks for an answer in an index', async () => {
    const path = await freshPath()
    await open(path)
    const plan = raw(path).all(
      `EXPLAIN QUERY PLAN SELECT outcome FROM invocations WHERE tenant = 'a' AND cache_key = 'b'
        ORDER BY at DESC, id DESC LIMIT 1`,
    )
    expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining('USING INDEX invocations_answers')])
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
      const receipt = f.receipt({ key: `${i}`, body: 'x'.repeat(20_000), at: i })
      try {
        const result = await store.commit(f.commit(hostId, [f.creation(runId)], { receipt }))
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

    expect(await store.purgeReceipts(Number.MAX_SAFE_INTEGER)).toBe(acknowledged.length)
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
      const receipts = Array.from({ length: 5 }, () => store.claimReceipt(f.receipt({ state: 'pending' }), 0))
      for (const runId of await Promise.all(runs)) expect(await store.readEvents(runId, 0)).toHaveLength(2)
      for (const state of await Promise.all(effects)) expect(state).toEqual({ kind: 'claimed', again: false })
      for (const claim of await Promise.all(receipts)) expect(claim).toEqual({ claimed: true })
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
