import { generateKeyPairSync, sign } from 'node:crypto'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkpointHash } from '../../../src/audit/checkpoint.js'
import { verifyDatabase } from '../../../src/audit/data-folder.js'
import { Sealer } from '../../../src/audit/sealer.js'
import { ensureSigningKey, trustedKeysFolder } from '../../../src/audit/signing-key.js'
import type { Integrity } from '../../../src/audit/verify.js'
import { main } from '../../../src/cli/main.js'
import type { AnomalyKind, AuditAnomaly } from '../../../src/engine/api.js'
import { chainHash } from '../../../src/engine/log/chain.js'
import { openStore } from '../../../src/store/open-store.js'
import { type Database, openDatabase, type SqlValue } from '../../../src/store/sqlite/driver.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import * as f from '../../contract/store/fixtures.js'
import { chained, log, write, writeFork } from './chained-runs.js'

let folder: string
let original: string
let copies = 0

/** `a`, `b` and a fork of `b` in checkpoint 0, `c` in checkpoint 1, and a run that goes on and is in none. */
beforeAll(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), 'assay-tamper-'))
  original = path.join(folder, 'assay.db')
  const store = await openStore(`sqlite:${original}`)
  const hostId = await f.host(store)
  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const sealer = new Sealer({ store, clock: new ManualClock(), log: quiet, key: await ensureSigningKey(folder) })
  await write(store, hostId, { runId: 'a', events: log(10) })
  await write(store, hostId, { runId: 'b', events: log(6) })
  await writeFork(store, hostId, { runId: 'b-fork', source: 'b', fromSeq: 3, length: 5 })
  expect(await sealer.seal()).toBe(3)
  await write(store, hostId, { runId: 'c', events: log(5) })
  expect(await sealer.seal()).toBe(1)
  await write(store, hostId, { runId: 'open', events: log(4, 'open') })
  await store.close()
  // So that the file alone is the whole database.
  raw(original, database => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
})

afterAll(() => fs.rm(folder, { recursive: true }))

const raw = <T>(file: string, work: (database: Database) => T): T => {
  const database = openDatabase(file, 1000)
  try {
    // Whoever changes a file does not ask the database whether that is allowed.
    database.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON')
    return work(database)
  } finally {
    database.close()
  }
}

const verify = (file: string): Promise<Integrity> => verifyDatabase(`sqlite:${file}`, folder, 'all')

const copy = async (): Promise<string> => {
  copies += 1
  const file = path.join(folder, `copy-${copies}.db`)
  await fs.copyFile(original, file)
  return file
}

/** Runs statements and counts the rows they changed. */
class Tool {
  changes = 0
  constructor(readonly database: Database) {}

  run(sql: string, ...parameters: SqlValue[]): void {
    this.changes += Number(this.database.prepare(sql).run(...parameters).changes)
  }

  all<Row>(sql: string, ...parameters: SqlValue[]): Row[] {
    return this.database.prepare(sql).all(...parameters) as Row[]
  }
}

type Found = {
  readonly kind: AnomalyKind
  readonly runId?: string
  readonly sequence?: number
  readonly checkpoint?: number
}
type Tampering = readonly [name: string, rows: number, tamper: (tool: Tool) => void, ...found: Found[]]

const ofA = (kind: AnomalyKind, sequence?: number): Found => ({
  kind,
  runId: 'a',
  checkpoint: 0,
  ...(sequence !== undefined && { sequence }),
})
const ofOpen = (kind: AnomalyKind, sequence?: number): Found => ({
  kind,
  runId: 'open',
  ...(sequence !== undefined && { sequence }),
})
const set =
  (column: string, value: SqlValue, seq: number, runId = 'a') =>
  (tool: Tool) =>
    tool.run(`UPDATE events SET ${column} = ? WHERE run_id = ? AND seq = ?`, value, runId, seq)

/** Exchanges two events: all but their place. */
const swap = (tool: Tool, one: number, other: number): void => {
  for (const [from, to] of [
    [one, 1000],
    [other, one],
    [1000, other],
  ] as const) {
    tool.run(`UPDATE events SET seq = ? WHERE run_id = 'a' AND seq = ?`, to, from)
  }
}

