import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { claimToken } from '../claim-tokens.js'
import { clientConfig, directConfig, inSchema, type Settings, sessionSettings } from './connections.js'
import { PROBE } from './statements.js'

export const NOT_POSTGRES =
  'Assay needs PostgreSQL 14 or later itself: databases that only speak its protocol do not keep what it promises.'

type Session = Pick<pg.Client, 'query'>

/** Two connections of the kind the store uses, and two past the pooler where there is a way. */
export type Sessions = { readonly used: readonly [Session, Session]; readonly direct?: readonly [Session, Session] }

/** A pooler may have too few connections for all hosts that start at once, so that each has one and waits for two. */
const QUERY_MS = 2_000
const PATIENCE_MS = 30_000
const PAUSE_MS = 1_000

/** `look` may be called more than once: whoever waits too long for a connection gives up its own, and tries again. */
export async function withSessions(settings: Settings, look: (sessions: Sessions) => Promise<void>): Promise<void> {
  const patience = AbortSignal.timeout(PATIENCE_MS)
  for (;;) {
    try {
      return await inSessions(settings, look)
    } catch (error) {
      if (!isTimeout(error)) throw error
      if (patience.aborted)
        throw new Error('the database does not give a host two connections at once', { cause: error })
      // Not all at the same time again.
      await delay(PAUSE_MS * (Number.parseInt(claimToken().slice(0, 2), 16) / 256))
    }
  }
}

const isTimeout = (error: unknown): boolean => error instanceof Error && error.message === 'Query read timeout'

async function inSessions(settings: Settings, look: (sessions: Sessions) => Promise<void>): Promise<void> {
  const client = (config: pg.ClientConfig) => new pg.Client({ ...config, query_timeout: QUERY_MS })
  const pair = (config: pg.ClientConfig) => [client(config), client(config)] as const
  const used = pair(clientConfig(settings))
  const past = settings.directUrl === undefined ? undefined : directConfig(settings)
  const direct = past && pair(past)
  const all = [...used, ...(direct ?? [])]
  // What becomes of a connection, the next query on it says.
  for (const one of all) one.on('error', () => undefined)
  try {
    for (const one of all) await one.connect()
    await look(direct ? { used, direct } : { used })
  } finally {
    await Promise.all(all.map(one => one.end()))
  }
}

/**
 * Before anything is written: whether connections are what the settings say, have what commits rest on, and whether
 * locks exclude. What the database says of itself, its version for one, proves nothing.
 */
export async function probeConnections(settings: Settings, { used, direct }: Sessions): Promise<void> {
  if (direct) await refuseSharedSession(direct, SHARED_DIRECT)
  if (!settings.pooled) {
    await refuseSharedSession(used, SHARED)
    for (const session of used) await session.query(sessionSettings(settings))
  }
  for (const session of used) await refuseWrongSettings(session)
  const [first, second] = used
  if (!(await lockIsSeen(first, second)))
    throw new Error(`advisory locks of this database exclude nobody. ${NOT_POSTGRES}`)
  // Advisory locks are a database's own, so they tell one from another, whatever the two are called.
  if (direct && !(await lockIsSeen(first, direct[0])))
    throw new Error('--database and --database-direct-url lead to different databases: give two ways to the same one')
}

/** With the tables there: whether triggers see what a statement has written, and whether locked rows are skipped. */
export async function probeTables({ schema }: Settings, { used: [first, second] }: Sessions): Promise<void> {
  await refuseSilentTrigger(schema, first)
  await refuseHeldUp(schema, first, second)
}

const SHARED =
  'the database is behind a pooler in transaction mode: add --database-pooled, and --database-direct-url if the server itself can be reached'
const SHARED_DIRECT =
  '--database-direct-url leads to a pooler in transaction mode: give the URL of the server itself, or leave it out'

/** A pooler hands the connection of one, when its transaction is over, to the other. */
async function refuseSharedSession([first, second]: readonly [Session, Session], message: string): Promise<void> {
  const mark = claimToken()
  await first.query(PROBE.markSession, [mark])
  const { rows } = await second.query(PROBE.readMark)
  if (rows[0].mark === mark) throw new Error(message)
}

async function refuseWrongSettings(session: Session): Promise<void> {
  const { rows } = await session.query(PROBE.readSettings)
  const { synchronousCommit, isolation, searchPath, first, temporary } = rows[0]
  const refuse = (seen: string, why: string, wanted: string) => {
    throw new Error(`the database connection has ${seen}: ${why}. Set it for its role: ALTER ROLE … SET ${wanted}`)
  }
  if (!['on', 'remote_apply'].includes(synchronousCommit))
    refuse(`synchronous_commit = ${synchronousCommit}`, 'what it answers could be lost', 'synchronous_commit = on')
  if (isolation !== 'read committed') {
    const wanted = `default_transaction_isolation = 'read committed'`
    refuse(`default_transaction_isolation = ${isolation}`, 'commits would abort each other', wanted)
  }
  if (first !== 'pg_catalog' && first !== temporary)
    refuse(`search_path = ${searchPath}`, 'another schema comes before pg_catalog', 'search_path = pg_catalog')
}

/** Whether a lock that one holds is not to be had by the other until it is given back. */
async function lockIsSeen(holder: Session, other: Session): Promise<boolean> {
  const name = `assay.probe.${claimToken()}`
  const tryIt = async (session: Session) => (await session.query(PROBE.tryLock, [name])).rows[0].got === true
  await holder.query('BEGIN')
  const held = await tryIt(holder)
  const had = await tryIt(other)
  await holder.query('ROLLBACK')
  return held && !had && (await tryIt(other))
}

async function refuseSilentTrigger(schema: string, session: Session): Promise<void> {
  await session.query(inSchema(PROBE.insertOrphan, schema)).catch((error: unknown) => {
    if (!(error instanceof pg.DatabaseError) || error.code !== 'AS001') throw error
    const seen = 'the trigger that guards the log does not see what is written'
    throw new Error(`${seen}: triggers are switched off, or not carried out per statement. ${NOT_POSTGRES}`)
  })
}

async function refuseHeldUp(schema: string, first: Session, second: Session): Promise<void> {
  await first.query('BEGIN')
  await first.query(inSchema(PROBE.lockStep, schema))
  await second.query(`BEGIN; SET LOCAL lock_timeout = ${QUERY_MS / 2}`)
  const isSkipped = await second.query(inSchema(PROBE.lockStepUnlessLocked, schema)).then(
    ({ rows }) => rows.length === 0,
    error => {
      if (error instanceof pg.DatabaseError) return false
      throw error
    },
  )
  for (const session of [first, second]) await session.query('ROLLBACK')
  if (!isSkipped) throw new Error(`SKIP LOCKED does not skip what is locked in this database. ${NOT_POSTGRES}`)
}
