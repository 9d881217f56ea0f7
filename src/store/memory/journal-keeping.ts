import { forkScope, type LayerBefore, runScope, SPACES, type Space } from '../../core/journal/place.js'
import type { Content, Key, OutsideResult, OutsideWrite, ScopeRow, StreamEvent } from '../../engine/ports/journal.js'
import { hashOfBody } from '../journal-content.js'
import { keyOf } from '../journal-reads.js'
import type { ToldWrite } from '../journal-rules.js'
import { isInLayer, publishAt, tellTenant } from './journal-commit.js'
import {
  allOrNothing,
  contentKey,
  deleteScope,
  isSameWrite,
  type JournalTables,
  latestOf,
  type Published,
  publishedIn,
  type Scope,
  scopeOf,
  setScope,
  writeNamed,
} from './journal-tables.js'
import { dropUpload, lengthOf, partsOf } from './pieces.js'
import { addTo, type Tables } from './tables.js'

export function keepContent(tables: Tables, content: Content): void {
  const key = contentKey(content.tenant, content.contentId)
  if (tables.journal.contents.has(key)) return
  const parts = partsOf(tables.journal, content)
  tables.journal.uploads.delete(key)
  tables.journal.contents.set(key, { ...content, hash: hashOfBody(content.body), parts })
  addTo(tables.bytes, content.tenant, content.body.byteLength)
}

export function writeOutside(
  tables: Tables,
  tenant: string,
  writes: readonly OutsideWrite[],
  event: StreamEvent | null,
): OutsideResult {
  const work = (): OutsideResult => {
    const rows: Written[] = []
    for (const { content } of writes) if (content) partsOf(tables.journal, content)
    for (const outside of writes) {
      const written = writeOne(tables.journal, tenant, outside)
      if ('refused' in written) return written.refused
      rows.push(written)
    }
    if (event) tellTenant(tables.journal, tenant, event)
    return { kind: 'written', rows }
  }
  const result = allOrNothing(tables.journal, work, ({ kind }) => kind !== 'written')
  if (result.kind === 'written') for (const { content } of writes) if (content) keepContent(tables, content)
  return result
}

type Written = { readonly position: number; readonly version: number | null }

function writeOne(
  journal: JournalTables,
  tenant: string,
  outside: OutsideWrite,
): Written | { readonly refused: OutsideResult } {
  const { space, scope, op, id, at } = outside
  const before = latestOf(scopeOf(journal, tenant, space, scope), outside)
  if (op === 'forget' && !isThere(before, at)) return { refused: { kind: 'absent', id } }
  const write = toldOutside(journal, tenant, outside)
  const conflict = publishAt(journal, scope, write, at)
  if (conflict) return { refused: { kind: 'conflict', id, currentVersion: conflict.currentVersion } }
  journal.writes.set(write.runId, [...(journal.writes.get(write.runId) ?? []), write])
  const published = publishedIn(scopeOf(journal, tenant, space, scope), write)
  return { position: published?.position ?? 0, version: published?.version ?? null }
}

const isThere = (row: Published | undefined, at: number): boolean =>
  row?.write.op === 'put' && (row.write.expiresAt === null || row.write.expiresAt > at)

function toldOutside(journal: JournalTables, tenant: string, outside: OutsideWrite): ToldWrite {
  const { content, ...told } = outside
  const { events, writes: sequence } = journal.streams.get(tenant) ?? { events: [], writes: 0 }
  journal.streams.set(tenant, { events, writes: sequence + 1 })
  const place = { tenant, runId: `tenant:${tenant}`, sequence, nodeId: '', agentId: null, since: 0, seen: 0 }
  return {
    ...told,
    ...place,
    contentId: content?.contentId ?? null,
    bytes: outside.bytes ?? content?.body.byteLength ?? 0,
  }
}

export const entriesOf = ({ rows }: Scope): number =>
  rows.filter(({ until, write }) => until === null && write.op === 'put').length