type EventRow = {
  readonly seq: number
  readonly type: string
  readonly node_id: string
  readonly payload: string
  readonly secret: string
  readonly cause: number | null
  readonly foreign_cause: string | null
  readonly at: number
  readonly input: string
  readonly salt: string | null
}

/** What somebody does who knows how the chain is made. */
const rehash = (tool: Tool, runId: string): void => {
  let head = ''
  for (const row of tool.all<EventRow>('SELECT * FROM events WHERE run_id = ? ORDER BY seq', runId)) {
    const { seq: sequence, node_id: nodeId, foreign_cause: foreignCause, ...rest } = row
    head = chainHash(head, { ...rest, sequence, nodeId, foreignCause })
    tool.run('UPDATE events SET hash = ? WHERE run_id = ? AND seq = ?', head, runId, sequence)
  }
  tool.run('UPDATE runs SET head = ? WHERE run_id = ?', head, runId)
}

type CheckpointRow = { readonly at: number; readonly key_id: string; readonly runs: string; readonly prev: string }

const forge = (tool: Tool, keyId?: string): void => {
  const [row] = tool.all<CheckpointRow>('SELECT * FROM checkpoints WHERE seq = 0')
  const { at, prev, runs } = row!
  const by = keyId ?? row!.key_id
  const hash = checkpointHash({ seq: 0, at: at + 1, keyId: by, prev, runs: JSON.parse(runs), purged: [] })
  const signature = sign(null, Buffer.from(hash), generateKeyPairSync('ed25519').privateKey).toString('base64url')
  tool.run('UPDATE checkpoints SET at = at + 1, key_id = ?, hash = ?, signature = ? WHERE seq = 0', by, hash, signature)
}

