import type { AttemptBefore, Space } from '../../core/journal/place.js'
import type { Content, Key, WriteRow } from '../../engine/ports/journal.js'
import { unpackContent } from '../journal-content.js'
import { FEW_KEYS, type FoundRow, type JournalRows } from '../journal-reads.js'
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
    const asked = [tenant, space, scope, upTo, below, ref, prefix, tag]
    const isNarrow =
      ref !== null &&
      prefix !== null &&
      Number(reader.get(SQL.journal.beginningSo, ...asked, FEW_KEYS)?.keys) < FEW_KEYS
    const rows = isNarrow
      ? reader.all(SQL.journal.listedOfPrefix, ...asked, ALL, limit)
      : latestOf(reader, { tenant, space, scope, upTo, limit }, (span, above, most) =>
          reader.all(ref === null ? SQL.journal.listed : SQL.journal.listedOfRef, ...asked, most, span, above),
        )
    return rows.map(row => toWrite(row, scope))
  },
  matching: async (tenant, space, { scope, upTo }, { words, ref = null, tag = null, limit }) => {
    const rows = latestOf(reader, { tenant, space, scope, upTo, limit }, (span, above, most) => {
      const rarest = rarestIn(reader, [tenant, space, scope], words)
      const others = JSON.stringify(words.filter(word => word !== rarest))
      const asked = [tenant, space, scope, upTo, others, rarest, ref, tag, most, span, above]
      return reader.all(SQL.journal.matching, ...asked)
    })
    return rows.map(row => toFound(row, scope))
  },
})

/** As a LIMIT of SQLite. */
const ALL = -1

type Wanted = {
  readonly tenant: string
  readonly space: Space
  readonly scope: string
  readonly upTo: number
  readonly limit: number
}

/**
 * The highest of what was the latest of its key at the anchor: of each span (`journal.span`) those that are found no further
 * back than it reaches, and above what was found enough of already. All in one state of the database: what is superseded
 * meanwhile would be in two spans, or in none.
 */
function latestOf(
  reader: Reader,
  { tenant, space, scope, upTo, limit }: Wanted,
  ofSpan: (span: number, above: number, limit: number) => readonly SqlRow[],
): readonly SqlRow[] {
  return reader.together(() => {
    const { head } = headIn(reader, tenant, space, scope)
    let found = ofSpan(0, 0, limit)
    // At the head nothing is seen that was superseded.
    for (let span = 1; upTo < head && 16 ** (span - 1) <= head; span += 1) {
      const enough = found.length < limit ? 0 : Number(found.at(-1)?.position)
      const more = ofSpan(span, Math.max(upTo - 16 ** span, enough, 0), limit)
      if (more.length > 0) found = [...found, ...more].sort(newestFirst).slice(0, limit)
    }
    return found
  })
}

const newestFirst = (a: SqlRow, b: SqlRow): number => Number(b.position) - Number(a.position)

/** The word whose entries are looked through for the others. */
function rarestIn(reader: Reader, scope: readonly string[], words: readonly string[]): string {
  const [first = '', ...others] = words
  if (others.length === 0) return first
  return String(reader.get(SQL.journal.rarest, ...scope, JSON.stringify(words))?.word ?? first)
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
  return { head: Number(row?.head ?? 0), horizon: Number(row?.horizon ?? 0), entries: Number(row?.entries ?? 0) }
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
    pieces: row.pieces as number,
  })
}
