import pg from 'pg'
import { Connection } from '../src/store/sqlite/connection.js'

/**
 * Journals of a given length, made by SQL with the triggers off: rows of the shape that those would have made, whose events
 * are left out. They are in tables that no read of the journal looks at.
 *
 * Row `i` of `n` has position `i`. Every tenth is one more version of `hot`, the one key under the ref `state`; the others are of `n / 2` keys in
 * turn, so that each is written twice, and the first half of the scope is superseded by the second. One key in ten is under the ref
 * `plans`. Words: `note` and `everything` in all texts, `scarce` in twenty at any length, `often` in all of `hot`, `numberI` in
 * one.
 */
export const SEEDED = { tenant: 'default', scope: 'bench' } as const

const WRITES_OF_A_RUN = 1_000

/** Parts of rows, in the SQL that both databases speak. `i` and `n` are whole numbers. */
const KEYS = '(n / 2)'
const ID = `CASE WHEN i % 10 = 0 THEN 'hot' ELSE 'k' || (i % ${KEYS}) END`
const REF = `CASE i % 10 WHEN 0 THEN 'state' WHEN 1 THEN 'plans' ELSE 'notes' END`
const OFTEN = '(i % 10 = 0)'
const NEXT = `(i + CASE WHEN i % 10 = 0 THEN 10 ELSE ${KEYS} END)`
const UNTIL = `CASE WHEN ${NEXT} <= n THEN ${NEXT} END`
const SCARCE = '(i % (n / 20) = 3)'
const TEXT = `'note everything number' || i || CASE WHEN ${OFTEN} THEN ' often' WHEN ${SCARCE} THEN ' scarce' ELSE '' END`
const RUN = `'seed-' || (i / ${WRITES_OF_A_RUN})`
const SEQ = `(i % ${WRITES_OF_A_RUN} + 2)`
const AT = '1700000000000 + i'

const COLUMNS = {
  contents: 'tenant, content_id, hash, sealed, text_is_body, words, text, body',
  writes:
    'write_id, run_id, seq, tenant, space, scope, ref, id, op, node_id, since, tags, at, content_id, hash, bytes, seen',
  layers: 'run_id, seq, ord, write_id, tenant, space, scope, ref, id, node_id, isolated',
  journal: 'scope_id, pos, write_id, ref, id, at, until, ended_at, span',
} as const

const { tenant, scope } = SEEDED

/** Nine keys in ten of those that are written in turn, and `hot`. */
const entriesOf = (n: number): number => (n / 2 / 10) * 9 + 1

/** What differs: how booleans, lists and bytes are written, and what rows are numbered from. */
type Dialect = {
  false: string
  true: string
  words: string
  tags: string
  body: string
  hex: (of: string) => string
  override: string
}

const inserts = (rows: string, dialect: Dialect): string[] => [
  `INSERT INTO journal_contents (${COLUMNS.contents})
   SELECT '${tenant}', 'c' || i, 'h' || i, ${dialect.false}, ${dialect.true}, ${dialect.words}, NULL, ${dialect.body} FROM ${rows}`,
  `INSERT INTO journal_writes (${COLUMNS.writes}) ${dialect.override}
   SELECT i, ${RUN}, ${SEQ}, '${tenant}', 'memory', '${scope}', ${REF}, ${ID}, 'put', 'n1', 1, ${dialect.tags}, ${AT}, 'c' || i,
          'h' || i, length(${TEXT}), 0 FROM ${rows}`,
  `INSERT INTO journal_layers (${COLUMNS.layers})
   SELECT ${RUN}, ${SEQ}, 0, i, '${tenant}', 'memory', '${scope}', ${REF}, ${ID}, 'n1', ${dialect.false} FROM ${rows}`,
  `INSERT INTO journal (${COLUMNS.journal})
   SELECT 1, i, i, ${REF}, ${ID}, ${AT}, ${UNTIL}, ${UNTIL} + 1700000000000, ${spanIn(dialect)} FROM ${rows}`,
]

