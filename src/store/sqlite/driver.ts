/**
 * The seam to SQLite: the `node:sqlite` API, built in from Node 22.13, and from the package with the same API before.
 * Nothing else names either of them.
 */

export type SqlValue = null | number | string | Uint8Array

export type SqlRow = { readonly [column: string]: SqlValue }

export interface Statement {
  run(...parameters: SqlValue[]): { readonly changes: number | bigint }
  get(...parameters: SqlValue[]): unknown
  all(...parameters: SqlValue[]): unknown[]
}

export interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

type DatabaseConstructor = new (path: string) => Database

const builtin = process.getBuiltinModule('node:sqlite') as { DatabaseSync: DatabaseConstructor } | undefined

/** Triggers say what is wrong in words of their own, which SQLite takes from 3.47 on. */
const [, minor = 0] = (process.versions.sqlite ?? '3.0').split('.').map(Number)

const { DatabaseSync }: { DatabaseSync: DatabaseConstructor } =
  builtin && minor >= 47 ? builtin : await import('@photostructure/sqlite')

/** `busyMs`: how long a statement waits for a lock that another connection holds. */
export function openDatabase(path: string, busyMs: number): Database {
  const database = new DatabaseSync(path)
  // As a pragma: early versions of the built-in module do not know the option.
  database.exec(`PRAGMA busy_timeout = ${busyMs}`)
  return database
}

/** Primary result codes that say "not now, and not here": the connection is given up and the caller told to reload. */
const UNAVAILABLE = new Map([
  [5, 'busy'],
  [6, 'locked'],
  [7, 'out of memory'],
  [8, 'read-only'],
  [10, 'I/O error'],
  [11, 'corrupt'],
  [13, 'full'],
  [14, 'cannot open'],
  [15, 'locking protocol'],
  [22, 'large files unsupported'],
  [26, 'not a database'],
])

/** What is wrong with the database, or undefined when the error is not about the database but about the statement. */
export function troubleOf(error: unknown): string | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? UNAVAILABLE.get(code & 0xff) : undefined
}

/** The compiled writer: worker threads run JavaScript only, so a source tree under test uses its own build. */
export const writerUrl = (): URL =>
  import.meta.url.endsWith('.ts')
    ? new URL('../../../dist/store/sqlite/writer.js', import.meta.url)
    : new URL('./writer.js', import.meta.url)
