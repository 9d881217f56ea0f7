import type { Space } from '../../../core/journal/place.js'
import type { Key, OutsideResult, OutsideWrite, StreamEvent } from '../../../engine/ports/journal.js'
import type { PackedContent } from '../../journal-content.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

/** Whether the error says that the content of a write is not stored (S15). */
export const isWithoutContent = (message: string): boolean => message.includes('the content of a write is not stored')

const CONFLICT = 'workspace conflict '

/** Which file has another version than its write says, where that is the error. */
export function conflictIn(error: unknown): { readonly path: string; readonly currentVersion: number } | undefined {
  const message = error instanceof Error ? error.message : ''
  const from = message.indexOf(CONFLICT)
  return from < 0 ? undefined : (JSON.parse(message.slice(from + CONFLICT.length)) as ReturnType<typeof conflictIn>)
}

export function keepContent(db: Connection, { content }: { readonly content: PackedContent }): void {
  const { tenant, contentId, runId, hash, sealed, textIsBody, words, text, body, pieces } = content
  const flags = [Number(sealed), Number(textIsBody)]
  const said = [words && JSON.stringify(words), text, body, pieces]
  db.run(SQL.journal.keepContent, tenant, contentId, runId, hash, ...flags, ...said)
}

/** `content`: as it was packed. */
export type PackedWrite = Omit<OutsideWrite, 'content'> & { readonly content: PackedContent | null }

/** All or none: what was written before a refusal is undone. A call that was repeated finds what it has written. */
export function writeOutside(
  db: Connection,
  call: { tenant: string; writes: readonly PackedWrite[]; event: StreamEvent | null; token: string },
): OutsideResult {
  const { tenant, writes, event, token } = call
  const before = rowsBy(db, token)
  if (before.length > 0) return { kind: 'written', rows: before }
  db.exec('SAVEPOINT outside')
  for (const write of writes) {
    const refused = refusalOf(db, tenant, write)
    if (refused) {
      db.exec('ROLLBACK TO outside; RELEASE outside')
      return refused
    }
    writeOne(db, tenant, write, token)
  }
  if (event) db.run(SQL.journal.tell, tenant, event.type, event.payload, event.at)
  db.exec('RELEASE outside')
  return { kind: 'written', rows: rowsBy(db, token) }
}

const rowsBy = (db: Connection, token: string) =>
  db.all(SQL.journal.writtenBy, token).map(({ position, version }) => ({
    position: position as number,
    version: version as number | null,
  }))

function refusalOf(
  db: Connection,
  tenant: string,
  { space, scope, ref, id, op, at, ifMatch }: PackedWrite,
): OutsideResult | undefined {
  const latest = db.get(SQL.journal.latest, tenant, space, scope, ref, id)
  const expiresAt = (latest?.expiresAt ?? null) as number | null
  const isThere = latest?.op === 'put' && (expiresAt === null || expiresAt > at)
  if (op === 'forget' && !isThere) return { kind: 'absent', id }
  const currentVersion = latest?.op === 'put' ? Number(latest.version) : 0
  if (space === 'workspace' && ifMatch !== null && ifMatch !== currentVersion)
    return { kind: 'conflict', id, currentVersion }
  return undefined
}

function writeOne(db: Connection, tenant: string, write: PackedWrite, token: string): void {
  const { space, scope, ref, id, op, tags, at, expiresAt, content, hash, contentType, ifMatch } = write
  if (content) keepContent(db, { content })
  const { sequence } = db.get(SQL.journal.countOutside, tenant)!
  const { writeId } = db.get(
    SQL.journal.addOutside,
    tenant,
    sequence!,
    space,
    scope,
    ref,
    id,
    op,
    JSON.stringify(tags),
    at,
    expiresAt,
    content?.contentId ?? null,
    hash,
    write.bytes ?? content?.body.byteLength ?? 0,
    contentType,
    ifMatch,
    token,
  )!
  db.run(SQL.journal.publish, writeId!, scope, at)
}

export function collectJournal(
  db: Connection,
  { olderThan, limit }: { readonly olderThan: number; readonly limit: number },
): number {
  const rows = db.all(SQL.journal.collectable, olderThan, limit)
  for (const { scopeId, pos, until } of rows) {
    db.run(SQL.journal.raiseHorizon, until!, scopeId!)
    db.run(SQL.journal.collect, scopeId!, pos!)
  }
  return rows.length
}

/** Tags after contents: what has no text is found by tags, and these words go with both. */
export function destroyContent(
  db: Connection,
  { tenant, space, scope, key }: { tenant: string; space: Space; scope: string; key: Key },
): number {
  const names = [tenant, space, scope, key.ref, key.id]
  db.exec('PRAGMA secure_delete = ON')
  db.run(SQL.journal.destroyTags, ...names)
  return db.run(SQL.journal.destroyContents, ...names)
}

/** S12: what the run saw and has read, the scopes that are its own, what it wrote and nobody published, and drafts. */
export function purgeJournal(db: Connection, runId: string): void {
  const { purgeLayer, purgeReads, purgeOwn, purgeScopes, purgeUnpublished, purgeDrafts } = SQL.journal
  for (const sql of [purgeLayer, purgeReads, purgeOwn, purgeScopes, purgeUnpublished, purgeDrafts]) db.run(sql, runId)
}

/** S14: a limited number of each kind at a time; how many of each were deleted. */
export function eraseJournal(db: Connection, tenant: string, limit: number): number[] {
  const { erasePieces, erasePublished, eraseWrites, eraseContents, eraseUploads, eraseEvents, eraseReads } = SQL.journal
  const pieces = db.run(erasePieces, tenant, limit)
  if (pieces === limit) return [pieces]
  const kinds = [erasePublished, eraseWrites, eraseContents, eraseUploads, eraseEvents, eraseReads]
  return kinds.map(sql => db.run(sql, tenant, limit))
}

export function forgetJournal(db: Connection, tenant: string): void {
  for (const sql of [SQL.journal.eraseScopes, SQL.journal.eraseStream]) db.run(sql, tenant)
}
