import type { EntriesRead } from '../../core/journal/entry.js'
import type { Space } from '../../core/journal/place.js'
import { entryTooLong, fileTooLarge } from '../../core/journal/refusals.js'
import { isoTime } from '../../core/time.js'
import { sha256 } from '../../digest.js'
import type { DeskSeat, EntryShown, EntryWanted, JournalDesk, Looked, Prepared } from '../ports/desk.js'
import type { Journal, WriteRow } from '../ports/journal.js'
import { entriesIn, entryIn, foundIn } from '../queries/journal-view.js'
import { type ContentDeps, keepTags, keepText, openContent, textOfBytes } from './content.js'

export type DeskSettings = {
  /** Bytes of an entry of memory, and of a file, at most. */
  readonly maxBytes: { readonly [Of in Space]: number }
  /** Entries of a scope, and files, at most. */
  readonly maxEntries: { readonly [Of in Space]: number }
  /** Whether content can be searched; it is stored in plain then, and sealed otherwise. */
  readonly fullText: boolean
}

export type RunDeskDeps = ContentDeps & { readonly store: Journal; readonly settings: DeskSettings }

const MAX_TAGS = 32
const MAX_TAG = 256
const MAX_LIST = 200

export const createRunDesk = (deps: RunDeskDeps): JournalDesk => ({
  async read(seat, space, key) {
    const place = seat.desk[space]
    if (!place) return none(space)
    const row = await entryIn(deps.store, seat.tenant, space, place.view, key)
    return shown(deps, seat.tenant, space, row ? [row] : [])
  },
  async list(seat, space, { limit, ...query }) {
    const place = seat.desk[space]
    if (!place) return none(space)
    const rows = await entriesIn(deps.store, seat.tenant, space, place.view, {
      ...query,
      limit: Math.min(limit, MAX_LIST),
    })
    return shown(deps, seat.tenant, space, rows)
  },
  async search(seat, space, { query, limit, ...others }) {
    const place = seat.desk[space]
    if (!place) return none(space)
    const words = termsIn(query)
    if (words.length > 0 && !deps.settings.fullText) return { ok: false, message: SEALED }
    const asked = { words, limit: Math.min(limit, MAX_LIST), ...others }
    return shown(deps, seat.tenant, space, await foundIn(deps.store, seat.tenant, space, place.view, asked))
  },
  put: (seat, wanted) => prepared(deps, seat, wanted),
  async forget(seat, space, { ref, id, ifMatch }) {
    const place = seat.desk[space]
    if (!place) return none(space)
    const row = await entryIn(deps.store, seat.tenant, space, place.view, { ref, id })
    if (!row) return { ok: false, message: `There is nothing under "${id}" to forget.` }
    const entry = { space, ref, id, op: 'forget' as const, tags: [], contentId: null, hash: null, bytes: 0 }
    return { ok: true, entry: { ...entry, contentType: null, ifMatch: ifMatch ?? null, seen: row.version ?? 0 } }
  },
})

const SEALED = 'The content of entries is sealed on this host and cannot be searched; search by tag alone.'

const none = (space: Space): { ok: false; message: string } => ({
  ok: false,
  message: `This run has no ${space}: it judges, or the host keeps none.`,
})

/** Letters and digits; whatever else is in a query parts them. */
export const termsIn = (query: string): string[] => [
  ...new Set((query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, 32)),
]

