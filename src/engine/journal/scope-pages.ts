import type { DatedReach, JournalView, Space } from '../../core/journal/place.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Journal, SearchQuery, WriteRow } from '../ports/journal.js'
import { foundIn, isThere } from '../queries/journal-view.js'

/** Work on a whole scope, or on many words, in turns of its tenant: however much there is, others have theirs in between. */
export type ScopeDeps = { readonly store: Journal; readonly turns: TurnTaking }

const PAGE = 200
const STEPS_PER_ROW = 1_000
/** All the words of what might fit are compared. */
const STEPS_PER_BYTE_COMPARED = 10

/** What is in a scope as of a position, newest first. */
export async function* scopePages(
  { store, turns }: ScopeDeps,
  tenant: string,
  space: Space,
  reach: DatedReach,
  query: { readonly ref?: string } = {},
): AsyncGenerator<readonly WriteRow[], void, void> {
  let after: string | undefined
  do {
    await turns.room(tenant)
    const page = await store.entriesAt(tenant, space, reach, { ...query, limit: PAGE, ...(after && { after }) })
    turns.spent(tenant, page.rows.length * STEPS_PER_ROW)
    yield page.rows.filter(row => isThere(row, reach.at))
    after = page.cursor
  } while (after !== undefined)
}

/** Best first. */
export async function foundInTurn(
  { store, turns }: ScopeDeps,
  tenant: string,
  space: Space,
  view: JournalView,
  query: SearchQuery,
): Promise<WriteRow[]> {
  const pace = async (bytes: number) => {
    turns.spent(tenant, bytes * STEPS_PER_BYTE_COMPARED)
    await turns.room(tenant)
  }
  await turns.room(tenant)
  turns.spent(tenant, STEPS_PER_ROW)
  return foundIn(store, tenant, space, view, { ...query, pace })
}
