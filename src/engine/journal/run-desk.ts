import type { EntriesRead } from '../../core/journal/entry.js'
import { isSayable, wrongWith } from '../../core/journal/entry-rules.js'
import type { Space } from '../../core/journal/place.js'
import { entryTooLong, fileTooLarge } from '../../core/journal/refusals.js'
import { isoTime } from '../../core/time.js'
import { sha256 } from '../../digest.js'
import type { DeskSeat, EntryShown, EntryWanted, JournalDesk, Looked, Prepared } from '../ports/desk.js'
import type { JournalKeeping, WriteRow } from '../ports/journal.js'
import { entriesIn, entryIn } from '../queries/journal-view.js'
import { type ContentDeps, holdsSecret, keepTags, keepText, openContent, textOfBytes } from './content.js'
import { PIECE_BYTES } from './masking.js'
import { foundInTurn, type ScopeDeps, scopePages } from './scope-pages.js'

export type DeskSettings = {
  /** Bytes of an entry of memory, and of a file, at most. */
  readonly maxBytes: { readonly [Of in Space]: number }
  /** Entries of a scope, and files, at most. */
  readonly maxEntries: { readonly [Of in Space]: number }
  /** Whether content can be searched; it is stored in plain then, and sealed otherwise. */
  readonly fullText: boolean
}

export type RunDeskDeps = ContentDeps &
  ScopeDeps & { readonly settings: DeskSettings; readonly store: Pick<JournalKeeping, 'horizonOf'> }

const MAX_LIST = 200

export const createRunDesk = (deps: RunDeskDeps): JournalDesk => ({
  async read(seat, space, key) {
    const place = seat.desk[space]
    if (!place) return none(space)
    const row = canBe(key) ? await entryIn(deps.store, seat.tenant, space, place.view, key) : undefined
    return (await gone(deps, seat, space)) ?? shown(deps, seat.tenant, space, row ? [row] : [])
  },
  async list(seat, space, { limit, ...query }) {
    const place = seat.desk[space]
    if (!place) return none(space)
    if (!canBe(query)) return shown(deps, seat.tenant, space, [])
    const rows = await entriesIn(deps.store, seat.tenant, space, place.view, {
      ...query,
      limit: Math.min(limit, MAX_LIST),
    })
    const deleted = await gone(deps, seat, space)
    if (deleted) return deleted
    // Of files a list tells what there is; whoever wants one reads it.
    if (space === 'workspace') return { ok: true, entries: rows.map(about), read: readOf(space, rows) }
    return shown(deps, seat.tenant, space, rows)
  },
  async search(seat, space, { query, limit, ...others }) {
    const place = seat.desk[space]
    if (!place) return none(space)
    if (!canBe(others)) return shown(deps, seat.tenant, space, [])
    const words = termsIn(query)
    if (words.length > 0 && !deps.settings.fullText) return { ok: false, message: SEALED }
    const asked = { words, limit: Math.min(limit, MAX_LIST), ...others }
    const rows = await foundInTurn(deps, seat.tenant, space, place.view, asked)
    return (await gone(deps, seat, space)) ?? shown(deps, seat.tenant, space, rows)
  },
  put: (seat, wanted) => prepared(deps, seat, wanted),
  async forget(seat, space, { ref, id, ifMatch }) {
    const place = seat.desk[space]
    if (!place) return none(space)
    const key = { ref, id }
    const row = canBe(key) ? await entryIn(deps.store, seat.tenant, space, place.view, key) : undefined
    if (!row) return { ok: false, message: `There is nothing under "${id}" to forget.` }
    const entry = { space, ref, id, op: 'forget' as const, tags: [], contentId: null, hash: null, bytes: 0 }
    return { ok: true, entry: { ...entry, contentType: null, ifMatch: ifMatch ?? null, seen: row.version ?? 0 } }
  },
})

const SEALED = 'The content of entries is sealed on this host and cannot be searched; search by tag alone.'

const NAMES_SECRET = 'Not written: its name holds a secret that this host knows; give it another.'

const none = (space: Space): { ok: false; message: string } => ({
  ok: false,
  message: `This run has no ${space}: it judges, or the host keeps none.`,
})

/** J1: what was deleted is not taken for what never was. Asked after the reading, so that nothing goes in between. */
async function gone({ store }: RunDeskDeps, { tenant, desk }: DeskSeat, space: Space) {
  for (const { scope, upTo } of desk[space]?.view ?? [])
    if (upTo < (await store.horizonOf(tenant, space, scope)))
      return {
        ok: false as const,
        message: `What this run saw of its ${space} when it began is no longer kept (memory.retentionDays); start another run.`,
      }
  return undefined
}

