import { refuseControls } from '../storable-text.js'
import { type Database, openDatabase, type SqlRow, type SqlValue, type Statement } from './driver.js'

/**
 * One open database with its prepared statements. The package under it cuts text at a NUL, so that a name would find the
 * row of another: no text with one is bound (S11).
 */
export class Connection {
  readonly #database: Database
  readonly #statements = new Map<string, Statement>()

  constructor(path: string, busyMs: number, pragmas: readonly string[]) {
    this.#database = openDatabase(path, busyMs)
    try {
      for (const pragma of ['foreign_keys = ON', ...pragmas]) this.#database.exec(`PRAGMA ${pragma}`)
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  run(sql: string, ...parameters: SqlValue[]): number {
    return Number(this.#bound(sql, parameters).run(...parameters).changes)
  }

  get(sql: string, ...parameters: SqlValue[]): SqlRow | undefined {
    return this.#bound(sql, parameters).get(...parameters) as SqlRow | undefined
  }

  all(sql: string, ...parameters: SqlValue[]): SqlRow[] {
    return this.#bound(sql, parameters).all(...parameters) as SqlRow[]
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  #bound(sql: string, parameters: readonly SqlValue[]): Statement {
    for (const parameter of parameters) refuseControls(parameter)
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** The newest migration in the database; 0 for an empty one. */
export function schemaVersion(connection: Connection): number {
  const known = connection.get(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`)
  return known ? Number(connection.get('SELECT coalesce(max(version), 0) AS version FROM migrations')?.version) : 0
}
