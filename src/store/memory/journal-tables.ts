import type { Space } from '../../core/journal/place.js'
import type { Content, Key, TenantEvent, WriteName, WriteRow } from '../../engine/ports/journal.js'
import { keyOf } from '../journal-reads.js'
import type { LayerRow, ToldWrite } from '../journal-rules.js'
import { wordsOf } from '../journal-words.js'
import { RevertibleMap } from './revertible-map.js'

/** The journal in memory. Rows are replaced, never changed in place. */
export type JournalTables = {
  /** By `contentKey`. */
  readonly contents: RevertibleMap<Content & { readonly hash: string; readonly parts: readonly Uint8Array[] }>
  /** By `contentKey`: pieces of what is still coming. */
  readonly uploads: RevertibleMap<Upload>
  /** By the run that wrote, in the order of their events. */
  readonly writes: RevertibleMap<readonly ToldWrite[]>
  /** By run, in the order in which they entered. */
  readonly layers: RevertibleMap<readonly LayerRow[]>
  /** By `scopeKey`. */
  readonly scopes: RevertibleMap<Scope>
  /** By run: which writes it has read, as `<run>:<sequence>`. */
  readonly reads: RevertibleMap<ReadonlySet<string>>
  /** By tenant. */
  readonly streams: RevertibleMap<Stream>
}

export type Upload = {
  readonly tenant: string
  readonly contentId: string
  readonly at: number
  readonly parts: ReadonlyMap<number, Uint8Array>
}

export type Scope = {
  readonly tenant: string
  readonly space: Space
  readonly scope: string
  readonly head: number
  readonly horizon: number
  /** In the order of their positions. */
  readonly rows: readonly Published[]
}

/** `until`: the next position of the same key; `endedAt`: when it was given out. */
export type Published = {
  readonly position: number
  readonly write: ToldWrite
  readonly version: number | null
  readonly at: number
  readonly until: number | null
  readonly endedAt: number | null
}

export type Stream = { readonly events: readonly TenantEvent[]; readonly writes: number }

export const emptyJournal = (): JournalTables => ({
  contents: new RevertibleMap(),
  uploads: new RevertibleMap(),
  writes: new RevertibleMap(),
  layers: new RevertibleMap(),
  scopes: new RevertibleMap(),
  reads: new RevertibleMap(),
  streams: new RevertibleMap(),
})

/** What `work` does is undone where it throws, or answers with something that `isRefusal`. */
export function allOrNothing<T>(journal: JournalTables, work: () => T, isRefusal: (result: T) => boolean): T {
  const tables: readonly RevertibleMap<unknown>[] = Object.values(journal)
  for (const table of tables) table.remember()
  let isDone = false
  try {
    const result = work()
    isDone = !isRefusal(result)
    return result
  } finally {
    for (const table of tables) {
      if (isDone) table.forget()
      else table.revert()
    }
  }
}

export const contentKey = (tenant: string, contentId: string): string => JSON.stringify([tenant, contentId])

const scopeKey = (tenant: string, space: Space, scope: string): string => JSON.stringify([tenant, space, scope])

export const scopeOf = ({ scopes }: JournalTables, tenant: string, space: Space, scope: string): Scope =>
  scopes.get(scopeKey(tenant, space, scope)) ?? { tenant, space, scope, head: 0, horizon: 0, rows: [] }

export const setScope = ({ scopes }: JournalTables, scope: Scope): void => {
  scopes.set(scopeKey(scope.tenant, scope.space, scope.scope), scope)
}

export const deleteScope = ({ scopes }: JournalTables, { tenant, space, scope }: Omit<Scope, 'rows'>): void => {
  scopes.delete(scopeKey(tenant, space, scope))
}

export const writeNamed = ({ writes }: JournalTables, { runId, sequence }: WriteName): ToldWrite | undefined =>
  writes.get(runId)?.find(write => write.sequence === sequence)

export const isSameWrite = (a: WriteName, b: WriteName): boolean => a.runId === b.runId && a.sequence === b.sequence

/** The row of a write in a scope, if it is published there. */
export const publishedIn = ({ rows }: Scope, write: WriteName): Published | undefined =>
  rows.find(row => isSameWrite(row.write, write))

export const latestOf = ({ rows }: Scope, key: Key): Published | undefined =>
  rows.findLast(({ write }) => keyOf(write) === keyOf(key))

/** Those of the text; null where there is none. */
export const wordsOfWrite = (
  { contents }: JournalTables,
  { tenant, contentId }: Pick<ToldWrite, 'tenant' | 'contentId'>,
): readonly string[] | null => {
  const text = contents.get(contentKey(tenant, contentId ?? ''))?.text ?? null
  return text === null ? null : wordsOf(text)
}

export function toRow(write: ToldWrite, scope: string, published: Published | undefined): WriteRow {
  const { tenant: _tenant, since: _since, ifMatch: _ifMatch, seen: _seen, ...row } = write
  const nodeId = write.nodeId === '' ? null : write.nodeId
  return { ...row, nodeId, scope, position: published?.position ?? null, version: published?.version ?? null }
}
