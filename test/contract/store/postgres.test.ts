import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailable, UnverifiedMerge } from '../../../src/engine/ports/event-log.js'
import { openStore } from '../../../src/store/open-store.js'
import { MIGRATIONS } from '../../../src/store/postgres/migrations/index.js'
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/postgres-store.js'
import { HINTS, MIGRATE, PROBE, SQL } from '../../../src/store/postgres/statements.js'
import { startPostgres, type TestPostgres } from '../../support/postgres.js'
import { TcpProxy } from '../../support/tcp-proxy.js'
import { storeContract } from './contract.js'
import * as f from './fixtures.js'
import * as g from './gate-fixtures.js'
import { type Attack, MERGE_ATTACKS } from './merge-attacks.js'

let server: TestPostgres
let database: string
let schemas = 0

/** The texts of everything that was sent, with `assay` for the schema of each. */
const sent = new Set<string>()
const { query } = pg.Client.prototype

beforeAll(async () => {
  pg.Client.prototype.query = function (this: pg.Client, ...values: [{ text: string } | string]) {
    const [first] = values
    const text = typeof first === 'string' ? first : first.text
    sent.add(text.replace(/\bcontract_\d+\.(?=[a-z_])/g, 'assay.'))
    return Reflect.apply(query, this, values)
  }
  server = await startPostgres()
  database = await server.createDatabase()
})

afterAll(async () => {
  pg.Client.prototype.query = query
  await server.stop()
})

storeContract({
  name: 'postgres',
  open: async () => {
    schemas += 1
    const options = { schema: `contract_${schemas}` }
    return { store: await openPostgresStore(database, options), peer: () => openPostgresStore(database, options) }
  },
})

