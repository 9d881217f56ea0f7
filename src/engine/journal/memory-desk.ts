import { refuse } from '../../core/problem.js'
import { sha256 } from '../../digest.js'
import type { Key, OutsideWrite, ScopeRow, WriteRow } from '../ports/journal.js'
import { entriesIn, entryIn } from '../queries/journal-view.js'
import { type KeptContent, keepTags, keepText } from './content.js'
import { bytesOf, type DeskDeps, type Found, got, refused, viewNow, viewWanted, type WantedView } from './desk.js'
import { foundInTurn, scopePages } from './scope-pages.js'

/** A tenant's memory, as the edges look at it and look after it. What runs do with it is theirs. */
export interface MemoryAdmin {
  /** Newest first; with words or none, best first. */
  list(tenant: string, wanted: WantedView, query: MemoryQuery): Promise<Found<readonly MemoryShown[]>>
  get(tenant: string, wanted: WantedView, key: Key): Promise<Found<MemoryShown>>
  scopes(tenant: string, limit: number, after?: string): Promise<readonly ScopeRow[]>
  forget(tenant: string, scope: string, key: Key, destroy: boolean): Promise<Found<Forgotten>>
  consolidate(tenant: string, scope: string, ref: string): Promise<Found<Consolidated>>
}

export type MemoryQuery = {
  readonly ref?: string
  readonly tag?: string
  readonly words?: readonly string[]
  readonly limit: number
}

/** `content` is null where it was destroyed. */
export type MemoryShown = { readonly row: WriteRow; readonly scope: string; readonly content: string | null }

export type Forgotten = {
  /** Runs that wrote or read the entry: their logs and sealed words may hold a copy. */
  readonly copies: readonly string[]
  /** Versions whose content was destroyed. */
  readonly destroyed: number
}

export type Consolidated = {
  readonly inputCount: number
  readonly outputCount: number
  /** Entries that said what another one says. */
  readonly mergedIds: readonly string[]
  /** Entries that were stored anew, without a secret that the host has learned of since. */
  readonly redactedIds: readonly string[]
}

const NO_ENTRY = refuse('not_found', 'No such memory entry, or it is not visible to this key.')

/** An empty list would say that there is nothing. */
const CANNOT_SEARCH = refuse(
  'validation_error',
  'The content of entries is sealed on this host (memory.fullText is off) and cannot be searched; ask by tag or reference.',
  { field: 'q' },
)

export function createMemoryDesk(deps: DeskDeps, settings: { readonly fullText: boolean }): MemoryAdmin {
  const { store } = deps
  const shown = async (tenant: string, scope: string, row: WriteRow): Promise<MemoryShown> => {
    const bytes = await bytesOf(deps, tenant, row)
    return { row, scope, content: bytes?.toString('utf8') ?? null }
  }
  return {
    async list(tenant, wanted, { words, ...query }) {
      if (words && words.length > 0 && !settings.fullText) return refused(CANNOT_SEARCH)
      const seen = await viewWanted(deps, tenant, 'memory', wanted)
      if (!seen.ok) return refused(seen.refusal)
      const rows = words
        ? await foundInTurn(deps, tenant, 'memory', seen.view, { words, ...query })
        : await entriesIn(store, tenant, 'memory', seen.view, query)
      const entries: MemoryShown[] = []
      for (const row of rows) entries.push(await shown(tenant, seen.scope, row))
      return got(entries)
    },

    async get(tenant, wanted, key) {
      const seen = await viewWanted(deps, tenant, 'memory', wanted)
      if (!seen.ok) return refused(seen.refusal)
      const row = await entryIn(store, tenant, 'memory', seen.view, key)
      return row ? got(await shown(tenant, seen.scope, row)) : refused(NO_ENTRY)
    },

    scopes: (tenant, limit, after) => store.listScopes(tenant, 'memory', limit, after),

    async forget(tenant, scope, key, destroy) {
      const row = await entryIn(store, tenant, 'memory', await viewNow(deps, tenant, 'memory', scope), key)
      const copies = await holdersOf(deps, tenant, scope, key)
      const written = row && (await store.writeOutside(tenant, [forgetting(deps, scope, key)], null))
      const destroyed = destroy ? await store.destroyContent(tenant, 'memory', scope, key) : 0
      return written?.kind === 'written' || destroyed > 0 ? got({ copies, destroyed }) : refused(NO_ENTRY)
    },

    consolidate: (tenant, scope, ref) => consolidate(deps, settings, tenant, scope, ref),
  }
}

/** Versions of an entry that are looked at, the newest. */
const MOST_VERSIONS = 1_000