/** Keys that have no put in the scope, and that these runs will put there if gates let them. */
export function heldKeys(journal: JournalTables, scope: Scope, held: readonly LayerBefore[]): ReadonlySet<string> {
  const { tenant, space, scope: name } = scope
  const layered = held.flatMap(({ runId }) =>
    (journal.layers.get(runId) ?? []).flatMap(row => {
      const write = row.left === null && row.scope === name ? writeNamed(journal, row.write) : undefined
      return write ? [write] : []
    }),
  )
  const [own] = held
  const since = (own && journal.writes.get(own.runId))?.filter(
    ({ scope: to, sequence }) => to === name && own !== undefined && sequence >= own.before,
  )
  const keys = new Set<string>()
  for (const write of [...layered, ...(since ?? [])]) {
    if (write.tenant !== tenant || write.space !== space) continue
    if (write.op === 'put' && latestOf(scope, write)?.write.op !== 'put') keys.add(keyOf(write))
    else keys.delete(keyOf(write))
  }
  return keys
}

export function scopesOf(journal: JournalTables, tenant: string, space: Space, after?: string): ScopeRow[] {
  const scopes = [...journal.scopes.values()].filter(
    one => one.tenant === tenant && one.space === space && (after === undefined || one.scope > after),
  )
  return scopes
    .map(one => ({ scope: one.scope, head: one.head, entries: entriesOf(one), horizon: one.horizon }))
    .sort((a, b) => (a.scope < b.scope ? -1 : 1))
}

/**
 * Superseded rows, the first to be superseded first; a view at or above the position where that happened does not see
 * them. What has expired and is the latest of its key goes when something was published after its end: views from before
 * that are below its position, and later ones do not see what has expired.
 */
export function collect(tables: Tables, olderThan: number, limit: number): number {
  const gone = [...tables.journal.scopes.values()]
    .flatMap(scope => scope.rows.flatMap(row => endOf(scope, row, olderThan)))
    .sort((a, b) => a.endedAt - b.endedAt || a.until - b.until)
    .slice(0, limit)
  for (const { scope: found, row, until } of gone) {
    const scope = scopeOf(tables.journal, found.tenant, found.space, found.scope)
    const rows = scope.rows.filter(({ position }) => position !== row.position)
    setScope(tables.journal, { ...scope, rows, horizon: Math.max(scope.horizon, until) })
    forgetLayers(tables.journal, entry => entry.scope === scope.scope && isSameWrite(entry.write, row.write))
    dropUnused(tables, row.write)
  }
  return gone.length
}

function endOf(scope: Scope, row: Published, olderThan: number) {
  const { until, endedAt, write, position } = row
  if (until !== null) return endedAt !== null && endedAt < olderThan ? [{ scope, row, until, endedAt }] : []
  const { op, expiresAt, space } = write
  if (op === 'forget' || space !== 'memory' || expiresAt === null || expiresAt >= olderThan) return []
  if (scope.scope.startsWith(forkScope(''))) return []
  const next = scope.rows.find(other => other.position > position && other.at > expiresAt && other.at < olderThan)
  return next ? [{ scope, row, until: next.position, endedAt: expiresAt }] : []
}

function forgetLayers(
  journal: JournalTables,
  isGone: (row: { readonly write: { runId: string; sequence: number }; readonly scope: string }) => boolean,
): void {
  for (const [runId, rows] of journal.layers) {
    const left = rows.filter(row => !isGone(row))
    if (left.length < rows.length) journal.layers.set(runId, left)
  }
}

const isPublished = (journal: JournalTables, write: ToldWrite): boolean =>
  [...journal.scopes.values()].some(scope => publishedIn(scope, write) !== undefined)

/** A write that is neither in a scope nor in a layer goes, with its content. */
function dropUnused(tables: Tables, write: ToldWrite): void {
  const { journal } = tables
  if (isPublished(journal, write) || isInLayer(journal, write)) return
  deleteWrite(tables, write)
}

function deleteWrite(tables: Tables, write: ToldWrite): void {
  const { journal } = tables
  const rows = journal.writes.get(write.runId)?.filter(({ sequence }) => sequence !== write.sequence) ?? []
  if (rows.length > 0) journal.writes.set(write.runId, rows)
  else journal.writes.delete(write.runId)
  deleteUnnamed(tables, write.tenant, write.contentId)
}

