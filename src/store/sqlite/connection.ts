import type { AppliedStep } from '../migration.js'
import { refuseControls } from '../storable-text.js'
import { type Database, openDatabase, type SqlRow, type SqlValue, type Statement } from './driver.js'
import { SQL } from './statements.js'

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

/** The steps that the database has taken; none in an empty one. */
export const appliedSteps = (connection: Connection): AppliedStep[] =>
  connection.get(SQL.migrations.isBegun) ? (connection.all(SQL.migrations.list) as AppliedStep[]) : []
