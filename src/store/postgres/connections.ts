import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { StoreUnavailable } from '../../engine/ports/event-log.js'
import { TenantErased } from '../../engine/ports/tenants.js'
import { refuseControls } from '../storable-text.js'
import { isOfErased, troubleOf } from './trouble.js'

export type Settings = {
  readonly url: string
  /** The server itself, for LISTEN and migrations, where `url` leads to a pooler. */
  readonly directUrl: string | undefined
  /** `url` leads to a pooler that hands its connections on after each transaction, so none is ours for longer. */
  readonly pooled: boolean
  readonly schema: string
  readonly poolSize: number
  /** Longest time a connection may take to come about, and one statement on the server (the client waits 1 s more). */
  readonly statementTimeoutMs: number
  /** How long a statement whose outcome is unknown is tried again before StoreUnavailable. */
  readonly patienceMs: number
}

/** With a name it is prepared, once per connection. `assay.` in the text stands for the schema in use. */
export type Statement = { readonly name?: string; readonly text: string }
export type Row = { readonly [column: string]: unknown }

const INT8 = 20
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** Nothing in it that a pooler would refuse as an unknown start-up parameter, nor `options`, which some drop. */
export const clientConfig = ({ url, statementTimeoutMs }: Settings): pg.ClientConfig => ({
  connectionString: url,
  application_name: 'assay',
  connectionTimeoutMillis: statementTimeoutMs,
  query_timeout: statementTimeoutMs + 1_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  types,
})

/** The same for a connection that is ours for as long as it lasts; undefined where there is none to be had. */
export const directConfig = (settings: Settings): pg.ClientConfig | undefined => {
  const url = settings.directUrl ?? (settings.pooled ? undefined : settings.url)
  return url === undefined ? undefined : clientConfig({ ...settings, url })
}

/** What a connection of our own is told first. A pooler's would keep it for whoever has it next. */
export const sessionSettings = ({ statementTimeoutMs }: Settings): string =>
  `SET search_path = pg_catalog; SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
   SET statement_timeout = ${statementTimeoutMs}; SET lock_timeout = ${Math.ceil(statementTimeoutMs / 2)};
   SET idle_in_transaction_session_timeout = ${statementTimeoutMs}`

/** The statement itself was refused; nothing of it was written. */
export class StatementFault extends Error {}

/**
 * The pool. Every statement is one transaction, and every one that writes may be sent twice: commits know their append
 * id, claims their token, the rest set what they set. So a statement whose outcome is lost is simply sent again.
 */
export class Connections {
  readonly #settings: Settings
  readonly #ending = new Set<Promise<void>>()
  readonly #sent = new Map<Statement, Statement>()
  #pool: pg.Pool
  #closed = false

  constructor(settings: Settings) {
    this.#settings = settings
    this.#pool = this.#open()
  }

  /** Rejects with StoreUnavailable, StatementFault, TenantErased or UnstorableText. */
  async query<R extends Row>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    refuseControls(values)
    let patience: AbortSignal | undefined
    for (let pause = 20; ; pause = Math.min(2 * pause, 500)) {
      try {
        return await this.#try<R>(statement, values, patience !== undefined)
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error
        if (isOfErased(error)) throw new TenantErased()
        const trouble = troubleOf(error)
        if (trouble === 'fault') throw new StatementFault((error as Error).message, { cause: error })
        patience ??= AbortSignal.timeout(this.#settings.patienceMs)
        if (trouble === 'unavailable' || patience.aborted) throw unavailable(error)
        await delay(pause)
      }
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.all([this.#pool.end(), ...this.#ending])
  }

  /** A connection that cannot be had is the end of it, unless an earlier try has left the outcome unknown. */
  async #try<R extends Row>(statement: Statement, values: readonly unknown[], unknown: boolean): Promise<R[]> {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    const pool = this.#pool
    const client = await pool.connect().catch((error: unknown) => {
      throw unknown ? error : unavailable(error)
    })
    try {
      const { rows } = await client.query<R>({ ...this.#asSent(statement), values: values as unknown[] })
      client.release()
      return rows
    } catch (error) {
      const broken = !(error instanceof pg.DatabaseError) || error.severity === 'FATAL'
      client.release(broken)
      if (broken) this.#renew(pool)
      throw error
    }
  }

  /** In the schema in use; without a name where the connection that knows it would be another's next. */
  #asSent(statement: Statement): Statement {
    const known = this.#sent.get(statement)
    if (known) return known
    const { schema, pooled } = this.#settings
    const text = inSchema(statement.text, schema)
    const sent = pooled || statement.name === undefined ? { text } : { name: statement.name, text }
    this.#sent.set(statement, sent)
    return sent
  }

  /** One connection broke: its idle neighbours may be as dead without knowing it, and each would cost a timeout. */
  #renew(pool: pg.Pool): void {
    if (this.#closed || this.#pool !== pool) return
    this.#pool = this.#open()
    // A pool that is ending serves nobody, so those who wait at the old one are served first.
    const retire = (): void => {
      if (pool.waitingCount > 0) return
      pool.off('release', retire)
      const end = pool.end().finally(() => this.#ending.delete(end))
      this.#ending.add(end)
    }
    pool.on('release', retire)
    retire()
  }

  #open(): pg.Pool {
    const { pooled, poolSize } = this.#settings
    const session = sessionSettings(this.#settings)
    const pool = new pg.Pool({
      ...clientConfig(this.#settings),
      max: poolSize,
      ...(pooled ? {} : { onConnect: client => client.query(session) }),
    })
    // The statement that uses a lost connection, or needs a new one, will say what is wrong; but an error that nobody
    // listens for would end the process.
    const known = (): void => undefined
    pool.on('error', known)
    pool.on('connect', client => client.on('error', known))
    return pool
  }
}

export const inSchema = (text: string, schema: string): string => text.replace(/\bassay\.(?=[a-z_])/g, `${schema}.`)

const unavailable = (error: unknown): StoreUnavailable =>
  new StoreUnavailable('PostgreSQL cannot be reached or cannot write now', { cause: error })
