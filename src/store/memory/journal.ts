import {
  type AttemptBefore,
  type LayerBefore,
  type Reach,
  type Space,
  WORKSPACE_SCOPE,
} from '../../core/journal/place.js'
import type {
  Content,
  EntriesPage,
  EntriesQuery,
  Journal,
  JournalKeeping,
  Key,
  OutsideResult,
  OutsideWrite,
  ScopeRow,
  SearchQuery,
  StreamEvent,
  TenantEvent,
  WriteName,
  WriteRow,
} from '../../engine/ports/journal.js'
import type { Piece, PieceStore } from '../../engine/ports/pieces.js'
import { entriesAt, entryAt, fits, type JournalRows, keyOf, searchAt } from '../journal-reads.js'
import { tagWord } from '../journal-words.js'
import { refuseControls } from '../storable-text.js'
import { refuseErased } from './erasures.js'
import { sharedBy } from './journal-commit.js'
import { collect, destroy, entriesOf, heldKeys, keepContent, scopesOf, writeOutside } from './journal-keeping.js'
import { contentKey, type Published, publishedIn, scopeOf, toRow, wordsOfWrite, writeNamed } from './journal-tables.js'
import { collectUploads, dropUpload, keepPiece } from './pieces.js'
import { emptyTables, type Tables } from './tables.js'
import { MemoryTrail } from './trail.js'

/** The journal of the store in memory. */
export class MemoryJournal extends MemoryTrail implements Journal, JournalKeeping, PieceStore {
  protected readonly tables: Tables = emptyTables()
  readonly #rows = rowsIn(this.tables)

  async heads(
    tenant: string,
    memoryScope: string | undefined,
    workspaceScope = WORKSPACE_SCOPE,
  ): Promise<{ memory: number; workspace: number }> {
    const head = (space: Space, scope: string) => scopeOf(this.tables.journal, tenant, space, scope).head
    return {
      memory: memoryScope === undefined ? 0 : head('memory', memoryScope),
      workspace: head('workspace', workspaceScope),
    }
  }

  async countEntries(tenant: string, space: Space, scope: string, held: readonly LayerBefore[] = []): Promise<number> {
    const { journal } = this.tables
    const found = scopeOf(journal, tenant, space, scope)
    return entriesOf(found) + heldKeys(journal, found, held).size
  }

  async keepContent(content: Content): Promise<void> {
    const { text: _text, ...names } = content
    refuseControls(names)
    refuseErased(this.tables, content.tenant)
    keepContent(this.tables, content)
  }

  async readContent(tenant: string, contentId: string): Promise<Content | undefined> {
    const found = this.tables.journal.contents.get(contentKey(tenant, contentId))
    if (found === undefined) return undefined
    const { hash: _hash, parts: _parts, ...content } = found
    return content
  }