describe('postgres', () => {
  let url: string
  const toClose: { close(): Promise<void> }[] = []
  beforeEach(async () => {
    url = await server.createDatabase()
  })
  afterEach(async () => {
    for (const one of toClose.splice(0)) await one.close()
  })
  const closing = <T extends { close(): Promise<void> }>(one: T): T => {
    toClose.unshift(one)
    return one
  }
  const open = async (to = url, options: PostgresStoreOptions = {}) => closing(await openPostgresStore(to, options))
  const proxied = async () => {
    const proxy = closing(await TcpProxy.start(server.port))
    return { proxy, through: url.replace(`:${server.port}/`, `:${proxy.port}/`) }
  }
  const sql = async (text: string) => {
    const client = new pg.Client({ connectionString: url, options: '-c search_path=assay' })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  it('shares calls between commits that arrive together', async () => {
    const store = await open()
    const hostId = await f.host(store)
    await Promise.all(Array.from({ length: 200 }, () => f.created(store, hostId)))
    expect(store.counters.commits).toBe(200)
    expect(store.counters.transactions).toBeLessThan(10)
  })

  it('S13 adds up what tenants have, again and again, without changing it', async () => {
    const store = await open()
    const hostId = await f.host(store)
    for (let i = 1; i <= 3; i += 1) {
      await f.created(store, hostId)
      const before = await store.usageOf('acme')
      expect(before.activeRuns).toBe(i)
      await sql('SELECT assay.fold_usage()')
      expect(await sql('SELECT 1 FROM usage_changes')).toEqual([])
      expect(await store.usageOf('acme')).toEqual(before)
    }
  })

  it('keeps everything over a reopen', async () => {
    const first = await openPostgresStore(url)
    const hostId = await f.host(first)
    const runId = await f.created(first, hostId)
    await first.close()
    await expect(first.readRun(null, runId)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(first.commit(f.commit(hostId, [f.extension(runId, 2)]))).rejects.toBeInstanceOf(StoreUnavailable)
    const second = closing(await openStore(url.replace('postgres:', 'postgresql:')))
    expect(await second.readEvents(runId, 0)).toEqual(f.events(0, 2))
    expect(await second.commit(f.commit(hostId, [f.extension(runId, 2)]))).toEqual({ kind: 'committed' })
  })

  it('migrates once when many hosts start together', async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => open()))
    for (const store of stores) await store.ping()
    const applied = MIGRATIONS.map(({ version, name }) => ({ version, name }))
    expect(await sql('SELECT version, name FROM migrations ORDER BY 1')).toEqual(applied)
  })

  it('looks for an answer in an index', async () => {
    await open()
    const plan = await sql(`EXPLAIN ${SQL.findAnswer.text.replace('$1', "'acme'").replace('$2', "'key'")}`)
    expect(JSON.stringify(plan)).toContain('Index Scan Backward using invocations_answers')
  })

  it('refuses a schema name that is none', async () => {
    await expect(openPostgresStore(url, { schema: 'x; DROP TABLE runs' })).rejects.toThrow(/schema/)
  })

  it('S5 R-LOG-1 R-LOG-2 the database itself refuses what no log may hold', async () => {
    const store = await open()
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId, { events: [f.event(0), f.terminal(1)], status: 'completed' })
    const running = await f.created(store, hostId)
    await store.putWorkflow({ tenant: null, workflowId: 'w', digest: 'd', definition: '{}', updatedAt: 0 })
    const insert = (run: string, seq: number, type: string, cause = 'NULL') =>
      sql(`INSERT INTO events (run_id, seq, type, payload, cause, at, epoch)
           VALUES ('${run}', ${seq}, '${type}', '{}', ${cause}, 0, 1)`)
    await expect(insert(runId, 2, 'node.started')).rejects.toThrow(/after its terminal/)
    await expect(insert(runId, 2, 'run.failed')).rejects.toThrow(/events_terminal/)
    await expect(insert(running, 3, 'node.started')).rejects.toThrow(/dense/)
    await expect(insert(running, 1, 'node.started')).rejects.toThrow(/events_pkey/)
    await expect(insert(running, 2, 'node.started', '2')).rejects.toThrow(/check constraint/)
    await expect(insert('no-such-run', 0, 'run.started')).rejects.toThrow(/belongs to a run/)
    await expect(sql(`UPDATE events SET type = 'run.failed' WHERE seq = 0`)).rejects.toThrow(/events_terminal/)
    await expect(sql(`UPDATE definitions SET definition = '[]'`)).rejects.toThrow(/never changes/)
    await insert(running, 2, 'run.failed', '1')
  })

  it('S5 holds for forks as well', async () => {
    const store = await open()
    const hostId = await f.host(store)
    const source = await f.created(store, hostId, { events: [f.event(0), f.event(1), f.terminal(2)], status: 'failed' })
    const [branch, whole] = [f.id('run'), f.id('run')]
    for (const stream of [f.fork(branch, source, 2), f.fork(whole, source, 3)]) {
      expect(await store.commit(f.commit(hostId, [stream]))).toEqual({ kind: 'committed' })
    }
    const insert = (run: string, seq: number) =>
      sql(`INSERT INTO events (run_id, seq, type, payload, at, epoch) VALUES ('${run}', ${seq}, 'x', '{}', 0, 1)`)
    for (const seq of [0, 1, 3]) await expect(insert(branch, seq)).rejects.toThrow(/dense/)
    await expect(insert(whole, 3)).rejects.toThrow(/after its terminal/)
    await insert(branch, 2)
    await insert(branch, 3)
  })

  it('S10 the database itself refuses it, past the store, and a merge that is made up', async () => {
    const store = await open()
    const { runId, together } = await g.gatedRun(store, await f.host(store), [g.gatedPoint('node')])
    const insert = (seq: number) =>
      sql(`INSERT INTO events (run_id, seq, type, node_id, payload, secret, at, epoch)
           VALUES ('${runId}', ${seq}, 'node.completed', 'n1', '{}', '{"resultHash":"h"}', 0, 1)`)
    const invent = (hash: string, verdictSeq = 3, label = 'verified') =>
      sql(`INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label)
           VALUES ('${runId}', 9, 'g', 2, 't', '${hash}', ${verdictSeq}, 'pass', '${label}')`)
    await expect(insert(2)).rejects.toThrow(/null value in column "staged_seq" of relation "merges"/)
    await expect(invent('h')).rejects.toThrow(/foreign key/)
    await together(g.staged('node'), g.judged('fail'))
    await expect(insert(4)).rejects.toThrow(/merges_pass/)
    await expect(invent('h')).rejects.toThrow(/foreign key/)
    await together(g.judged('pass'))
    await expect(invent('another', 4)).rejects.toThrow(/foreign key/)
    await expect(invent('h', 4, 'conditional')).rejects.toThrow(/foreign key/)
    await insert(5)
    await expect(insert(6)).rejects.toThrow(/merges_pkey/)
    await expect(sql(`DELETE FROM verdicts WHERE verdict = 'pass'`)).rejects.toThrow(/foreign key/)
  })

  it('S10 with a constraint gone, or the trigger, the attack that it stops succeeds', async () => {
    const store = await open()
    const hostId = await f.host(store)
    const stage = g.staged('node')
    const sabotages: [string, g.Loose[]][] = [
      [`ALTER TABLE merges DROP CONSTRAINT merges_pass`, [stage, g.judged('fail'), g.merge('node')]],
      [`ALTER TABLE merges DROP CONSTRAINT merges_order`, [g.judged('pass'), stage, g.merge('node')]],
      [`ALTER TABLE merges DROP CONSTRAINT merges_pkey`, [stage, g.judged('pass'), g.merge('node'), g.merge('node')]],
      [
        `ALTER TABLE merges ALTER verdict DROP NOT NULL, ALTER verdict_seq DROP NOT NULL, ALTER label DROP NOT NULL`,
        [stage, g.merge('node')],
      ],
      [`DROP TRIGGER events_gates ON events`, [g.merge('node')]],
    ]
    for (const [sabotage, attack] of sabotages) {
      const run = await g.gatedRun(store, hostId, [g.gatedPoint('node')])
      await expect(run.together(...attack), sabotage).rejects.toBeInstanceOf(UnverifiedMerge)
      await sql(sabotage)
      expect(await run.together(...attack), sabotage).toEqual({ kind: 'committed' })
    }
  })

  it('S10 each of the constraints on content alone refuses its attacks: without it they succeed', async () => {
    const store = await open()
    const hostId = await f.host(store)
    const gone: Record<string, string> = {
      merges_hash: 'ALTER TABLE merges DROP CONSTRAINT merges_hash',
      merges_coverage: 'ALTER TABLE merges DROP CONSTRAINT merges_coverage',
      merges_one_hash: 'DROP TRIGGER merges_one_hash ON merges',
      goal: 'DROP TRIGGER events_goal ON events',
      writes: 'DROP TRIGGER events_writes ON events',
      artifacts: 'DROP TRIGGER events_written_artifacts ON events',
      tools: 'DROP TRIGGER events_tools ON events',
    }
    const attempt = async ({ gated, log }: Attack) =>
      (await g.gatedRun(store, hostId, gated)).together(...log).then(
        ({ kind }) => kind,
        (error: Error) => error.name,
      )
    const removed: string[] = []
    for (const [name, sabotage] of Object.entries(gone)) {
      await sql(sabotage)
      removed.push(name)
      for (const attack of MERGE_ATTACKS) {
        const expected = removed.includes(attack.constraint) ? 'committed' : 'UnverifiedMerge'
        expect(await attempt(attack), `${attack.what} without ${removed}`).toBe(expected)
      }
    }
    expect([...new Set(MERGE_ATTACKS.map(({ constraint }) => constraint))].sort()).toEqual(removed.sort())
  })

  it('looks for verdicts in an index', async () => {
    await open()
    const plan = async ({ text }: { text: string }) => {
      const values = ["'acme'", '0', '10', "'g'"]
      const filled = values.reduce((query, value, i) => query.replaceAll(`$${i + 1}`, value), text)
      return JSON.stringify(await sql(`EXPLAIN ${filled}`))
    }
    expect(await plan(SQL.listVerdicts)).toContain('Index Scan Backward using verdicts_newest')
    expect(await plan(SQL.listVerdictsOfGate)).toContain('Index Scan Backward using verdicts_of_gate')
  })

  it('S9 stores nothing of what a fork shares, and names who holds it', async () => {
    const store = await open()
    const hostId = await f.host(store)
    const [a, b, c] = [await f.created(store, hostId, { events: f.events(0, 50) }), f.id('run'), f.id('run')]
    for (const stream of [f.fork(b, a, 40, f.events(40, 5)), f.fork(c, b, 43, f.events(43, 1))]) {
      expect(await store.commit(f.commit(hostId, [stream]))).toEqual({ kind: 'committed' })
    }
    expect(await store.readEvents(c, 0)).toEqual(f.events(0, 44))
    expect(await sql('SELECT run_id, count(*)::int AS held FROM events GROUP BY 1 ORDER BY 2')).toEqual([
      { run_id: c, held: 1 },
      { run_id: b, held: 5 },
      { run_id: a, held: 50 },
    ])
    expect(
      await sql(`SELECT source_run_id AS held_by, from_seq::int, upto::int FROM prefixes
                       WHERE run_id = '${c}' ORDER BY upto`),
    ).toEqual([
      { held_by: a, from_seq: 0, upto: 40 },
      { held_by: b, from_seq: 40, upto: 43 },
    ])
  })

  it('S2 lets one of two hosts win, over and over, and never deadlocks on shared parents', async () => {
    const stores = [await open(), await open()]
    const hosts = await Promise.all(stores.map(store => f.host(store)))
    const [a, b] = [await f.created(stores[0]!, hosts[0]!), await f.created(stores[0]!, hosts[0]!)]
    for (let at = 2; at < 12; at += 1) {
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, i) => {
          const streams = [f.extension(i % 4 < 2 ? a : b, at), f.creation(f.id('run'))]
          return stores[i % 2]!.commit(f.commit(hosts[i % 2]!, streams, { wakes: [i % 4 < 2 ? b : a] }))
        }),
      )
      expect(f.kinds(results)).toEqual({ committed: 2, conflict: 38 })
    }
    expect(await stores[0]!.listRuns({ tenant: null, limit: 1000 })).toHaveLength(22)
  })

  it('S8 measures leases by the database’s clock, whatever the hosts say', async () => {
    const store = await open()
    const hostId = f.id('host')
    await store.registerHost({ hostId, hostName: 'behind', leaseMs: f.HOUR, now: 0 })
    const runId = await f.created(store, hostId)
    const peer = await f.host(store)
    expect(await store.claimOrphans(peer, Date.now() + 1000 * f.HOUR, 10)).toBe(0)
    expect((await store.readRun(null, runId))?.owner).toBe(hostId)
  })

  it('S8 hosts that fence each other at the same time do not deadlock', async () => {
    const stores = await Promise.all([open(), open(), open(), open()])
    const hosts = await Promise.all(stores.map(store => f.host(store, f.id('name'), 1)))
    const deadline = Date.now() + 50
    await f.eventually('all leases are over', async () => Date.now() > deadline)
    await Promise.all(stores.map((store, i) => store.claimOrphans(hosts[i]!, Date.now(), 10)))
    const alive = await sql(`SELECT host_id FROM hosts WHERE state = 'alive'`)
    expect(alive.length).toBeLessThanOrEqual(1)
  })

  it('S4 a swallowed reply to a commit does not append twice', async () => {
    const { proxy, through } = await proxied()
    const store = await open(through)
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId)
    for (let i = 0; i < 25; i += 1) {
      proxy.swallowReplies('assay-commit', 1)
      const response = f.response()
      const streams = [f.extension(runId, 2 + i, { epoch: 1 }), f.creation(f.id('run'))]
      expect(await store.commit(f.commit(hostId, streams, { response }))).toEqual({ kind: 'committed' })
      expect(await store.getResponse(response)).toEqual(response)
    }
    expect(proxy.faults).toBe(25)
    const log = await store.readEvents(runId, 0)
    expect(log.map(event => event.sequence)).toEqual(Array.from({ length: 27 }, (_, i) => i))
    expect(await store.listRuns({ tenant: null, limit: 1000 })).toHaveLength(26)
  })

  it('S4 swallowed replies under load: every commit applied once, every claim won once', async () => {
    const { proxy, through } = await proxied()
    const store = await open(through)
    const hostId = await f.host(store)
    proxy.swallowReplies('assay-c', 30)
    const runs = Array.from({ length: 300 }, () => f.created(store, hostId))
    const effects = Array.from({ length: 50 }, () => store.claimEffect(f.claim(hostId)))
    const responses = Array.from({ length: 50 }, () => store.claimResponse(f.response({ state: 'pending' }), f.T0))
    for (const runId of await Promise.all(runs)) expect(await store.readEvents(runId, 0)).toHaveLength(2)
    for (const state of await Promise.all(effects)) expect(state).toEqual({ kind: 'claimed', again: false })
    for (const claim of await Promise.all(responses)) expect(claim).toEqual({ claimed: true })
    expect(await store.listRuns({ tenant: null, limit: 1000 })).toHaveLength(300)
    expect(proxy.faults).toBeGreaterThan(3)
  })

  it('S4 a call that was cut off and arrives late changes nothing', async () => {
    const { proxy, through } = await proxied()
    const store = await open(through)
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId)
    for (let i = 0; i < 5; i += 1) {
      proxy.holdRequest('assay-commit')
      const streams = [f.extension(runId, 2 + i), f.creation(f.id('run'))]
      expect(await store.commit(f.commit(hostId, streams, { response: f.response() }))).toEqual({ kind: 'committed' })
      await proxy.release()
    }
    expect(proxy.faults).toBe(5)
    expect(await store.readEvents(runId, 0)).toHaveLength(7)
    expect(await store.listRuns({ tenant: null, limit: 1000 })).toHaveLength(6)
  })

  it('says StoreUnavailable when the way to the database is dead, and works again when it is not', async () => {
    const { proxy, through } = await proxied()
    const store = await open(through, { statementTimeoutMs: 300, patienceMs: 300 })
    const hostId = await f.host(store)
    const effect = f.claim(hostId)
    proxy.freeze()
    const refused = await Promise.allSettled([
      f.created(store, hostId),
      store.ping(),
      store.claimEffect(effect),
      store.heartbeat(hostId, f.HOUR),
      store.listRuns({ tenant: null, limit: 1 }),
    ])
    for (const one of refused) {
      expect((one as PromiseRejectedResult).reason).toBeInstanceOf(StoreUnavailable)
    }
    proxy.thaw()
    await f.eventually('the store works again', () => f.created(store, hostId).catch(() => undefined))
    expect(await store.claimEffect(effect)).toEqual({ kind: 'claimed', again: false })
  })

  it('takes up its own claim of an effect after the answer was lost for good', async () => {
    const { proxy, through } = await proxied()
    const store = await open(through, { patienceMs: 100 })
    const hostId = await f.host(store)
    const effect = f.claim(hostId)
    proxy.swallowReplies('assay-claimEffect', 1000)
    await expect(store.claimEffect(effect)).rejects.toBeInstanceOf(StoreUnavailable)
    expect(proxy.faults).toBeGreaterThan(0)
    proxy.swallowReplies('', 0)
    const both = await Promise.all([store.claimEffect(effect), store.claimEffect(effect)])
    expect(f.kinds(both)).toEqual({ claimed: 1, 'in-flight': 1 })
    expect(both).toContainEqual({ kind: 'claimed', again: false })
  })

  it('a claim whose answer was lost is taken up by the next attempt, which counts as begun', async () => {
    const { proxy, through } = await proxied()
    const [store, peer] = [await open(through, { patienceMs: 100 }), await open()]
    const [hostId, other] = [await f.host(store), await f.host(peer)]
    const claim = f.claim(hostId)
    proxy.swallowReplies('assay-claimEffect', 1000)
    await expect(store.claimEffect(claim)).rejects.toBeInstanceOf(StoreUnavailable)
    expect(proxy.faults).toBeGreaterThan(0)
    proxy.swallowReplies('', 0)
    expect(await store.claimEffect({ ...claim, attempt: 2 })).toEqual({ kind: 'claimed', again: false })
    await peer.releaseHost(hostId)
    const taken = await peer.claimEffect({ ...claim, hostId: other, attempt: 2 })
    expect(taken).toEqual({ kind: 'claimed', again: true })
  })

  it('S4 a swallowed reply to a claim of deliveries leaves no lane behind', async () => {
    const { proxy, through } = await proxied()
    const store = await open(through)
    const [hostId, webhook] = [await f.host(store), f.webhook()]
    await store.putWebhook(webhook)
    const runIds = Array.from({ length: 5 }, () => f.id('run'))
    for (const runId of runIds) {
      const deliveries = [f.delivery(webhook, runId, 0)]
      await store.commit(f.commit(hostId, [f.creation(runId)], { deliveries }))
    }
    proxy.swallowReplies('assay-claimDeliveries', 1)
    const claim = { hostId, now: f.T0, leaseMs: f.HOUR, limit: 3 }
    const claimed = [await store.claimDeliveries(claim), await store.claimDeliveries(claim)]
    expect(proxy.faults).toBe(1)
    expect(claimed.map(({ length }) => length)).toEqual([3, 2])
    expect(claimed.flatMap(list => list.map(({ runId }) => runId)).sort()).toEqual(runIds.sort())
  })

  it('does not close a lane as empty while a commit that adds to it is under way', async () => {
    const store = await open()
    const [hostId, webhook, runId] = [await f.host(store), f.webhook(), f.id('run')]
    await store.putWebhook(webhook)
    const first = f.delivery(webhook, runId, 0)
    await store.commit(f.commit(hostId, [f.creation(runId)], { deliveries: [first] }))
    const commit = new pg.Client({ connectionString: url, options: '-c search_path=assay' })
    await commit.connect()
    closing({ close: () => commit.end() })
    await commit.query('BEGIN')
    await commit.query('SELECT add_deliveries($1)', [JSON.stringify([f.delivery(webhook, runId, 1)])])
    let finished = false
    const finish = store.finishDelivery({ ...f.tried(first), state: 'delivered' }).then(() => {
      finished = true
    })
    await f.eventually('it waits for the commit, or does not', async () => {
      return finished || (await sql('SELECT 1 FROM pg_locks WHERE NOT granted')).length > 0
    })
    await commit.query('COMMIT')
    await finish
    const claimed = await store.claimDeliveries({ hostId, now: f.T0, leaseMs: f.HOUR, limit: 10 })
    expect(claimed).toMatchObject([{ runId, sequence: 1 }])
  })

  it('forgets no delivery that is added while others are made, and keeps the order of each lane', async () => {
    const [store, peer] = [await open(), await open()]
    const [hostId, deliverer, webhook] = [await f.host(store), await f.host(peer), f.webhook()]
    await store.putWebhook(webhook)
    const runIds = Array.from({ length: 4 }, () => f.id('run'))
    const LENGTH = 60
    const write = async (runId: string) => {
      for (let at = 0; at < LENGTH; at += 1) {
        const stream = at === 0 ? f.creation(runId, { events: f.events(0, 1) }) : f.extension(runId, at)
        await store.commit(f.commit(hostId, [stream], { deliveries: [f.delivery(webhook, runId, at)] }))
      }
    }
    const delivered = new Map(runIds.map(runId => [runId, [] as number[]]))
    const deliver = async () => {
      const claimed = await peer.claimDeliveries({ hostId: deliverer, now: f.T0, leaseMs: f.HOUR, limit: 10 })
      for (const one of claimed) delivered.get(one.runId)!.push(one.sequence)
      await Promise.all(claimed.map(one => peer.finishDelivery({ ...f.tried(one), state: 'delivered' })))
      return [...delivered.values()].every(sequences => sequences.length === LENGTH)
    }
    const writing = Promise.all(runIds.map(write))
    await f.eventually('all is delivered', deliver)
    await writing
    const inOrder = Array.from({ length: LENGTH }, (_, i) => i)
    for (const sequences of delivered.values()) expect(sequences).toEqual(inOrder)
    expect(await store.nextDeliveryAt()).toBeNull()
  })

  it('adds nothing to a subscription that is deleted at the same time', async () => {
    const [store, peer] = [await open(), await open()]
    const hostId = await f.host(store)
    for (let round = 0; round < 20; round += 1) {
      const webhook = f.webhook()
      await store.putWebhook(webhook)
      const commits = Array.from({ length: 5 }, () => {
        const runId = f.id('run')
        return store.commit(f.commit(hostId, [f.creation(runId)], { deliveries: [f.delivery(webhook, runId, 1)] }))
      })
      const [deleted, ...results] = await Promise.all([peer.deleteWebhook('acme', webhook.webhookId), ...commits])
      expect(deleted).toBe(true)
      expect(f.kinds(results)).toEqual({ committed: 5 })
    }
    expect(await sql('SELECT 1 FROM lanes UNION ALL SELECT 1 FROM deliveries')).toEqual([])
  })

  it('loses nothing it acknowledged when the server is killed under load, and goes on by itself', async () => {
    const store = await open(url, { patienceMs: 200 })
    const hostId = await f.host(store)
    const [acknowledged, refused] = [new Set<string>(), new Set<string>()]
    let running = true
    const writer = async () => {
      while (running) {
        const runId = f.id('run')
        try {
          await store.commit(f.commit(hostId, [f.creation(runId)]))
          acknowledged.add(runId)
        } catch (error) {
          expect(error).toBeInstanceOf(StoreUnavailable)
          refused.add(runId)
        }
      }
    }
    const writers = Array.from({ length: 8 }, writer)
    try {
      for (const signal of ['SIGKILL', 'SIGQUIT', 'SIGINT'] as const) {
        const enough = acknowledged.size + 100
        await f.eventually('commits go through', async () => acknowledged.size > enough)
        await server.kill(signal)
        await f.eventually('commits are refused', async () => refused.size > 0)
        await server.restart()
      }
      const enough = acknowledged.size + 100
      await f.eventually('commits go through again', async () => acknowledged.size > enough)
    } finally {
      // Against a store that is closed they would go round for ever, and nothing else in this process would.
      running = false
      await Promise.all(writers)
    }
    const stored = new Map((await store.listRuns({ tenant: null, limit: 1e6 })).map(run => [run.runId, run.length]))
    for (const runId of acknowledged) expect(stored.get(runId)).toBe(2)
    for (const runId of stored.keys()) expect(acknowledged.has(runId) || refused.has(runId)).toBe(true)
    expect(refused.size).toBeGreaterThan(0)
  })

  it('listens again after its connection was cut, and does not hear itself', async () => {
    const [store, peer] = [await open(), await open()]
    const [hostId] = [await f.host(store), await f.host(peer)]
    const [heard, own] = [new Set<string>(), new Set<string>()]
    peer.onHint(runId => heard.add(runId))
    store.onHint(runId => own.add(runId))
    const hint = () =>
      f.eventually('a hint arrives', async () => {
        await f.created(store, hostId)
        return heard.size > 0
      })
    await hint()
    await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE query LIKE 'LISTEN%' AND datname = current_database() AND pid <> pg_backend_pid()`)
    heard.clear()
    await hint()
    expect(own.size).toBe(0)
  })
})

it('every statement was run by these tests', () => {
  const texts = {
    ...Object.fromEntries(Object.entries(SQL).map(([name, { text }]) => [name, text])),
    ...MIGRATE,
    ...PROBE,
  }
  const never = Object.entries({ ...texts, ...HINTS }).filter(([, text]) => !sent.has(text))
  expect(never.map(([name]) => name)).toEqual([])
})