/** M10: runs that wrote or read any version of it, also where it was forgotten before. */
async function holdersOf({ store }: DeskDeps, tenant: string, scope: string, key: Key): Promise<readonly string[]> {
  const holders = new Set<string>()
  let upTo = (await store.heads(tenant, scope)).memory
  for (let seen = 0; seen < MOST_VERSIONS && upTo > 0; seen += 1) {
    const row = await store.entryAt(tenant, 'memory', { scope, upTo, runs: [] }, key)
    if (row === undefined) break
    for (const runId of await store.copiesOf(tenant, row)) holders.add(runId)
    upTo = (row.position ?? 1) - 1
  }
  return [...holders].sort()
}

const forgetting = ({ clock }: DeskDeps, scope: string, { ref, id }: Key): OutsideWrite => ({
  space: 'memory',
  scope,
  ref,
  id,
  op: 'forget',
  tags: [],
  at: clock.now(),
  expiresAt: null,
  content: null,
  hash: null,
  contentType: null,
  ifMatch: null,
})

/** Somebody else may forget what is about to be merged; then it is looked at again. */
const TRIES = 3
const BUSY = refuse(
  'service_unavailable',
  'The memory changed again and again while it was consolidated; nothing was done. Try again later.',
)

/**
 * R-MEM-22: of entries that say the same under the same tags one stays, that which lasts longest and of these the newest. What
 * stays is redacted anew. A pass that finds nothing to do does nothing and tells nothing.
 */
async function consolidate(
  deps: DeskDeps,
  settings: { readonly fullText: boolean },
  tenant: string,
  scope: string,
  ref: string,
): Promise<Found<Consolidated>> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const { writes, ...done } = await passOver(deps, settings, tenant, scope, ref)
    if (writes.length === 0) return got(done)
    const payload = {
      memoryRef: ref,
      inputCount: done.inputCount,
      outputCount: done.outputCount,
      ...(done.mergedIds.length > 0 && { mergedIds: done.mergedIds }),
      trigger: 'on-demand',
    }
    const event = { type: 'agent.memory.consolidated', payload: JSON.stringify(payload), at: deps.clock.now() }
    const result = await deps.store.writeOutside(tenant, writes, event)
    if (result.kind === 'written') return got(done)
  }
  return refused(BUSY)
}

type Pass = Consolidated & { readonly writes: readonly OutsideWrite[] }

async function passOver(
  deps: DeskDeps,
  { fullText }: { readonly fullText: boolean },
  tenant: string,
  scope: string,
  ref: string,
): Promise<Pass> {
  const rows: WriteRow[] = []
  for (const reach of await viewNow(deps, tenant, 'memory', scope))
    for await (const page of scopePages(deps, tenant, 'memory', reach, { ref })) rows.push(...page)
  const groups = new Map<string, WriteRow[]>()
  const anew: OutsideWrite[] = []
  for (const row of rows) {
    const before = (await bytesOf(deps, tenant, row))?.toString('utf8')
    const text = before === undefined ? undefined : deps.redact.text(before)
    const tags = keepTags(deps, row.tags)
    // What was destroyed says nothing, and so the same as nothing else.
    const says = text === undefined ? `gone ${row.id}` : JSON.stringify([sha256(text), [...tags].sort()])
    const group = groups.get(says)
    if (group) group.push(row)
    else groups.set(says, [row])
    if (text === undefined || (text === before && String(tags) === String(row.tags))) continue
    const about = { tenant, contentId: deps.ids.unique(), runId: null }
    anew.push(storing(deps, row, scope, tags, await keepText(deps, { ...about, text, plain: fullText })))
  }
  const stay = new Set([...groups.values()].map(lasting))
  const merged = rows.filter(row => !stay.has(row))
  const gone = new Set(merged.map(({ id }) => id))
  const kept = anew.filter(({ id }) => !gone.has(id))
  return {
    inputCount: rows.length,
    outputCount: stay.size,
    mergedIds: merged.map(({ id }) => id),
    redactedIds: kept.map(({ id }) => id),
    writes: [...kept, ...merged.map(row => forgetting(deps, scope, row))],
  }
}

/** Rows are newest first. */
const lasting = (rows: readonly WriteRow[]): WriteRow =>
  rows.reduce((best, next) => (endOf(next) > endOf(best) ? next : best))

const endOf = ({ expiresAt }: WriteRow): number => expiresAt ?? Number.POSITIVE_INFINITY

/** J3: to be stored anew makes nothing last longer. */
const storing = (
  { clock }: DeskDeps,
  { ref, id, expiresAt }: WriteRow,
  scope: string,
  tags: readonly string[],
  { content, hash, bytes }: KeptContent,
): OutsideWrite => ({
  space: 'memory',
  scope,
  ref,
  id,
  op: 'put',
  tags,
  at: clock.now(),
  expiresAt,
  content,
  hash,
  bytes,
  contentType: null,
  ifMatch: null,
})
