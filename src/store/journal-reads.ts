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
   * by another of them.
   */
  own(tenant: string, space: Space, reach: Reach, key?: Key): Promise<readonly WriteRow[]>
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
  ): Promise<readonly WriteRow[]>
  /** The words of each content, in the same order; null where it has no text, or is gone. */
  words(tenant: string, contentIds: readonly string[]): Promise<readonly (readonly string[] | null)[]>
}

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
  const [own] = reach.runs.length === 0 ? [] : await rows.own(tenant, space, reach, key)
  return own ?? rows.published(tenant, space, reach, key)
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
  const own = await ownOf(rows, tenant, space, reach)
  const found: { row: WriteRow; cursor: string }[] = []
  for (const [i, row] of own.entries())
    if (i >= place.own && fits(row, query)) found.push({ row, cursor: `own:${i + 1}` })
  const hidden = new Set(own.map(keyOf))
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
  { words, limit, pace, ...query }: SearchQuery,
): Promise<WriteRow[]> {
  const own = await ownOf(rows, tenant, space, reach)
  const hidden = new Set(own.map(keyOf))
  const fitting = own.filter(row => row.op === 'put' && fits(row, query))
  const wanted = words.length === 0 ? undefined : wantedIn(words)
  const found = wanted ? await ranked(rows, tenant, fitting, wanted, pace) : fitting
  if (found.length >= limit) return found.slice(0, limit)
  const more = wanted
    ? await ranked(rows, tenant, await matching(rows, tenant, space, reach, query, wanted, hidden), wanted, pace)
    : await newest(rows, tenant, space, reach, query, limit - found.length, hidden)
  return [...found, ...more].slice(0, limit)
}

type Filter = Pick<ReachQuery, 'ref' | 'tag'>

/** The newest that have the words in their text, or as tags where there is none. */
async function matching(
  rows: JournalRows,
  tenant: string,
  space: Space,
  reach: Reach,
  query: Filter,
  wanted: Wanted,
  hidden: ReadonlySet<string>,
): Promise<readonly WriteRow[]> {
  const limit = RANKED + hidden.size
  const found: WriteRow[] = []
  for (const words of [wanted.words, wanted.tags]) {
    if (words === undefined) continue
    const longestFirst = words.toSorted((a, b) => b.length - a.length)
    found.push(...(await rows.matching(tenant, space, reach, { ...query, words: longestFirst, limit })))
  }
  const seen = found.filter(row => !hidden.has(keyOf(row)))
  return seen.sort((a, b) => (b.position ?? 0) - (a.position ?? 0)).slice(0, RANKED)
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
async function ownOf(rows: JournalRows, tenant: string, space: Space, reach: Reach): Promise<readonly WriteRow[]> {
  if (reach.runs.length === 0) return []
  const seen = new Map<string, WriteRow>()
  for (const row of await rows.own(tenant, space, reach)) {
    const key = keyOf(row)
    if (!seen.has(key)) seen.set(key, row)
  }
  return [...seen.values()]
}

/** So much of texts is compared before others have their turn. */
const PART_BYTES = 64 * 1024

/** Best first; words are read for some at a time, and not kept. */
async function ranked(
  rows: JournalRows,
  tenant: string,
  found: readonly WriteRow[],
  wanted: Wanted,
  pace: SearchQuery['pace'],
): Promise<WriteRow[]> {
  const fitting: { readonly row: WriteRow; readonly fit: number }[] = []
  for (const part of partsOf(found)) {
    const ids = part.map(({ contentId }) => contentId ?? '')
    for (const [i, words] of (await rows.words(tenant, ids)).entries()) {
      const row = part[i] as WriteRow
      const fit = fitOf({ words, tags: row.tags }, wanted)
      if (fit !== undefined) fitting.push({ row, fit })
    }
    await pace?.(part.reduce((sum, { bytes }) => sum + bytes, 0))
  }
  return fitting.sort((a, b) => b.fit - a.fit).map(({ row }) => row)
}

function partsOf(found: readonly WriteRow[]): WriteRow[][] {
  const parts: WriteRow[][] = []
  let room = 0
  for (const row of found) {
    if (row.bytes > room) {
      parts.push([])
      room = PART_BYTES
    }
    parts.at(-1)?.push(row)
    room -= row.bytes
  }
  return parts
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
