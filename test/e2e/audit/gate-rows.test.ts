import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verifyDatabase } from '../../../src/audit/data-folder.js'
import type { AnomalyKind } from '../../../src/engine/api.js'
import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { openStore } from '../../../src/store/open-store.js'
import { openDatabase } from '../../../src/store/sqlite/driver.js'
import * as f from '../../contract/store/fixtures.js'
import * as g from '../../contract/store/gate-fixtures.js'
import { startPostgres, type TestPostgres } from '../../support/postgres.js'
import { chained, headOf } from './chained-runs.js'

/** Gate `g` at agent `n1`. */
const GATE = {
  gate_id: 'g',
  position: { phase_id: 'n1', placement: 'phase_exit' },
  gate_behaviour: { blocking: true, confirm: 'full' },
}

const started =
  (engineVersion: string): g.Loose =>
  sequence =>
    f.event(sequence, {
      payload: JSON.stringify({ engineVersion }),
      secret: JSON.stringify({ gates: [{ gate: GATE }] }),
    })

const gatedAs = (engineVersion: string) => [g.gatedPoint('node', engineVersion === '2' ? { confirm: null } : {})]

/** Run `a` merges what was passed the second time; it goes on. */
const LOG: readonly g.Loose[] = [
  g.staged('node'),
  g.judged('revise'),
  g.staged('node', { attempt: 2, resultHash: 'h2' }),
  g.judged('pass', { resultHash: 'h2' }),
  g.merge('node', { resultHash: 'h2' }),
]

/** `a`, a fork of it after the pass, which merges by itself, and `old`, of version 2 of the rules. */
async function fill(store: Store): Promise<void> {
  const hostId = await f.host(store)
  const definition = JSON.stringify({ nodes: [{ id: 'n1', typeId: 'core.agent' }] })
  await store.putWorkflow({ tenant: null, workflowId: 'w', digest: 'digest', definition, updatedAt: 0 })
  const write = async (runId: string, engineVersion: string, events: readonly StoredEvent[]) => {
    const stream = f.creation(runId, { events, head: headOf(events) }, { gated: gatedAs(engineVersion) })
    expect(await store.commit(f.commit(hostId, [stream]))).toEqual({ kind: 'committed' })
  }
  await write('a', '3', chained(g.placed(0, [started('3'), f.event, ...LOG])))
  const nameless = [g.staged('node'), g.judged('pass', { label: '' }), g.merge('node', { resultHash: null })]
  await write('old', '2', chained(g.placed(0, [started('2'), f.event, ...nameless])))

  const shared = (await store.readEvents('a', 0)).slice(0, 6)
  const own = chained(g.placed(6, [g.merge('node', { resultHash: 'h2' })]), headOf(shared))
  const fork = f.fork('fork', 'a', 6, own, { run: { gated: gatedAs('3') } })
  expect(await store.commit(f.commit(hostId, [{ ...fork, head: headOf(own) }]))).toEqual({ kind: 'committed' })
}

type Tampering = readonly [name: string, sql: string, kind: AnomalyKind, runId: string, message: string]

const row = (table: string, event: number, what: string) =>
  `table ${table}: the row of event ${event}, gate "g", ${what}`

const FORGED = `INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, label, tenant, at)
                VALUES ('a', 1, 'g', 't', 'h', 'pass', 'verified', 'acme', 0)`

const TAMPERINGS: readonly Tampering[] = [
  [
    'take a gate away',
    `DELETE FROM gated WHERE run_id = 'a'`,
    'gate-row-missing',
    'a',
    'table gated: the row of gate "g" at node "n1" (node) is missing',
  ],
  [
    'have a gate ask less',
    `UPDATE gated SET confirm = 'none' WHERE run_id = 'a'`,
    'gate-row-changed',
    'a',
    'table gated: the row of gate "g" at node "n1" (node) was changed',
  ],
  [
    'have a gate follow older rules',
    `UPDATE gated SET confirm = NULL WHERE run_id = 'fork'`,
    'gate-row-changed',
    'fork',
    'table gated: the row of gate "g" at node "n1" (node) was changed',
  ],
  [
    'put a gate up',
    `INSERT INTO gated (run_id, point, node_id, gate_id, worker_id) VALUES ('old', 'run', 'n1', 'x', '')`,
    'gate-row-extra',
    'old',
    'table gated: the row of gate "x" at node "n1" (run) was added',
  ],
  ['forge a pass', FORGED, 'gate-row-extra', 'a', row('verdicts', 1, 'was added')],
  [
    'turn a revise into a pass',
    `UPDATE verdicts SET verdict = 'pass', label = 'verified' WHERE run_id = 'a' AND seq = 3`,
    'gate-row-changed',
    'a',
    row('verdicts', 3, 'was changed'),
  ],
  [
    'say more of a pass',
    `UPDATE verdicts SET label = 'accepted' WHERE run_id = 'fork' AND seq = 5`,
    'gate-row-changed',
    'fork',
    row('verdicts', 5, 'was changed'),
  ],
  [
    'give an older pass a label',
    `UPDATE verdicts SET label = 'verified' WHERE run_id = 'old'`,
    'gate-row-changed',
    'old',
    row('verdicts', 3, 'was changed'),
  ],
  [
    'have a verdict be listed for another',
    `UPDATE verdicts SET tenant = 'other' WHERE run_id = 'a' AND seq = 5`,
    'gate-row-changed',
    'a',
    row('verdicts', 5, 'was changed'),
  ],
  [
    'drop a verdict',
    `DELETE FROM verdicts WHERE run_id = 'a' AND seq = 3`,
    'gate-row-missing',
    'a',
    row('verdicts', 3, 'is missing'),
  ],
  [
    'have another result be judged',
    `UPDATE staged SET result_hash = 'x' WHERE run_id = 'a' AND seq = 2`,
    'gate-row-changed',
    'a',
    row('staged', 2, 'was changed'),
  ],
  [
    'drop a staging',
    `DELETE FROM staged WHERE run_id = 'a' AND seq = 2`,
    'gate-row-missing',
    'a',
    row('staged', 2, 'is missing'),
  ],
  [
    'have another result be merged',
    `UPDATE merges SET event_hash = NULL, confirm = NULL WHERE run_id = 'a'`,
    'gate-row-changed',
    'a',
    row('merges', 6, 'was changed'),
  ],
  [
    'drop a merge',
    `DELETE FROM merges WHERE run_id = 'fork'`,
    'gate-row-missing',
    'fork',
    row('merges', 6, 'is missing'),
  ],
  [
    'forge a merge',
    `INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict)
     VALUES ('a', 5, 'g', 2, 't', 'h', 3, 'pass')`,
    'gate-row-extra',
    'a',
    row('merges', 5, 'was added'),
  ],
]