const TAMPERINGS: readonly Tampering[] = [
  ['flip a byte of a payload', 1, set('payload', '{"text":"fvent number 4"}', 4), ofA('event-changed', 4)],
  ['change what readers do not see', 1, set('secret', '{"kept":0}', 3), ofA('event-changed', 3)],
  ['remove what readers do not see', 1, set('secret', null, 3), ofA('event-changed', 3)],
  ['change an input', 1, set('input', '{"told":99}', 2), ofA('event-changed', 2)],
  ['change a type', 1, set('type', 'node.failed', 5), ofA('event-changed', 5)],
  ['change a node', 1, set('node_id', 'n2', 5), ofA('event-changed', 5)],
  ['change a cause', 1, set('cause', 0, 5), ofA('event-changed', 5)],
  ['change a time', 1, set('at', f.T0, 5), ofA('event-changed', 5)],
  ['change a salt', 1, set('salt', 'pepper', 5), ofA('event-changed', 5)],
  ['take a salt away', 1, set('salt', null, 5), ofA('event-changed', 5)],
  ['change a hash', 1, set('hash', 'x', 6), ofA('event-changed', 6)],
  ['take the first hash away', 1, set('hash', '', 0), ofA('event-changed', 0)],
  ['take a later hash away', 1, set('hash', '', 6), ofA('event-changed', 6)],
  ['change the last event', 1, set('payload', '{}', 9), ofA('event-changed', 9)],
  [
    'take all hashes away',
    10,
    tool => tool.run(`UPDATE events SET hash = '' WHERE run_id = 'a'`),
    ofA('event-changed', 0),
  ],
  [
    'drop the first event',
    1,
    tool => tool.run(`DELETE FROM events WHERE run_id = 'a' AND seq = 0`),
    ofA('event-missing', 0),
  ],
  [
    'drop a middle event',
    1,
    tool => tool.run(`DELETE FROM events WHERE run_id = 'a' AND seq = 4`),
    ofA('event-missing', 4),
  ],
  [
    'drop the last event',
    1,
    tool => tool.run(`DELETE FROM events WHERE run_id = 'a' AND seq = 9`),
    ofA('event-missing', 9),
  ],
  [
    'drop a middle event and close the gap',
    6,
    tool => {
      tool.run(`DELETE FROM events WHERE run_id = 'a' AND seq = 4`)
      for (let seq = 5; seq < 10; seq += 1) {
        tool.run(`UPDATE events SET seq = ? WHERE run_id = 'a' AND seq = ?`, seq - 1, seq)
      }
    },
    ofA('event-changed', 4),
  ],
  [
    'drop the tail and correct the run’s record',
    4,
    tool => {
      tool.run(`DELETE FROM events WHERE run_id = 'a' AND seq > 6`)
      tool.run(`UPDATE runs SET length = 7, head = (SELECT hash FROM events WHERE run_id = 'a' AND seq = 6)
                 WHERE run_id = 'a'`)
    },
    ofA('event-missing', 7),
  ],
  ['swap two neighbours', 3, tool => swap(tool, 3, 4), ofA('event-changed', 3)],
  ['swap two distant events', 3, tool => swap(tool, 2, 7), ofA('event-changed', 2)],
  [
    'add an event after the end',
    2,
    tool => {
      tool.database.exec('DROP TRIGGER events_guard')
      tool.run(`INSERT INTO events (run_id, seq, type, payload, at, epoch, hash)
                SELECT run_id, 10, 'node.started', payload, at, epoch, hash FROM events WHERE run_id = 'a' AND seq = 8`)
      tool.run(`UPDATE runs SET length = 11 WHERE run_id = 'a'`)
    },
    ofA('event-extra', 10),
  ],
  [
    'edit the head in the run’s record',
    1,
    tool => tool.run(`UPDATE runs SET head = 'x' WHERE run_id = 'a'`),
    ofA('head-mismatch'),
  ],
  [
    'edit the length in the run’s record',
    1,
    tool => tool.run(`UPDATE runs SET length = 9 WHERE run_id = 'a'`),
    ofA('head-mismatch'),
  ],
  [
    'change an event and hash the whole log anew',
    12,
    tool => {
      set('payload', '{"text":"never said"}', 4)(tool)
      rehash(tool, 'a')
    },
    ofA('head-mismatch'),
  ],
  [
    'delete a whole run',
    11,
    tool => {
      tool.run(`DELETE FROM events WHERE run_id = 'a'`)
      tool.run(`DELETE FROM runs WHERE run_id = 'a'`)
    },
    ofA('run-missing'),
  ],
  [
    'delete all events of a run',
    10,
    tool => tool.run(`DELETE FROM events WHERE run_id = 'a'`),
    ofA('event-missing', 0),
  ],
  [
    'change an event that a fork shares',
    1,
    set('payload', '{}', 1, 'b'),
    { kind: 'event-changed', runId: 'b-fork', sequence: 1, checkpoint: 0 },
    { kind: 'event-changed', runId: 'b', sequence: 1, checkpoint: 0 },
  ],
  [
    'change an event of a fork’s own',
    1,
    set('payload', '{}', 3, 'b-fork'),
    { kind: 'event-changed', runId: 'b-fork', sequence: 3, checkpoint: 0 },
  ],
  [
    'let a fork share more than it did',
    2,
    tool => {
      tool.run(`UPDATE prefixes SET upto = 4 WHERE run_id = 'b-fork'`)
      tool.run(`DELETE FROM events WHERE run_id = 'b-fork' AND seq = 3`)
    },
    { kind: 'event-changed', runId: 'b-fork', sequence: 4, checkpoint: 0 },
  ],
  ['change an event of a run that goes on', 1, set('payload', '{}', 2, 'open'), ofOpen('event-changed', 2)],
  [
    'drop the tail of a run that goes on',
    1,
    tool => tool.run(`DELETE FROM events WHERE run_id = 'open' AND seq = 3`),
    ofOpen('event-missing', 3),
  ],
  [
    'edit the head of a run that goes on',
    1,
    tool => tool.run(`UPDATE runs SET head = 'x' WHERE run_id = 'open'`),
    ofOpen('head-mismatch'),
  ],
  [
    'edit the length of a run that goes on',
    1,
    tool => tool.run(`UPDATE runs SET length = 3 WHERE run_id = 'open'`),
    ofOpen('head-mismatch'),
  ],
  [
    'edit what a checkpoint says of a run',
    1,
    tool => tool.run(`UPDATE checkpoints SET runs = json_set(runs, '$[0].length', 9) WHERE seq = 0`),
    { kind: 'checkpoint-changed', checkpoint: 0 },
  ],
  [
    'edit when a checkpoint was made',
    1,
    tool => tool.run('UPDATE checkpoints SET at = at + 1 WHERE seq = 1'),
    { kind: 'checkpoint-changed', checkpoint: 1 },
  ],
  [
    'edit the hash of a checkpoint',
    1,
    tool => tool.run(`UPDATE checkpoints SET hash = 'x' WHERE seq = 0`),
    { kind: 'checkpoint-changed', checkpoint: 0 },
    { kind: 'signature-invalid', checkpoint: 0 },
  ],
  [
    'edit the signature of a checkpoint',
    1,
    tool => tool.run(`UPDATE checkpoints SET signature = 'AAAA' WHERE seq = 0`),
    { kind: 'signature-invalid', checkpoint: 0 },
  ],
  [
    'make a checkpoint anew, without the key',
    1,
    tool => forge(tool),
    { kind: 'signature-invalid', checkpoint: 0 },
    { kind: 'checkpoint-changed', checkpoint: 1 },
  ],
  [
    'make a checkpoint anew, with another key',
    1,
    tool => forge(tool, '0123456789abcdef'),
    { kind: 'key-unknown', checkpoint: 0 },
    { kind: 'checkpoint-changed', checkpoint: 1 },
  ],
  [
    'delete the first checkpoint',
    1,
    tool => tool.run('DELETE FROM checkpoints WHERE seq = 0'),
    { kind: 'checkpoint-missing', checkpoint: 0 },
    { kind: 'checkpoint-missing', checkpoint: 0, runId: 'b-fork' },
    { kind: 'checkpoint-missing', checkpoint: 0, runId: 'b' },
    { kind: 'checkpoint-missing', checkpoint: 0, runId: 'a' },
  ],
  [
    'delete the last checkpoint',
    1,
    tool => tool.run('DELETE FROM checkpoints WHERE seq = 1'),
    { kind: 'checkpoint-missing', checkpoint: 1, runId: 'c' },
  ],
  [
    'claim a checkpoint for a run it does not cover',
    1,
    tool => tool.run(`UPDATE runs SET checkpoint = 1 WHERE run_id = 'open'`),
    { kind: 'checkpoint-missing', checkpoint: 1, runId: 'open' },
  ],
]

