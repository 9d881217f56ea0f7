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
import { claimToken } from '../claim-tokens.js'
import { hashOfBody, packContent } from '../journal-content.js'
import { entriesAt, entryAt, searchAt } from '../journal-reads.js'
import { SqliteKeeping } from './keeping.js'
import { attemptEntryIn, contentIn, headIn, journalRowsIn } from './read-journal.js'
import { SQL } from './statements.js'

/** The part of the store that keeps memory and workspaces. */
export class SqliteJournal extends SqliteKeeping implements Journal, JournalKeeping, PieceStore {
  readonly #rows = journalRowsIn(this.reader)

  async heads(
    tenant: string,
    memoryScope: string | undefined,
    workspaceScope = WORKSPACE_SCOPE,
  ): Promise<{ memory: number; workspace: number }> {
    return {
      memory: memoryScope === undefined ? 0 : headIn(this.reader, tenant, 'memory', memoryScope).head,
      workspace: headIn(this.reader, tenant, 'workspace', workspaceScope).head,
    }
  }

  async countEntries(tenant: string, space: Space, scope: string, held: readonly LayerBefore[] = []): Promise<number> {
    const { entries } = headIn(this.reader, tenant, space, scope)
    if (held.length === 0) return entries
    return entries + Number(this.reader.get(SQL.journal.held, tenant, space, scope, JSON.stringify(held))?.keys)
  }

  keepContent(content: Content): Promise<void> {
    return this.write('keepContent', { content: packContent(content) })
  }

  async readContent(tenant: string, contentId: string): Promise<Content | undefined> {
    return contentIn(this.reader, tenant, contentId)
  }

  entryAt(tenant: string, space: Space, reach: Reach, key: Key): Promise<WriteRow | undefined> {
    return entryAt(this.#rows, tenant, space, reach, key)
  }

  entriesAt(tenant: string, space: Space, reach: Reach, query: EntriesQuery): Promise<EntriesPage> {
    return entriesAt(this.#rows, tenant, space, reach, query)
  }

  searchAt(tenant: string, space: Space, reach: Reach, query: SearchQuery): Promise<WriteRow[]> {
    return searchAt(this.#rows, tenant, space, reach, query)
  }

  async entryOfAttempt(tenant: string, space: Space, attempt: AttemptBefore, key: Key): Promise<WriteRow | undefined> {
    return attemptEntryIn(this.reader, tenant, space, attempt, key)
  }

  writeOutside(tenant: string, writes: readonly OutsideWrite[], event: StreamEvent | null): Promise<OutsideResult> {
    const packed = writes.map(({ content, ...write }) => ({ ...write, content: content && packContent(content) }))
    return this.write('writeOutside', { tenant, writes: packed, event, token: claimToken() })
  }

  async readTenantEvents(tenant: string, from: number, limit: number): Promise<TenantEvent[]> {
    return this.reader.all(SQL.journal.tenantEvents, tenant, from, limit).map(row => ({ ...row }) as TenantEvent)
  }

  async copiesOf(tenant: string, { runId, sequence }: WriteName): Promise<readonly string[]> {
    const rows = this.reader.all(SQL.journal.copies, tenant, runId, `${runId}:${sequence}`)
    return rows.map(row => row.run_id as string)
  }

  async listScopes(tenant: string, space: Space, limit: number, after?: string): Promise<ScopeRow[]> {
    const rows = this.reader.all(SQL.journal.scopes, tenant, space, after ?? null, limit)
    return rows.map(row => ({ ...row }) as ScopeRow)
  }

  collectJournal(olderThan: number, limit: number): Promise<number> {
    return this.write('collectJournal', { olderThan, limit })
  }

  async horizonOf(tenant: string, space: Space, scope: string): Promise<number> {
    return headIn(this.reader, tenant, space, scope).horizon
  }

  destroyContent(tenant: string, space: Space, scope: string, key: Key): Promise<number> {
    return this.write('destroyContent', { tenant, space, scope, key })
  }

  keepPiece(piece: Piece): Promise<void> {
    return this.write('keepPiece', { piece, hash: hashOfBody(piece.body) })
  }

  async readPiece(tenant: string, contentId: string, index: number): Promise<Uint8Array | undefined> {
    return this.reader.get(SQL.journal.piece, tenant, contentId, index)?.body as Uint8Array | undefined
  }

  dropUpload(tenant: string, contentId: string): Promise<void> {
    return this.write('dropUpload', { tenant, contentId })
  }

  collectUploads(olderThan: number, limit: number): Promise<number> {
    return this.write('collectUploads', { olderThan, limit })
  }
}
