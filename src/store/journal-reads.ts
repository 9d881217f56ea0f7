import type { Reach, Space } from '../core/journal/place.js'
import type { EntriesPage, EntriesQuery, Key, SearchQuery, WriteRow } from '../engine/ports/journal.js'
import { fitOf, wantedWords } from './journal-words.js'

/** What reads of the journal are put together from: what a store finds in its own indexes. */
export type JournalRows = {
  /**
   * What the runs of a reach see of their own, of one key or all: run by run, the latest to enter first. Also what is hidden
   * by another of them.
   */
  own(tenant: string, space: Space, reach: Reach, key: Key | undefined): Promise<readonly FoundRow[]>
  /** The latest row of a key in the scope, as of the anchor. */
  published(tenant: string, space: Space, reach: Reach, key: Key): Promise<WriteRow | undefined>
  /** The latest of each key that fits, as of the anchor and with a position below `below`: the highest first. */
  listed(tenant: string, space: Space, reach: Reach, query: ListQuery): Promise<readonly WriteRow[]>
  /** The same of puts that have all the words, with what they are found by. */
  matching(
    tenant: string,
    space: Space,
    reach: Reach,
    query: Omit<ListQuery, 'below' | 'prefix'> & { readonly words: readonly string[] },
  ): Promise<readonly FoundRow[]>
}

/** `words`: what it is found by, as one line. */
export type FoundRow = { readonly row: WriteRow; readonly words: string }

export type ListQuery = {
  readonly ref?: string
  readonly tag?: string
  readonly prefix?: string
  readonly below: number
  readonly limit: number
}

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
  const own = await ownOf(rows, tenant, space, reach)
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
  const wanted = wantedWords(words)
  if (wanted === undefined) return []
  const own = await ownOf(rows, tenant, space, reach)
  const found = ranked(
    own.filter(({ row }) => row.op === 'put' && fits(row, query)),
    wanted,
  )
  const hidden = new Set(own.map(({ row }) => keyOf(row)))
  if (wanted.length > 0 && found.length < limit) {
    const some = await rows.matching(tenant, space, reach, { ...query, words: wanted, limit: RANKED + hidden.size })
    found.push(
      ...ranked(
        some.filter(({ row }) => !hidden.has(keyOf(row))),
        wanted,
      ),
    )
  }
  let below = Number.MAX_SAFE_INTEGER
  while (wanted.length === 0 && found.length < limit) {
    const page = await rows.listed(tenant, space, reach, { ...query, below, limit })
    found.push(...page.filter(row => row.op === 'put' && !hidden.has(keyOf(row))))
    if (page.length < limit) break
    below = page.at(-1)?.position ?? 0
  }
  return found.slice(0, limit)
}

/** Each key once. */
async function ownOf(rows: JournalRows, tenant: string, space: Space, reach: Reach): Promise<FoundRow[]> {
  if (reach.runs.length === 0) return []
  const seen = new Map<string, FoundRow>()
  for (const found of await rows.own(tenant, space, reach, undefined)) {
    const key = keyOf(found.row)
    if (!seen.has(key)) seen.set(key, found)
  }
  return [...seen.values()]
}

function ranked(found: readonly FoundRow[], wanted: readonly string[]): WriteRow[] {
  const fitting = found.flatMap(({ row, words }) => {
    const fit = fitOf(words, wanted)
    return fit === undefined ? [] : [{ row, fit }]
  })
  return fitting.sort((a, b) => b.fit - a.fit).map(({ row }) => row)
}

export const keyOf = ({ ref, id }: Key): string => JSON.stringify([ref, id])

export const fits = (row: WriteRow, { ref, tag, prefix }: Pick<ListQuery, 'ref' | 'tag' | 'prefix'>): boolean =>
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