const spanIn = ({ hex }: Dialect): string => `CASE WHEN ${NEXT} <= n THEN length(${hex(`${NEXT} - i`)}) ELSE 0 END`

const SOME: { readonly [word: string]: string } = { "'scarce'": SCARCE, "'often'": OFTEN }

const wordInserts = (rows: string, dialect: Dialect): string[] =>
  [`'everything'`, `'note'`, `'number' || i`, `'scarce'`, `'often'`].map(
    word => `INSERT INTO journal_words (scope_id, word, span, pos) SELECT 1, ${word}, ${spanIn(dialect)}, i FROM ${rows}
              WHERE ${SOME[word] ?? 'true'} ORDER BY 2, 3, 4`,
  )

/** The file has the schema already. */
export function seedSqlite(path: string, n: number): void {
  const db = new Connection(path, 0, ['cache_size = -200000', 'foreign_keys = OFF'])
  const rows = `(WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < ${n}) SELECT i, ${n} AS n FROM r)`
  db.exec('BEGIN IMMEDIATE')
  const triggers = db.all("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%journal%'")
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${String(name)}`)
  db.exec(
    `INSERT INTO journal_scopes (scope_id, tenant, space, scope, head, entries) VALUES (1, '${tenant}', 'memory', '${scope}', ${n}, ${entriesOf(n)})`,
  )
  const words = `json_array('note', 'everything', 'number' || i)`
  const dialect = {
    false: '0',
    true: '1',
    words: `CASE WHEN ${OFTEN} THEN json_insert(${words}, '$[#]', 'often')
                 WHEN ${SCARCE} THEN json_insert(${words}, '$[#]', 'scarce') ELSE ${words} END`,
    tags: `'["seeded"]'`,
    body: `CAST(${TEXT} AS BLOB)`,
    hex: (of: string) => `printf('%x', ${of})`,
    override: '',
  }
  for (const statement of inserts(rows, dialect)) db.exec(statement)
  for (const statement of wordInserts(rows, dialect)) db.exec(statement)
  for (const { sql } of triggers) db.exec(String(sql))
  db.exec('COMMIT')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

/** The database has the schema already. */
export async function seedPostgres(url: string, n: number): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=assay' })
  await client.connect()
  const rows = `(SELECT i::bigint AS i, ${n}::bigint AS n FROM generate_series(1, ${n}) i) r`
  const words = `ARRAY['note', 'everything', 'number' || i] || CASE WHEN ${OFTEN} THEN ARRAY['often'] WHEN ${SCARCE} THEN ARRAY['scarce'] ELSE '{}' END`
  const dialect = {
    false: 'false',
    true: 'true',
    words,
    tags: `ARRAY['seeded']`,
    body: `convert_to(${TEXT}, 'UTF8')`,
    hex: (of: string) => `to_hex(${of})`,
    override: 'OVERRIDING SYSTEM VALUE',
  }
  await client.query("BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL maintenance_work_mem = '256MB'")
  await client.query(
    `INSERT INTO journal_scopes (scope_id, tenant, space, scope, head, entries) OVERRIDING SYSTEM VALUE
     VALUES (1, '${tenant}', 'memory', '${scope}', ${n}, ${entriesOf(n)})`,
  )
  const indexes = await client.query(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
      WHERE schemaname = 'assay' AND tablename LIKE 'journal%' AND indexname NOT IN (SELECT conname FROM pg_constraint)`,
  )
  for (const { name } of indexes.rows) await client.query(`DROP INDEX ${name}`)
  for (const statement of inserts(rows, dialect)) await client.query(statement)
  for (const statement of wordInserts(rows, dialect)) await client.query(statement)
  for (const { definition } of indexes.rows) await client.query(definition)
  for (const [table, column] of [
    ['journal_scopes', 'scope_id'],
    ['journal_writes', 'write_id'],
  ])
    await client.query(`SELECT setval(pg_get_serial_sequence('${table}', '${column}'), max(${column})) FROM ${table}`)
  await client.query('COMMIT')
  // As autovacuum would have it a minute later.
  await client.query('VACUUM (ANALYZE)')
  await client.end()
}
