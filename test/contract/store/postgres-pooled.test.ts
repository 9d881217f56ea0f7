import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/postgres-store.js'
import { PgBouncer } from '../../support/pgbouncer.js'
import { PoolingProxy } from '../../support/pooling-proxy.js'
import { startPostgres, type TestPostgres } from '../../support/postgres.js'
import { TcpProxy } from '../../support/tcp-proxy.js'
import { storeContract } from './contract.js'
import * as f from './fixtures.js'

/**
 * The store behind a pooler in transaction mode, in a database whose search path finds nothing of Assay's; and the
 * databases, and ways to them, that it refuses. The pooler is one of our own, or the PgBouncer that ASSAY_TEST_PGBOUNCER
 * names.
 */

let server: TestPostgres
let pooler: PoolingProxy | PgBouncer
let database: string
const toClose: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  server = await startPostgres({ durable: false })
  const program = process.env.ASSAY_TEST_PGBOUNCER
  pooler = program ? await PgBouncer.start(program, server.url) : await PoolingProxy.start(server.url)
  database = await newDatabase()
})

afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close()
})

afterAll(async () => {
  await pooler.close()
  await server.stop()
})

const closing = <T extends { close(): Promise<unknown> }>(one: T): T => {
  toClose.unshift(one)
  return one
}

const sql = async (url: string, text: string) => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const EMPTY = `DO $$
DECLARE
  full_one text;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR full_one IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
                   WHERE schemaname = 'pooled' AND tablename <> 'migrations' LOOP
    EXECUTE 'DELETE FROM ' || full_one;
  END LOOP;
END $$`