const placeOf = (anomaly: AuditAnomaly): Found => {
  const { message: _, ...place } = anomaly
  return place
}

let applied = 0

describe('E27: whatever is changed in the file is named', () => {
  for (const [name, rows, tamper, ...found] of TAMPERINGS) {
    test(name, async () => {
      const file = await copy()
      const changes = raw(file, database => {
        const tool = new Tool(database)
        tamper(tool)
        return tool.changes
      })
      expect(changes).toBe(rows)
      applied += 1
      const { anomalies } = await verify(file)
      expect(anomalies.map(placeOf)).toEqual(found)
    })
  }

  test('every tampering was applied', () => {
    expect(applied).toBe(TAMPERINGS.length)
    expect(applied).toBeGreaterThan(40)
  })
})

describe('what was not changed is found intact', () => {
  const intact = {
    runs: 5,
    events: 30,
    older: 0,
    purged: 0,
    erased: 0,
    unproven: 0,
    checkpoints: 2,
    signatures: 2,
    anomalies: [],
  }

  test('the database itself', async () => {
    expect(await verify(original)).toEqual(intact)
  })

  test('a copy of the file', async () => {
    expect(await verify(await copy())).toEqual(intact)
  })

  test('a backup made by SQLite while the database is in use', async () => {
    const store = await openStore(`sqlite:${original}`)
    const file = path.join(folder, 'backup.db')
    raw(original, database => database.exec(`VACUUM INTO '${file}'`))
    await store.close()
    expect(await verify(file)).toEqual(intact)
  })

  test('events that are older than the chain are counted, not blamed', async () => {
    const file = await copy()
    const store = await openStore(`sqlite:${file}`)
    const hostId = await f.host(store)
    const older = log(3, 'open').map(event => ({ ...event, hash: '' }))
    const newer = chained(log(5).slice(3))
    await write(store, hostId, { runId: 'older', events: [...older, ...newer] })
    await store.close()
    expect(await verify(file)).toEqual({ ...intact, runs: 6, events: 35, older: 3 })
  })

  test('after a change of keys: what the old one signed can still be checked, until its public half is lost', async () => {
    const data = path.join(folder, 'rotated')
    await fs.cp(trustedKeysFolder(folder), trustedKeysFolder(data), { recursive: true })
    await ensureSigningKey(data)
    expect(await fs.readdir(trustedKeysFolder(data))).toHaveLength(2)
    expect(await verifyDatabase(`sqlite:${original}`, data, 'all')).toEqual(intact)
    const { anomalies } = await verifyDatabase(`sqlite:${original}`, path.join(folder, 'no-keys'), 'all')
    expect(anomalies.map(({ kind }) => kind)).toEqual(['key-unknown', 'key-unknown'])
  })
})

