import { type BigIntStats, statSync } from 'node:fs'
import { UnstorableText } from '../../engine/ports/event-log.js'
import { appliedSteps, Connection } from './connection.js'
import { troubleOf } from './driver.js'
import { MIGRATIONS } from './migrations/index.js'
import { type BatchReply, TASKS, type Task, type TaskFailure, type WriterSettings } from './tasks.js'
import { WorkspaceConflict } from './writes/commit.js'
import { isOfErased } from './writes/erasures.js'
import { isUnverifiedMerge } from './writes/gates.js'
import { isWithoutContent } from './writes/journal.js'

/** Sizes are a compromise: a longer write-ahead log means fewer, longer pauses to fold it into the database. */
const PRAGMAS = [
  'synchronous = FULL',
  'wal_autocheckpoint = 4000',
  'journal_size_limit = 67108864',
  'cache_size = -32768',
]

/** The database cannot be used as it is; carried from `#open` to the reply. */
class Trouble extends Error {}

/**
 * The only writer of a database file: one transaction, and so one fsync, per batch of tasks.
 *
 *  W1  A task that fails takes nothing with it: the batch is rolled back and its tasks run one transaction each.
 *  W2  After trouble with the file nothing is retried on the same connection. It is closed; the next batch opens a new
 *      one, which must first move the whole write-ahead log into the database (with fsync). A failed fsync may have
 *      dropped pages that a later fsync would call clean; copying them again is what makes them durable, or fails.
 *  W3  Only a file that already holds our schema is opened. A file that was moved away or replaced is trouble, not a
 *      reason to start an empty database.
 */
export class BatchWriter {
  readonly #settings: WriterSettings
  #connection: Connection | undefined
  #opened: BigIntStats | undefined
  #suspect = false

  constructor(settings: WriterSettings) {
    this.#settings = settings
  }

  run(tasks: readonly Task[]): BatchReply {
    try {
      const db = this.#open()
      db.run('BEGIN IMMEDIATE')
      const values = tasks.map(([name, input]) =>
        (TASKS[name] as (db: Connection, input: unknown) => unknown)(db, input),
      )
      db.run('COMMIT')
      return { values, failures: [], transactions: 1 }
    } catch (error) {
      return this.#failed(tasks, error)
    }
  }

  close(): void {
    this.#connection?.close()
    this.#connection = undefined
  }

  #failed(tasks: readonly Task[], error: unknown): BatchReply {
    const trouble = error instanceof Trouble ? error.message : (troubleOf(error) ?? this.#rollback())
    if (trouble !== undefined) {
      this.#giveUp()
      const message = `SQLite cannot write: ${trouble} (${messageOf(error)})`
      const failures = tasks.map((_, index): TaskFailure => ({ index, message, kind: 'unavailable' }))
      return { values: [], failures, transactions: 0 }
    }
    // Not an error to the caller, but undone like one.
    if (tasks.length === 1 && error instanceof WorkspaceConflict)
      return { values: [error.refused], failures: [], transactions: 0 }
    if (tasks.length > 1) return merge(tasks.map(task => this.run([task])))
    return { values: [], failures: [{ index: 0, message: messageOf(error), kind: kindOf(error) }], transactions: 0 }
  }

  /** Undefined when rolled back; a connection that cannot even do that is given up. */
  #rollback(): string | undefined {
    try {
      this.#connection?.run('ROLLBACK')
      return undefined
    } catch (error) {
      return `rollback failed: ${messageOf(error)}`
    }
  }

  /** Rolled back if that can be: a statement that has failed may outlive its connection for a while, with its lock. */
  #giveUp(): void {
    this.#suspect = true
    this.#rollback()
    try {
      this.close()
    } finally {
      this.#connection = undefined
    }
  }

  #open(): Connection {
    const { path, maxBytes } = this.#settings
    const file = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (!file) throw new Trouble(`${path} is gone`)
    if (this.#connection && this.#opened?.ino === file.ino && this.#opened.dev === file.dev) return this.#connection
    if (this.#connection) throw new Trouble(`${path} was replaced`)
    const connection = new Connection(path, 10_000, PRAGMAS)
    this.#connection = connection
    if (!isMigrated(connection)) throw new Trouble(`${path} has not the expected schema`)
    if (maxBytes !== null) {
      const pageSize = Number(connection.get('PRAGMA page_size')?.page_size)
      connection.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
    }
    if (this.#suspect) moveLogIntoDatabase(connection)
    this.#suspect = false
    this.#opened = file
    return connection
  }
}

const isMigrated = (connection: Connection): boolean => {
  const applied = appliedSteps(connection)
  return applied.length === MIGRATIONS.length && applied.every(({ name }, i) => name === MIGRATIONS[i]?.name)
}

function kindOf(error: unknown): TaskFailure['kind'] {
  if (error instanceof UnstorableText) return 'unstorable'
  if (isOfErased(messageOf(error))) return 'erased'
  if (isWithoutContent(messageOf(error))) return 'contentless'
  return isUnverifiedMerge(messageOf(error)) ? 'unverified' : 'fault'
}

function moveLogIntoDatabase(connection: Connection): void {
  const { busy, log, checkpointed } = connection.get('PRAGMA wal_checkpoint(TRUNCATE)') ?? {}
  if (busy !== 0 && log !== checkpointed) throw new Trouble('the write-ahead log cannot be made durable now')
}

function merge(replies: readonly BatchReply[]): BatchReply {
  return {
    values: replies.map(reply => reply.values[0]),
    failures: replies.flatMap((reply, index) => reply.failures.map(failure => ({ ...failure, index }))),
    transactions: replies.reduce((sum, reply) => sum + reply.transactions, 0),
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
