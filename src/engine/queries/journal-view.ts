import type { JournalView, Space } from '../../core/journal/place.js'
import type { EntriesQuery, Journal, Key, SearchQuery, WriteRow } from '../ports/journal.js'

/**
 * What a view answers (docs/design/journal.md): the first reach that has a row for a key answers for it, also when it says
 * that the key was forgotten, or what it says has expired.
 */

/** The put that is to be seen under a key. R-MEM-17: never one whose time was over at its reach's time. */
export async function entryIn(
  journal: Pick<Journal, 'entryAt'>,
  tenant: string,
  space: Space,
  view: JournalView,
  key: Key,
): Promise<WriteRow | undefined> {
  for (const reach of view) {
    const row = await journal.entryAt(tenant, space, reach, key)
    if (row) return isThere(row, reach.at) ? row : undefined
  }
  return undefined
}

/** Newest first, of the topmost reach first. */
export async function entriesIn(
  journal: Pick<Journal, 'entriesAt' | 'entryAt'>,
  tenant: string,
  space: Space,
  view: JournalView,
  { limit, ...query }: Omit<EntriesQuery, 'after'>,
): Promise<WriteRow[]> {
  const found: WriteRow[] = []
  for (const [depth, reach] of view.entries()) {
    let after: string | undefined
    do {
      const page = await journal.entriesAt(tenant, space, reach, {
        ...query,
        limit: limit - found.length + PAGE_MORE,
        ...(after === undefined ? {} : { after }),
      })
      for (const row of page.rows) {
        if (!isThere(row, reach.at) || (await isHidden(journal, tenant, space, view, depth, row))) continue
        found.push(row)
        if (found.length >= limit) return found
      }
      after = page.cursor
    } while (after !== undefined)
  }
  return found
}

/** Best first, of the topmost reach first. */
export async function foundIn(
  journal: Pick<Journal, 'searchAt' | 'entryAt'>,
  tenant: string,
  space: Space,
  view: JournalView,
  query: SearchQuery,
): Promise<WriteRow[]> {
  const found: WriteRow[] = []
  for (const [depth, reach] of view.entries()) {
    for (const row of await journal.searchAt(tenant, space, reach, query)) {
      if (!isThere(row, reach.at) || (await isHidden(journal, tenant, space, view, depth, row))) continue
      found.push(row)
      if (found.length >= query.limit) return found
    }
  }
  return found
}

/** Rows that a page may hold besides those that are wanted, for what was forgotten or has expired. */
const PAGE_MORE = 20

export const isThere = ({ op, expiresAt }: WriteRow, at: number): boolean =>
  op === 'put' && (expiresAt === null || expiresAt > at)

/** Whether a reach above answers for the key. */
async function isHidden(
  journal: Pick<Journal, 'entryAt'>,
  tenant: string,
  space: Space,
  view: JournalView,
  depth: number,
  { ref, id }: WriteRow,
): Promise<boolean> {
  for (const reach of view.slice(0, depth)) if (await journal.entryAt(tenant, space, reach, { ref, id })) return true
  return false
}