/** As an operator has to set it up for connections that cannot be told anything; and a search path of no use. */
async function newDatabase(settings: readonly string[] = [], searchPath = 'elsewhere'): Promise<string> {
  const url = await server.createDatabase()
  for (const setting of ['synchronous_commit = on', `search_path = ${searchPath}`, ...settings])
    await sql(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting}`)
  return url
}

storeContract({
  name: 'postgres behind a pooler in transaction mode',
  // One schema for all, emptied each time: to make it takes longer than most tests.
  open: async () => {
    const options = { schema: 'pooled', pooled: true, directUrl: database }
    const open = () => openPostgresStore(pooler.through(database), options)
    await sql(database, EMPTY)
    return { store: await open(), peer: open }
  },
})

describe('a pooler in transaction mode', () => {
  let url: string
  beforeEach(async () => {
    url = await newDatabase()
  })
  const open = async (to: string, options: PostgresStoreOptions = {}) => closing(await openPostgresStore(to, options))

  it('has handed its connections on all the time', () => {
    // PgBouncer does not count them.
    if (pooler.handovers !== undefined) expect(pooler.handovers).toBeGreaterThan(1000)
  })

  it('behaves as one: named statements collide, settings stay behind, unknown start-up parameters are refused', async () => {
    const through = pooler.through(url)
    const [first, second] = [new pg.Client(through), new pg.Client(through)]
    for (const client of [first, second]) {
      closing({ close: () => client.end() })
      await client.connect()
    }
    const named = { name: 'same', text: 'SELECT 1' }
    await first.query(named)
    await expect(second.query(named)).rejects.toThrow('prepared statement "same" already exists')
    await first.query(`SET statement_timeout = 12345`)
    expect((await second.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '12345ms' }])
    for (const refused of [{ options: '-c jit=off' }, { idle_in_transaction_session_timeout: 1 }]) {
      const client = new pg.Client({ connectionString: through, ...refused })
      await expect(client.connect()).rejects.toThrow('unsupported startup parameter')
    }
  })

  it('works without a way past it: migrates through it, and others find what is new by looking', async () => {
    const [store, peer] = [
      await open(pooler.through(url), { pooled: true }),
      await open(pooler.through(url), { pooled: true }),
    ]
    const [hostId] = [await f.host(store), await f.host(peer)]
    const heard: string[] = []
    peer.onHint(runId => heard.push(runId))
    const runId = await f.created(store, hostId)
    expect(await peer.readEvents(runId, 0)).toHaveLength(2)
    const listening = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`
    expect(await sql(url, listening)).toEqual([{ n: 0 }])
    expect(heard).toEqual([])
  })

  it('takes many hosts that start at once, and more clients than it has connections', async () => {
    const stores = await Promise.all(
      Array.from({ length: 6 }, () => open(pooler.through(url), { pooled: true, poolSize: 10 })),
    )
    const hosts = await Promise.all(stores.map(store => f.host(store, f.id('name'))))
    const runs = await Promise.all(Array.from({ length: 200 }, (_, i) => f.created(stores[i % 6]!, hosts[i % 6]!)))
    expect(await stores[0]!.listRuns({ tenant: null, limit: 1000 })).toHaveLength(runs.length)
    const backends = await sql(
      url,
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database()`,
    )
    expect(backends[0]!.n).toBeLessThanOrEqual(4 + 1)
  })

  it('is found out where nobody has said that it is there', async () => {
    await expect(openPostgresStore(pooler.through(url))).rejects.toThrow(/behind a pooler.*add --database-pooled/)
    await expect(
      openPostgresStore(pooler.through(url), { pooled: true, directUrl: pooler.through(url) }),
    ).rejects.toThrow(/--database-direct-url leads to a pooler/)
  })

  it('and the way past it lead to the same database', async () => {
    const other = await newDatabase()
    await expect(openPostgresStore(pooler.through(url), { pooled: true, directUrl: other })).rejects.toThrow(
      '--database and --database-direct-url lead to different databases',
    )
  })

  it.each([
    ['synchronous_commit = off', 'synchronous_commit = off: what it answers could be lost'],
    ['synchronous_commit = local', 'synchronous_commit = local'],
    ["default_transaction_isolation = 'serializable'", 'default_transaction_isolation = serializable'],
    ['search_path = public, pg_catalog', 'search_path = public, pg_catalog: another schema comes before pg_catalog'],
  ])('refuses connections with %s', async (setting, message) => {
    const wrong = await newDatabase([setting])
    await expect(openPostgresStore(pooler.through(wrong), { pooled: true })).rejects.toThrow(message)
    // Where the connection is its own, it sets what it needs.
    await (await openPostgresStore(wrong)).close()
  })

  it('every function names what it means, whatever the search path, also those that triggers call', async () => {
    await open(url)
    const unpinned = await sql(
      url,
      `SELECT proname FROM pg_proc WHERE pronamespace = 'assay'::regnamespace AND provolatile <> 'i'
          AND NOT coalesce(proconfig, '{}') @> ARRAY['search_path=assay, pg_temp']`,
    )
    expect(unpinned).toEqual([])
    await expect(
      sql(url, `INSERT INTO assay.events (run_id, seq, type, payload, at, epoch) VALUES ('none', 0, 'x', '{}', 0, 1)`),
    ).rejects.toThrow('an event belongs to a run')
  })
})

describe('a database that only looks like PostgreSQL is refused', () => {
  let url: string
  beforeEach(async () => {
    url = await newDatabase([], 'public')
  })
  const lying = async (text: string, other: string) => {
    const liar = closing(await TcpProxy.start(server.port))
    liar.rewriteRequests(text, other)
    return { liar, through: Object.assign(new URL(url), { port: String(liar.port) }).href }
  }

  it('when advisory locks exclude nobody', async () => {
    // What it says is that it has the lock.
    const { liar, through } = await lying(
      'pg_try_advisory_xact_lock(hashtextextended($1, 0))',
      'coalesce(0 = 0, 0 = hashtextextended($1, 0))      ',
    )
    await expect(openPostgresStore(through)).rejects.toThrow(
      /advisory locks of this database exclude nobody. Assay needs PostgreSQL/,
    )
    expect(liar.faults).toBeGreaterThan(0)
    expect(await sql(url, `SELECT 1 FROM pg_namespace WHERE nspname = 'assay'`)).toEqual([])
  })

  it('when SKIP LOCKED takes what is locked', async () => {
    const { liar, through } = await lying('FOR UPDATE SKIP LOCKED', ' '.repeat(22))
    await expect(openPostgresStore(through)).rejects.toThrow('SKIP LOCKED does not skip what is locked')
    expect(liar.faults).toBeGreaterThan(0)
  })

  it('when SKIP LOCKED waits for what is locked', async () => {
    const { liar, through } = await lying('SKIP LOCKED', ' '.repeat(11))
    await expect(openPostgresStore(through)).rejects.toThrow('SKIP LOCKED does not skip what is locked')
    expect(liar.faults).toBeGreaterThan(0)
  })

  it('when the trigger of a statement does not fire, or does not see what was written', async () => {
    await (await openPostgresStore(url)).close()
    await sql(url, 'ALTER TABLE assay.events DISABLE TRIGGER events_guard')
    const refusal = /the trigger that guards the log does not see what is written.*Assay needs PostgreSQL/
    await expect(openPostgresStore(url)).rejects.toThrow(refusal)
    await sql(url, 'ALTER TABLE assay.events ENABLE TRIGGER events_guard')
    await (await openPostgresStore(url)).close()
    await sql(
      url,
      `CREATE OR REPLACE FUNCTION assay.events_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
    )
    await expect(openPostgresStore(url)).rejects.toThrow(refusal)
    expect(await sql(url, 'SELECT 1 FROM assay.events')).toEqual([])
  })

  it('when it does not know what the tables are made of', async () => {
    const { liar, through } = await lying('REFERENCING NEW TABLE', 'REFERENCING NEW TUBLE')
    await expect(openPostgresStore(through)).rejects.toThrow(
      /the database cannot hold the tables of Assay: syntax error.*Assay needs PostgreSQL/,
    )
    expect(liar.faults).toBe(1)
  })
})