  async entryAt(tenant: string, space: Space, reach: Reach, key: Key): Promise<WriteRow | undefined> {
    return entryAt(this.#rows, tenant, space, reach, key)
  }

  async entriesAt(tenant: string, space: Space, reach: Reach, query: EntriesQuery): Promise<EntriesPage> {
    return entriesAt(this.#rows, tenant, space, reach, query)
  }

  async searchAt(tenant: string, space: Space, reach: Reach, query: SearchQuery): Promise<WriteRow[]> {
    return searchAt(this.#rows, tenant, space, reach, query)
  }

  async entryOfAttempt(tenant: string, space: Space, attempt: AttemptBefore, key: Key): Promise<WriteRow | undefined> {
    const { journal, runs } = this.tables
    const { runId, nodeId, since, before } = attempt
    const own = { runId, from: 0, upto: before }
    const write = [...sharedBy(this.tables, runs.get(runId)?.fork ?? null), own]
      .flatMap(part => (journal.writes.get(part.runId) ?? []).filter(({ sequence }) => isWithin(sequence, part)))
      .findLast(
        one =>
          one.sequence < before &&
          one.nodeId === nodeId &&
          one.since === since &&
          one.tenant === tenant &&
          one.space === space &&
          keyOf(one) === keyOf(key),
      )
    return write && toRow(write, write.scope, publishedIn(scopeOf(journal, tenant, space, write.scope), write))
  }

  async writeOutside(
    tenant: string,
    writes: readonly OutsideWrite[],
    event: StreamEvent | null,
  ): Promise<OutsideResult> {
    refuseControls([tenant, event])
    for (const { content, ...names } of writes) refuseControls([names, content?.contentId])
    refuseErased(this.tables, tenant)
    return writeOutside(this.tables, tenant, writes, event)
  }

  async readTenantEvents(tenant: string, from: number, limit: number): Promise<TenantEvent[]> {
    const events = this.tables.journal.streams.get(tenant)?.events ?? []
    return events.filter(({ sequence }) => sequence >= from).slice(0, limit)
  }

  async copiesOf(tenant: string, { runId, sequence }: WriteName): Promise<readonly string[]> {
    const name = `${runId}:${sequence}`
    const readers = [...this.tables.journal.reads].flatMap(([reader, rows]) => (rows.has(name) ? reader : []))
    const isStored = (id: string) => this.tables.runs.get(id)?.tenant === tenant
    return [...new Set([runId, ...readers])].filter(isStored).sort()
  }

  async listScopes(tenant: string, space: Space, limit: number, after?: string): Promise<ScopeRow[]> {
    return scopesOf(this.tables.journal, tenant, space, after).slice(0, limit)
  }

  async collectJournal(olderThan: number, limit: number): Promise<number> {
    return collect(this.tables, olderThan, limit)
  }

  async horizonOf(tenant: string, space: Space, scope: string): Promise<number> {
    return scopeOf(this.tables.journal, tenant, space, scope).horizon
  }

  async keepPiece(piece: Piece): Promise<void> {
    const { tenant, contentId } = piece
    refuseControls({ tenant, contentId })
    refuseErased(this.tables, tenant)
    keepPiece(this.tables, piece)
  }

  async readPiece(tenant: string, contentId: string, index: number): Promise<Uint8Array | undefined> {
    const { contents, uploads } = this.tables.journal
    const key = contentKey(tenant, contentId)
    return contents.get(key)?.parts[index] ?? uploads.get(key)?.parts.get(index)
  }

  async dropUpload(tenant: string, contentId: string): Promise<void> {
    dropUpload(this.tables, { tenant, contentId })
  }

  async collectUploads(olderThan: number, limit: number): Promise<number> {
    return collectUploads(this.tables, olderThan, limit)
  }

  async destroyContent(tenant: string, space: Space, scope: string, key: Key): Promise<number> {
    return destroy(this.tables, tenant, space, scope, key)
  }
}

const isWithin = (sequence: number, { from, upto }: { readonly from: number; readonly upto: number }): boolean =>
  sequence >= from && sequence < upto

const isAsOf = ({ position, until }: Published, upTo: number): boolean =>
  position <= upTo && (until === null || until > upTo)

function rowsIn({ journal }: Tables): JournalRows {
  const asOf = (tenant: string, space: Space, { scope, upTo }: Reach) =>
    scopeOf(journal, tenant, space, scope)
      .rows.filter(row => isAsOf(row, upTo))
      .reverse()
  return {
    own: async (tenant, space, reach, key) =>
      reach.runs.flatMap(({ runId, before }) =>
        (journal.layers.get(runId) ?? []).toReversed().flatMap(({ write: name, scope, seq, left }) => {
          const write = writeNamed(journal, name)
          if (write?.tenant !== tenant || write.space !== space || scope !== reach.scope) return []
          if (seq >= before || (left !== null && left < before)) return []
          if (key && keyOf(key) !== keyOf(write)) return []
          const published = publishedIn(scopeOf(journal, tenant, space, scope), name)
          if (published && published.position <= reach.upTo) return []
          return toRow(write, scope, published)
        }),
      ),
    published: async (tenant, space, reach, key) => {
      const row = asOf(tenant, space, reach).find(({ write }) => keyOf(write) === keyOf(key))
      return row && toRow(row.write, reach.scope, row)
    },
    listed: async (tenant, space, reach, { below, limit, ...query }) =>
      asOf(tenant, space, reach)
        .filter(({ position }) => position < below)
        .map(row => toRow(row.write, reach.scope, row))
        .filter(row => fits(row, query))
        .slice(0, limit),
    matching: async (tenant, space, reach, { words, limit, ...query }) =>
      asOf(tenant, space, reach)
        .filter(({ write }) => write.op === 'put')
        .map(row => toRow(row.write, reach.scope, row))
        .filter(row => {
          const terms = new Set(wordsOfWrite(journal, { tenant, contentId: row.contentId }) ?? row.tags.map(tagWord))
          return fits(row, query) && words.every(word => terms.has(word))
        })
        .slice(0, limit),
    words: async (tenant, contentIds) => contentIds.map(contentId => wordsOfWrite(journal, { tenant, contentId })),
  }
}