async function prepared(deps: RunDeskDeps, seat: DeskSeat, wanted: EntryWanted): Promise<Prepared> {
  const { store, settings } = deps
  const { space, ref, id, ttlSeconds, ifMatch } = wanted
  const { tenant, runId } = seat
  const place = seat.desk[space]
  if (!place) return none(space)
  const problem = problemOf(wanted, settings)
  if (problem !== undefined) return { ok: false, message: problem }
  const before = id === undefined ? undefined : await entryIn(store, tenant, space, place.view, { ref, id })
  if (before === undefined && (await isFull(deps, seat, space)))
    return {
      ok: false,
      message: `Not written: there are ${settings.maxEntries[space]} already, and no more are kept; forget one first.`,
    }
  const contentId = `${seat.id}.entry`
  const plain = space === 'memory' && settings.fullText
  const { content, hash, bytes } = await keepText(deps, { tenant, runId, contentId, text: wanted.content, plain })
  await store.keepContent(content)
  const seen = before?.version ?? 0
  if (ifMatch !== undefined && ifMatch !== seen && before?.position !== null)
    return {
      ok: false,
      message: `Not written: the version of "${id}" is ${seen}, not ${ifMatch}; read it again first.`,
    }
  const entry = {
    space,
    ref,
    ...(id === undefined ? {} : { id }),
    op: 'put' as const,
    tags: keepTags(deps, wanted.tags),
    ...(ttlSeconds === undefined ? {} : { ttlMs: ttlSeconds * 1000 }),
    contentId,
    hash,
    bytes,
    contentType: wanted.contentType ?? null,
    ifMatch: ifMatch ?? null,
    seen,
  }
  return { ok: true, entry }
}

/** What has expired leaves room, and is looked for only then. What others write meanwhile may go a little beyond. */
async function isFull({ store, settings }: RunDeskDeps, { tenant, desk }: DeskSeat, space: Space): Promise<boolean> {
  const limit = settings.maxEntries[space]
  const [reach] = desk[space]?.view ?? []
  if (reach === undefined) return false
  const { scope, at } = reach
  if ((await store.countEntries(tenant, space, scope)) < limit) return false
  const now = { scope, upTo: Number.MAX_SAFE_INTEGER, runs: [], at }
  const rows = await entriesIn(store, tenant, space, [now], { limit })
  return rows.length >= limit
}

function problemOf({ space, content, tags, ttlSeconds }: EntryWanted, { maxBytes }: DeskSettings): string | undefined {
  const bytes = Buffer.byteLength(content)
  const limit = maxBytes[space]
  if (bytes > limit) return (space === 'memory' ? entryTooLong(bytes, limit) : fileTooLarge(bytes, limit)).message
  if (tags.length > MAX_TAGS) return `Not written: it has ${tags.length} tags, and may have ${MAX_TAGS}.`
  const long = tags.find(tag => tag.length > MAX_TAG)
  if (long !== undefined) return `Not written: a tag has ${long.length} characters, and may have ${MAX_TAG}.`
  // R-MEM-18
  if (ttlSeconds !== undefined && !(ttlSeconds > 0))
    return `Not written: ttlSeconds is ${ttlSeconds}, and what has expired already is not kept; give more than 0.`
  return undefined
}

/** What was found, in words. What is gone on purpose is left out. */
async function shown(deps: RunDeskDeps, tenant: string, space: Space, rows: readonly WriteRow[]): Promise<Looked> {
  const entries: EntryShown[] = []
  const read: WriteRow[] = []
  for (const row of rows) {
    const content = row.contentId === null ? undefined : await deps.store.readContent(tenant, row.contentId)
    if (content === undefined) continue
    const text = textOfBytes(await openContent(deps, content))
    if (text === undefined) continue
    entries.push(entryShown(row, text))
    read.push(row)
  }
  const told: EntriesRead = {
    space,
    rows: read.map(({ runId, sequence }) => `${runId}:${sequence}`),
    digest: sha256(read.map(({ hash }) => hash ?? '').join('\n')),
  }
  return { ok: true, entries, read: told }
}

const entryShown = (row: WriteRow, content: string): EntryShown => ({
  id: row.id,
  ref: row.ref,
  content,
  tags: row.tags,
  createdAt: isoTime(row.at),
  ...(row.expiresAt === null ? {} : { expiresAt: isoTime(row.expiresAt) }),
  ...(row.version === null ? {} : { version: row.version }),
  ...(row.contentType === null ? {} : { contentType: row.contentType }),
})