type Opened = { readonly url: string; readonly run: (sql: string) => Promise<void> }

function tamperings(open: () => Promise<Opened>, folder: () => string): void {
  const found = async (url: string) => (await verifyDatabase(url, folder(), 'all')).anomalies

  test('what a store keeps of gates is as its logs say, in forks and in runs of older rules, too', async () => {
    expect(await found((await open()).url)).toEqual([])
  })

  test.each(TAMPERINGS)('finds who would %s, by table and run', async (_name, sql, kind, runId, message) => {
    const { url, run } = await open()
    await run(sql)
    expect(await found(url)).toEqual([expect.objectContaining({ kind, runId, message })])
    expect(await verifyDatabase(url, folder(), [runId])).toMatchObject({ anomalies: [{ kind, runId, message }] })
  })

  test('a merge that was let in past the constraints is named, and a definition that is gone', async () => {
    const merged = await open()
    await merged.run(`UPDATE gated SET run_id = 'elsewhere' WHERE run_id = 'fork'`)
    const store = await openStore(merged.url)
    const [last] = (await store.readEvents('fork', 0)).slice(-1)
    const hostId = await f.host(store)
    const again = chained(g.placed(7, [g.merge('node', { resultHash: 'h2' })]), last!.hash)
    await store.commit(f.commit(hostId, [f.extension('fork', 7, { events: again, head: headOf(again) })]))
    await store.close()
    await merged.run(`UPDATE gated SET run_id = 'fork' WHERE run_id = 'elsewhere'`)
    expect(await found(merged.url)).toEqual([
      expect.objectContaining({ kind: 'merge-unverified', runId: 'fork', sequence: 7 }),
    ])
    const lost = await open()
    await lost.run('DELETE FROM definitions')
    expect((await found(lost.url)).map(({ kind }) => kind)).toEqual(Array(3).fill('definition-missing'))
  })
}

describe('verify --integrity: the rows that hold gates, on SQLite', () => {
  let folder: string
  let copies = 0
  beforeAll(async () => {
    folder = await fs.mkdtemp(path.join(os.tmpdir(), 'assay-gate-rows-'))
    const store = await openStore(`sqlite:${path.join(folder, 'assay.db')}`)
    await fill(store)
    await store.close()
    await raw(path.join(folder, 'assay.db'), 'PRAGMA wal_checkpoint(TRUNCATE)')
  })
  afterAll(() => fs.rm(folder, { recursive: true }))

  const raw = async (file: string, sql: string) => {
    const database = openDatabase(file, 1000)
    try {
      // Whoever changes a file does not ask the database whether that is allowed.
      database.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON')
      database.exec(sql)
    } finally {
      database.close()
    }
  }

  tamperings(
    async () => {
      copies += 1
      const file = path.join(folder, `copy-${copies}.db`)
      await fs.copyFile(path.join(folder, 'assay.db'), file)
      return { url: `sqlite:${file}`, run: sql => raw(file, sql) }
    },
    () => folder,
  )
})

describe('verify --integrity: the rows that hold gates, on PostgreSQL', () => {
  let server: TestPostgres
  let folder: string
  beforeAll(async () => {
    server = await startPostgres({ durable: false })
    folder = await fs.mkdtemp(path.join(os.tmpdir(), 'assay-gate-rows-'))
  })
  afterAll(async () => {
    await server.stop()
    await fs.rm(folder, { recursive: true })
  })

  const raw = async (url: string, sql: string) => {
    const client = new pg.Client({ connectionString: url, options: '-c search_path=assay' })
    await client.connect()
    try {
      // As a superuser may: triggers, and foreign keys with them, are not asked.
      await client.query('SET session_replication_role = replica')
      await client.query(sql)
    } finally {
      await client.end()
    }
  }

  tamperings(
    async () => {
      const url = await server.createDatabase()
      const store = await openStore(url)
      await fill(store)
      await store.close()
      return { url, run: sql => raw(url, sql) }
    },
    () => folder,
  )
})
