import type { Reach, Space } from '../core/journal/place.js'
import type { EntriesPage, EntriesQuery, Key, SearchQuery, WriteRow } from '../engine/ports/journal.js'
import { fitOf, type Wanted, wantedIn } from './journal-words.js'

/**
 * What a reach answers (docs/design/journal.md), put together from what a store finds in its own indexes.
 *
 *  J1  What is answered depends on recorded anchors alone: whatever others write, forget or let expire later, the same
 *      read has the same answer, as long as it is not below the horizon.
 *  J2  A row of one tenant is found by queries for that tenant alone.
 *  J3  When something expires is said by its event; no read changes it.
 */

export type JournalRows = {
  /**
   * What the runs of a reach see of their own, of one key or all: run by run, the latest to enter first. Also what is hidden
   * by another of them. Words are asked for only where they are needed.
   */
  own(
    tenant: string,
    space: Space,
    reach: Reach,
    of: { readonly key?: Key; readonly withWords: boolean },
  ): Promise<readonly FoundRow[]>
  /** The latest row of a key in the scope, as of the anchor. */
  published(tenant: string, space: Space, reach: Reach, key: Key): Promise<WriteRow | undefined>
  /** The latest of each key that fits, as of the anchor and with a position below `below`: the highest first. */
  listed(tenant: string, space: Space, reach: Reach, query: ReachQuery): Promise<readonly WriteRow[]>
  /** The same of puts that are found by all the words, the first of them the longest. */
  matching(
    tenant: string,
    space: Space,
    reach: Reach,
    query: Omit<ReachQuery, 'below' | 'prefix'> & { readonly words: readonly string[] },
  ): Promise<readonly FoundRow[]>
}

/** `words`: those of the text; null where there is none. */
export type FoundRow = { readonly row: WriteRow; readonly words: readonly string[] | null }

export type ReachQuery = {
  readonly ref?: string
  readonly tag?: string
  readonly prefix?: string
  readonly below: number
  readonly limit: number
}

/** Fewer keys that begin so are looked up one by one; of more, the newest are soon found among all. */
export const FEW_KEYS = 1000

/** So many are compared by how well they fit: the newest. */
const RANKED = 200

export async function entryAt(
  rows: JournalRows,
  tenant: string,
  space: Space,
  reach: Reach,
  key: Key,
): Promise<WriteRow | undefined> {
  const [own] = reach.runs.length === 0 ? [] : await rows.own(tenant, space, reach, { key, withWords: false })
  return own?.row ?? rows.published(tenant, space, reach, key)
}

export async function entriesAt(
  rows: JournalRows,
  tenant: string,
  space: Space,
  reach: Reach,
  { limit, after, ...query }: EntriesQuery,
): Promise<EntriesPage> {
  const place = placeIn(after)
  if (place === undefined) return { rows: [] }
  const own = await ownOf(rows, tenant, space, reach, false)
  const found: { row: WriteRow; cursor: string }[] = []
  for (const [i, { row }] of own.entries())
    if (i >= place.own && fits(row, query)) found.push({ row, cursor: `own:${i + 1}` })
  const hidden = new Set(own.map(({ row }) => keyOf(row)))
  let { below } = place
  while (found.length <= limit) {
    const step = limit + 1 - found.length
    const page = await rows.listed(tenant, space, reach, { ...query, below, limit: step })
    for (const row of page) {
      below = row.position ?? 0
      if (!hidden.has(keyOf(row))) found.push({ row, cursor: `pos:${below}` })
    }
    if (page.length < step) break
  }
  const cursor = found.length > limit ? found[limit - 1]?.cursor : undefined
  return { rows: found.slice(0, limit).map(({ row }) => row), ...(cursor === undefined ? {} : { cursor }) }
}

