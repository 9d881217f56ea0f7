import type { AttemptBefore, Space } from '../../core/journal/place.js'
import type { Content, Key, WriteRow } from '../../engine/ports/journal.js'
import { unpackContent } from '../journal-content.js'
import type { FoundRow, JournalRows } from '../journal-reads.js'
import type { SqlRow } from './driver.js'
import type { Reader } from './reader.js'
import { SQL } from './statements.js'

const toWrite = ({ words: _words, ...row }: SqlRow, scope: string): WriteRow =>
  ({ ...row, tags: JSON.parse(row.tags as string), scope }) as unknown as WriteRow

const toFound = (row: SqlRow, scope: string): FoundRow => ({
  row: toWrite(row, scope),
  words: typeof row.words === 'string' ? (JSON.parse(row.words) as string[]) : null,
})

export const journalRowsIn = (reader: Reader): JournalRows => ({
  own: async (tenant, space, { scope, upTo, runs }, { key, withWords }) => {
    const reach = [tenant, space, scope, upTo, JSON.stringify(runs), Number(withWords)]
    const rows = key
      ? reader.all(SQL.journal.ownOfKey, ...reach, key.ref, key.id)
      : reader.all(SQL.journal.own, ...reach)
    return rows.map(row => toFound(row, scope))
  },
  published: async (tenant, space, { scope, upTo }, { ref, id }) => {
    const row = reader.get(SQL.journal.published, tenant, space, scope, upTo, ref, id)
    return row && toWrite(row, scope)
  },
  listed: async (tenant, space, { scope, upTo }, { below, ref = null, prefix = null, tag = null, limit }) => {
    const rows = reader.all(listing(ref, prefix), tenant, space, scope, upTo, below, ref, prefix, tag, limit)
    return rows.map(row => toWrite(row, scope))
  },
  matching: async (tenant, space, { scope, upTo }, { words, ref = null, tag = null, limit }) => {
    const [first = ''] = words
    const found = [JSON.stringify(words.slice(1)), first, ref, tag, limit]
    return reader.all(SQL.journal.matching, tenant, space, scope, upTo, ...found).map(row => toFound(row, scope))
  },
})

const listing = (ref: string | null, prefix: string | null): string => {
  if (ref === null) return SQL.journal.listed
  return prefix === null ? SQL.journal.listedOfRef : SQL.journal.listedOfPrefix
}

export function attemptEntryIn(
  reader: Reader,
  tenant: string,
  space: Space,
  { runId, nodeId, since, before }: AttemptBefore,
  { ref, id }: Key,
): WriteRow | undefined {
  const row = reader.get(SQL.journal.ofAttempt, tenant, space, runId, nodeId, since, before, ref, id)
  return row && toWrite(row, row.scope as string)
}

export function headIn(reader: Reader, tenant: string, space: Space, scope: string) {
  const row = reader.get(SQL.journal.head, tenant, space, scope)
  return { head: Number(row?.head ?? 0), horizon: Number(row?.horizon ?? 0) }
}

export function contentIn(reader: Reader, tenant: string, contentId: string): Content | undefined {
  const row = reader.get(SQL.journal.content, tenant, contentId)
  if (row === undefined) return undefined
  return unpackContent(tenant, contentId, {
    runId: row.run_id as string | null,
    sealed: row.sealed === 1,
    textIsBody: row.text_is_body === 1,
    text: row.text as Uint8Array | null,
    body: row.body as Uint8Array,
  })
}