describe('assay verify --integrity', () => {
  const assay = async (...args: string[]) => {
    const out: string[] = []
    const note: string[] = []
    const terminal = { draw: () => undefined, isLive: false, columns: 80, readStdin: async () => '' }
    const code = await main(['--data', folder, 'verify', ...args], {
      ...terminal,
      out: line => void out.push(line),
      note: line => void note.push(line),
    })
    return { code, out: out.join('\n'), note: note.join('\n') }
  }

  test('says what was checked when all is well', async () => {
    const all = await assay('--integrity', '--all')
    expect(all.code).toBe(0)
    expect(all.out).toContain('5 runs, 30 events, 2 checkpoints, 2 valid signatures: ')
    const some = await assay('--integrity', 'a', 'b', 'open')
    expect(some.code).toBe(0)
    expect(some.out).toContain('3 runs, 20 events, 1 checkpoints, 1 valid signatures: ')
  })

  test('names run, sequence and what is wrong, and exits 1', async () => {
    const file = await copy()
    raw(file, database => set('payload', '{}', 7)(new Tool(database)))
    for (const what of ['--all', 'a']) {
      const { code, out } = await assay('--integrity', what, '--database', `sqlite:${file}`)
      expect(code).toBe(1)
      expect(out.split('\n')[0]).toBe('run a: event 7 was changed')
    }
    const { out } = await assay('--integrity', 'a', '--database', `sqlite:${file}`, '--json')
    expect(JSON.parse(out).anomalies).toEqual([
      { kind: 'event-changed', runId: 'a', sequence: 7, checkpoint: 0, message: 'event 7 was changed' },
    ])
  })

  test('a run that is not there is an anomaly', async () => {
    const { code, out } = await assay('--integrity', 'nobody')
    expect(code).toBe(1)
    expect(out).toContain('run nobody: there is no such run')
  })

  test.each([
    [['--integrity'], /run ids or --all/],
    [['--integrity', '--all', 'a'], /run ids or --all/],
    [['--integrity', '--file', 'x.json'], /run ids or --all/],
    [['--integrity', '--all', '--database', 'memory:'], /in memory/],
    [['--integrity', '--all', '--database', 'sqlite:/nowhere/assay.db'], /no such file/],
    [['--all', '--database', 'memory:'], /--database is for --integrity/],
    [['a', 'b'], /say what to verify/],
  ])('%j is refused, and no database is made', async (args, message) => {
    const { code, note } = await assay(...args)
    expect(code).toBe(2)
    expect(note).toMatch(message)
  })
})