/** What the runs see of their own first, of each the best first; of equal ones the newest. */
export async function searchAt(
  rows: JournalRows,
  tenant: string,
  space: Space,
  reach: Reach,
  { words, limit, ...query }: SearchQuery,
): Promise<WriteRow[]> {
  const own = await ownOf(rows, tenant, space, reach, words.length > 0)
  const hidden = new Set(own.map(({ row }) => keyOf(row)))
  const fitting = own.filter(({ row }) => row.op === 'put' && fits(row, query))
  const more = (missing: number) =>
    words.length === 0
      ? newest(rows, tenant, space, reach, query, missing, hidden)
      : best(rows, tenant, space, reach, query, wantedIn(words), hidden)
  const found = words.length === 0 ? fitting.map(({ row }) => row) : ranked(fitting, wantedIn(words))
  return found.length < limit
    ? [...found, ...(await more(limit - found.length))].slice(0, limit)
    : found.slice(0, limit)
}

type Filter = Pick<ReachQuery, 'ref' | 'tag'>

/** Of the newest that have the words in their text, or as tags where there is none. */
async function best(
  rows: JournalRows,
  tenant: string,
  space: Space,
  reach: Reach,
  query: Filter,
  wanted: Wanted,
  hidden: ReadonlySet<string>,
): Promise<WriteRow[]> {
  const limit = RANKED + hidden.size
  const found: FoundRow[] = []
  for (const words of [wanted.words, wanted.tags]) {
    if (words === undefined) continue
    const longestFirst = words.toSorted((a, b) => b.length - a.length)
    found.push(...(await rows.matching(tenant, space, reach, { ...query, words: longestFirst, limit })))
  }
  const seen = found.filter(({ row }) => !hidden.has(keyOf(row)))
  const newestFirst = seen.sort((a, b) => (b.row.position ?? 0) - (a.row.position ?? 0))
  return ranked(newestFirst.slice(0, RANKED), wanted)
}

async function newest(
  rows: JournalRows,
  tenant: string,
  space: Space,
  reach: Reach,
  query: Filter,
  limit: number,
  hidden: ReadonlySet<string>,
): Promise<WriteRow[]> {
  const found: WriteRow[] = []
  for (let below = Number.MAX_SAFE_INTEGER; found.length < limit; ) {
    const page = await rows.listed(tenant, space, reach, { ...query, below, limit })
    found.push(...page.filter(row => row.op === 'put' && !hidden.has(keyOf(row))))
    if (page.length < limit) break
    below = page.at(-1)?.position ?? 0
  }
  return found
}

/** Each key once. */
async function ownOf(
  rows: JournalRows,
  tenant: string,
  space: Space,
  reach: Reach,
  withWords: boolean,
): Promise<FoundRow[]> {
  if (reach.runs.length === 0) return []
  const seen = new Map<string, FoundRow>()
  for (const found of await rows.own(tenant, space, reach, { withWords })) {
    const key = keyOf(found.row)
    if (!seen.has(key)) seen.set(key, found)
  }
  return [...seen.values()]
}

function ranked(found: readonly FoundRow[], wanted: Wanted): WriteRow[] {
  const fitting = found.flatMap(({ row, words }) => {
    const fit = fitOf({ words, tags: row.tags }, wanted)
    return fit === undefined ? [] : [{ row, fit }]
  })
  return fitting.sort((a, b) => b.fit - a.fit).map(({ row }) => row)
}

export const keyOf = ({ ref, id }: Key): string => JSON.stringify([ref, id])

export const fits = (row: WriteRow, { ref, tag, prefix }: Pick<ReachQuery, 'ref' | 'tag' | 'prefix'>): boolean =>
  (ref === undefined || row.ref === ref) &&
  (tag === undefined || row.tags.includes(tag)) &&
  (prefix === undefined || row.id.startsWith(prefix))

/** Where a page begins; undefined for a cursor that no page had. */
function placeIn(after: string | undefined): { readonly own: number; readonly below: number } | undefined {
  if (after === undefined) return { own: 0, below: Number.MAX_SAFE_INTEGER }
  const [, kind, number] = /^(own|pos):(\d{1,15})$/.exec(after) ?? []
  if (kind === undefined) return undefined
  return kind === 'own'
    ? { own: Number(number), below: Number.MAX_SAFE_INTEGER }
    : { own: Number.MAX_SAFE_INTEGER, below: Number(number) }
}
