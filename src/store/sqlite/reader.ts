import { StoreUnavailable, UnstorableText } from '../../engine/ports/event-log.js'
import { Connection } from './connection.js'
import { type SqlRow, type SqlValue, troubleOf } from './driver.js'

/**
 * Reads on a connection of their own (S7): in WAL mode a reader sees the last committed state and waits for nobody.
 * They run on the calling thread, because each is a few page lookups; a round trip to a thread would cost more. By a
 * text that cannot be stored nothing is found (S11).
 */
export class Reader {
  readonly #path: string
  #connection: Connection | undefined
  #closed = false

  constructor(path: string) {
    this.#path = path
  }

  get(sql: string, ...parameters: SqlValue[]): SqlRow | undefined {
    return this.#read(connection => connection.get(sql, ...parameters), undefined)
  }

  all(sql: string, ...parameters: SqlValue[]): SqlRow[] {
    return this.#read(connection => connection.all(sql, ...parameters), [])
  }

  /** Reads that see one state of the database, whatever is written meanwhile. They must not wait for anything. */
  together<T>(reads: () => T): T {
    this.#read(connection => connection.exec('BEGIN'), undefined)
    const began = this.#connection
    try {
      return reads()
    } finally {
      // After trouble there is another connection, or none.
      if (this.#connection === began) began?.exec('COMMIT')
    }
  }

  /** The next read opens the file anew: after trouble, it may be another file. */
  reopen(): void {
    this.#connection?.close()
    this.#connection = undefined
  }

  close(): void {
    this.#closed = true
    this.reopen()
  }

  #read<T>(query: (connection: Connection) => T, nothing: T): T {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    try {
      this.#connection ??= new Connection(this.#path, 250, ['query_only = ON', 'cache_size = -16384'])
      return query(this.#connection)
    } catch (error) {
      if (error instanceof UnstorableText) return nothing
      const trouble = troubleOf(error)
      if (trouble === undefined) throw error
      this.reopen()
      throw new StoreUnavailable(`SQLite cannot read: ${trouble}`, { cause: error })
    }
  }
}