/** Content that no write names any more. */
function deleteUnnamed(tables: Tables, tenant: string, contentId: string | null): number {
  const isNamed = [...tables.journal.writes.values()].some(rows =>
    rows.some(row => row.tenant === tenant && row.contentId === contentId),
  )
  return contentId === null || isNamed ? 0 : deleteContent(tables, tenant, contentId)
}

function deleteContent(tables: Tables, tenant: string, contentId: string): number {
  const key = contentKey(tenant, contentId)
  const content = tables.journal.contents.get(key)
  if (content === undefined) return 0
  tables.journal.contents.delete(key)
  addTo(tables.bytes, tenant, -content.body.byteLength - lengthOf(content.parts))
  return 1
}

/** Every version of a key in a scope, those that are held included. Rows stay, with hashes, and without tags. */
export function destroy(tables: Tables, tenant: string, space: Space, scope: string, key: Key): number {
  const { journal } = tables
  const found = scopeOf(journal, tenant, space, scope)
  const isMeant = (write: ToldWrite) =>
    write.tenant === tenant &&
    write.space === space &&
    keyOf(write) === keyOf(key) &&
    (write.scope === scope || publishedIn(found, write) !== undefined)
  let destroyed = 0
  const blanked = (write: ToldWrite): ToldWrite => ({ ...write, tags: [] })
  const meant = [...journal.writes.values()].flat().filter(isMeant)
  for (const { contentId } of meant) if (contentId !== null) destroyed += deleteContent(tables, tenant, contentId)
  const isOne = (write: ToldWrite) => meant.some(one => isSameWrite(one, write))
  for (const [runId, rows] of journal.writes)
    if (rows.some(isOne))
      journal.writes.set(
        runId,
        rows.map(row => (isOne(row) ? blanked(row) : row)),
      )
  for (const one of journal.scopes.values())
    if (one.rows.some(({ write }) => isOne(write)))
      setScope(journal, {
        ...one,
        rows: one.rows.map(row => (isOne(row.write) ? { ...row, write: blanked(row.write) } : row)),
      })
  return destroyed
}

/** S12: what the run saw and has read, what it wrote and nobody published, its drafts, and the scopes that are its own. */
export function purgeJournal(tables: Tables, runId: string, tenant: string): void {
  const { journal } = tables
  journal.layers.delete(runId)
  journal.reads.delete(runId)
  for (const space of SPACES)
    for (const name of [runScope(runId), forkScope(runId)]) dropScope(tables, scopeOf(journal, tenant, space, name))
  for (const write of journal.writes.get(runId) ?? []) {
    if (isPublished(journal, write)) continue
    forgetLayers(journal, entry => isSameWrite(entry.write, write))
    deleteWrite(tables, write)
  }
  for (const { runId: of, contentId } of journal.contents.values())
    if (of === runId) deleteUnnamed(tables, tenant, contentId)
}

function dropScope(tables: Tables, scope: Scope): void {
  deleteScope(tables.journal, scope)
  for (const { write } of scope.rows) {
    forgetLayers(tables.journal, entry => isSameWrite(entry.write, write) && entry.scope === scope.scope)
    dropUnused(tables, write)
  }
}

/** S14: a limited number of each kind at a time; how many of each were deleted. */
export function eraseJournal(tables: Tables, tenant: string, limit: number): number[] {
  const { journal } = tables
  const uploads = [...journal.uploads.values()].filter(row => row.tenant === tenant).slice(0, limit)
  for (const upload of uploads) dropUpload(tables, upload)
  const contents = [...journal.contents.values()].filter(row => row.tenant === tenant).slice(0, limit)
  for (const { contentId } of contents) deleteContent(tables, tenant, contentId)
  const isGone = ([, rows]: readonly [string, readonly ToldWrite[]]) => rows.some(row => row.tenant === tenant)
  for (const [runId] of [...journal.writes].filter(isGone)) journal.writes.delete(runId)
  for (const scope of journal.scopes.values()) if (scope.tenant === tenant) deleteScope(journal, scope)
  journal.streams.delete(tenant)
  return [uploads.length, contents.length]
}
