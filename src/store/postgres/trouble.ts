import pg from 'pg'

/**
 * What an error from PostgreSQL says about the statement that was sent:
 *
 *  `retry`        lost or aborted on the way; sending it again finds out what became of it
 *  `unavailable`  refused for lack of something; nothing was written, and another try now would fare no better
 *  `fault`        the statement itself is wrong; nothing was written
 */
export type Trouble = 'retry' | 'unavailable' | 'fault'

const RETRY = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // lock timeout
  '57014', // statement timeout
  '57P01', // terminated by an administrator
  '57P02', // crash of another backend
  '57P03', // starting up
])

/** connection exceptions · authorization · insufficient resources · system and I/O errors */
const UNAVAILABLE_CLASSES = new Set(['28', '53', '58'])

const UNAVAILABLE = new Set([
  '25006', // read-only: a replica
  '3D000', // the database is gone
  '42P01', // the tables are gone
  '42883', // the functions are gone
])

/** Something was to be stored of a tenant that was erased (S14): what `refuse_erased` raises. */
export const isOfErased = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === 'AE410'

/** The content of a write is not stored, or not all of it (S15): what `take_write` and `contents_have_pieces` raise. */
export const isWithoutContent = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === 'AC404'

export function troubleOf(error: unknown): Trouble {
  // Anything that did not come from the server is about the way to it.
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return 'retry'
  const { code } = error
  if (RETRY.has(code) || code.startsWith('08')) return 'retry'
  return UNAVAILABLE.has(code) || UNAVAILABLE_CLASSES.has(code.slice(0, 2)) ? 'unavailable' : 'fault'
}