/** Nothing can have been written under a name that no store takes; to ask for it is no fault of the store's. */
const canBe = (names: object): boolean =>
  Object.values(names).every(name => typeof name !== 'string' || isSayable(name))

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
  const problem = problemOf(wanted, place.scope, settings)
  if (problem !== undefined) return { ok: false, message: problem }
  if (holdsSecret(deps, ref, id, wanted.contentType)) return { ok: false, message: NAMES_SECRET }
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
    id: id ?? newName(seat),
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

/** That one attempt at a node can have written. */
const MOST_IN_ATTEMPT = 1_000

/** R-MEM-21: named after the effect, so whoever performs it again, and a replay, which is told of it, name it so, too. */
const newName = ({ runId, id }: DeskSeat): string => `${runId}:${id.slice(0, 12)}`

/**
 * What is held before gates counts too, that of this run and of those above it. What has expired leaves room, and is looked for
 * only then. What others write meanwhile may go a little beyond.
 */
async function isFull(deps: RunDeskDeps, { tenant, desk }: DeskSeat, space: Space): Promise<boolean> {
  const { store, settings } = deps
  const limit = settings.maxEntries[space]
  const [reach] = desk[space]?.view ?? []
  if (reach === undefined) return false
  const { scope, at, runs } = reach
  const published = await store.countEntries(tenant, space, scope)
  // No run has told of more writes than its log has events.
  if (published + runs.reduce((sum, { before }) => sum + before, MOST_IN_ATTEMPT) < limit) return false
  const held = (await store.countEntries(tenant, space, scope, runs)) - published
  if (published + held < limit) return false
  const now = { scope, upTo: Number.MAX_SAFE_INTEGER, runs: [], at }
  let count = held
  if (count >= limit) return true
  for await (const rows of scopePages(deps, tenant, space, now)) {
    count += rows.length
    if (count >= limit) return true
  }
  return false
}

function problemOf(wanted: EntryWanted, scope: string, { maxBytes }: DeskSettings): string | undefined {
  const { space, content } = wanted
  const bytes = Buffer.byteLength(content)
  const limit = maxBytes[space]
  if (bytes > limit) return (space === 'memory' ? entryTooLong(bytes, limit) : fileTooLarge(bytes, limit)).message
  const wrong = wrongWith({ ...wanted, scope })
  return wrong === undefined ? undefined : `Not written: ${wrong}.`
}

/** What was found, in words. */
async function shown(deps: RunDeskDeps, tenant: string, space: Space, rows: readonly WriteRow[]): Promise<Looked> {
  const entries: EntryShown[] = []
  for (const row of rows) entries.push({ ...about(row), ...(await wordsOfRow(deps, tenant, row)) })
  return { ok: true, entries, read: readOf(space, rows) }
}

/** Of a file. What is longer is kept in pieces, and read by what reads it bit by bit. */
const MOST_READ = PIECE_BYTES

/** What was destroyed on purpose, and what is no text, is not passed over: whoever reads is told so. */
async function wordsOfRow(deps: RunDeskDeps, tenant: string, { contentId, contentType, bytes, space }: WriteRow) {
  if (space === 'workspace' && bytes > MOST_READ)
    return { content: '', problem: `it is too long to be read here: ${bytes} bytes, and no more than ${MOST_READ} are` }
  const content = contentId === null ? undefined : await deps.store.readContent(tenant, contentId)
  if (content === undefined) return { content: '', problem: 'its content was destroyed' }
  const text = textOfBytes(await openContent(deps, content))
  const kind = contentType ?? 'application/octet-stream'
  return text === undefined ? { content: '', problem: `it is no text: ${bytes} bytes of ${kind}` } : { content: text }
}

const readOf = (space: Space, rows: readonly WriteRow[]): EntriesRead => ({
  space,
  rows: rows.map(({ runId, sequence }) => `${runId}:${sequence}`),
  digest: sha256(rows.map(({ hash }) => hash ?? '').join('\n')),
})

const about = (row: WriteRow): Omit<EntryShown, 'content'> => ({
  id: row.id,
  ref: row.ref,
  tags: row.tags,
  createdAt: isoTime(row.at),
  ...(row.expiresAt === null ? {} : { expiresAt: isoTime(row.expiresAt) }),
  ...(row.version === null ? {} : { version: row.version }),
  ...(row.contentType === null ? {} : { contentType: row.contentType }),
})
