import type { Json } from '../../core/json.js'
import { present } from '../../core/present.js'
import { foundBy } from '../storable-text.js'
import type { Connections, Row, Statement } from './connections.js'

const PURGE_STEP = 2000

/** Statements with their values, by what they give. */
export class Queries {
  constructor(private readonly connections: Connections) {}

  async outcome(statement: Statement, ...values: string[]): Promise<Json | undefined> {
    const outcome = (await this.readOne<{ outcome: string | null }>(statement, ...values))?.outcome ?? null
    return outcome === null ? undefined : (JSON.parse(outcome) as Json)
  }

  /** By a text that cannot be stored nothing is found (S11). */
  readAll<T>(statement: Statement, ...values: unknown[]): Promise<T[]> {
    return foundBy(() => this.all<T>(statement, ...values), [])
  }

  async readOne<T>(statement: Statement, ...values: unknown[]): Promise<T | undefined> {
    return (await this.readAll<T>(statement, ...values))[0]
  }

  all<T>(statement: Statement, ...values: unknown[]): Promise<T[]> {
    return this.connections.query<T & Row>(statement, values)
  }

  /** In steps, so that a large purge holds no lock for long. */
  async purge(statement: Statement, olderThan: number): Promise<number> {
    let purged = 0
    for (let step = PURGE_STEP; step === PURGE_STEP; purged += step) {
      step = (await this.answer<{ purged: number }>(statement, olderThan, PURGE_STEP)).purged
    }
    return purged
  }

  /** Of a statement that always gives a row. */
  async answer<T>(statement: Statement, ...values: unknown[]): Promise<T> {
    return present(await this.one<T>(statement, ...values), 'row of a statement that always gives one')
  }

  async one<T>(statement: Statement, ...values: unknown[]): Promise<T | undefined> {
    return (await this.all<T>(statement, ...values))[0]
  }
}
