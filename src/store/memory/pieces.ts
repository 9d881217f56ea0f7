import type { Content } from '../../engine/ports/journal.js'
import type { Piece } from '../../engine/ports/pieces.js'
import { MissingContent } from '../../engine/ports/event-log.js'
import { hashOfBody } from '../journal-content.js'
import { contentKey, type JournalTables, type Upload } from './journal-tables.js'
import { addTo, type Tables } from './tables.js'

export function keepPiece(tables: Tables, { tenant, contentId, index, at, body }: Piece): void {
  const key = contentKey(tenant, contentId)
  const upload = tables.journal.uploads.get(key)
  if (tables.journal.contents.has(key) || upload?.parts.has(index)) return
  const parts = new Map(upload?.parts).set(index, body)
  tables.journal.uploads.set(key, { tenant, contentId, at: Math.max(at, upload?.at ?? 0), parts })
  addTo(tables.bytes, tenant, body.byteLength)
}

export function dropUpload(tables: Tables, { tenant, contentId }: Pick<Upload, 'tenant' | 'contentId'>): void {
  const key = contentKey(tenant, contentId)
  const upload = tables.journal.uploads.get(key)
  if (upload === undefined) return
  tables.journal.uploads.delete(key)
  addTo(tables.bytes, tenant, -lengthOf([...upload.parts.values()]))
}

export function collectUploads(tables: Tables, olderThan: number, limit: number): number {
  const old = [...tables.journal.uploads.values()].filter(({ at }) => at < olderThan)
  const gone = old.sort((a, b) => a.at - b.at).slice(0, limit)
  for (const upload of gone) dropUpload(tables, upload)
  return gone.length
}

/** S15: the pieces that content says it is in, all of them, and as its body lists them. */
export function partsOf(journal: JournalTables, { tenant, contentId, pieces, body }: Content): readonly Uint8Array[] {
  const key = contentKey(tenant, contentId)
  if (pieces === 0 || journal.contents.has(key)) return []
  const parts = journal.uploads.get(key)?.parts ?? new Map<number, Uint8Array>()
  const found = Array.from({ length: pieces }, (_, index) => parts.get(index)).filter(part => part !== undefined)
  const listed = Buffer.from(found.map(hashOfBody).join('\n'))
  if (parts.size !== pieces || found.length !== pieces || listed.compare(body) !== 0) throw new MissingContent()
  return found
}

export const lengthOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, part) => sum + part.byteLength, 0)
