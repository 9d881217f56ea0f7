import {
  type AttemptBefore,
  type LayerBefore,
  type Reach,
  type Space,
  WORKSPACE_SCOPE,
} from '../../core/journal/place.js'
import { MissingContent } from '../../engine/ports/event-log.js'
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
import { hashOfBody, type PackedContent, packContent, unpackContent } from '../journal-content.js'
import { entriesAt, entryAt, searchAt } from '../journal-reads.js'
import { refuseControls } from '../storable-text.js'
import { StatementFault } from './connections.js'
import { PostgresKeeping } from './keeping.js'
import { journalRowsIn } from './read-journal.js'
import { SQL } from './statements.js'
import { isWithoutContent } from './trouble.js'

type HeadRow = { readonly space: Space; readonly head: number; readonly horizon: number; readonly entries: number }

/** The part of the store that keeps memory and workspaces. */
export class PostgresJournal extends PostgresKeeping implements Journal, JournalKeeping, PieceStore {
  readonly #rows = journalRowsIn(this.queries)

  async heads(
    tenant: string,
    memoryScope: string | undefined,
    workspaceScope = WORKSPACE_SCOPE,
  ): Promise<{ memory: number; workspace: number }> {
    const rows = await this.queries.readAll<HeadRow>(SQL.journalHeads, tenant, memoryScope ?? null, workspaceScope)
    const head = (of: Space) => rows.find(({ space }) => space === of)?.head ?? 0
    return { memory: head('memory'), workspace: head('workspace') }
  }

  async countEntries(tenant: string, space: Space, scope: string, held: readonly LayerBefore[] = []): Promise<number> {
    const entries = (await this.#scope(tenant, space, scope))?.entries ?? 0
    if (held.length === 0) return entries
    const counted = await this.queries.readOne<{ keys: number }>(
      SQL.countHeld,
      tenant,
      space,
      scope,
      JSON.stringify(held),
    )
    return entries + (counted?.keys ?? 0)
  }

  async keepContent(content: Content): Promise<void> {
    await this.queries.all(SQL.keepContent, JSON.stringify(sendable(content))).catch(refuseWithoutContent)
  }

  async readContent(tenant: string, contentId: string): Promise<Content | undefined> {
    type Stored = Parameters<typeof unpackContent>[2]
    const row = await this.queries.readOne<Stored>(SQL.readContent, tenant, contentId)
    return row && unpackContent(tenant, contentId, row)
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

  entryOfAttempt(tenant: string, space: Space, attempt: AttemptBefore, key: Key): Promise<WriteRow | undefined> {
    const { runId, nodeId, since, before } = attempt
    const values = [tenant, space, runId, nodeId, since, before, key.ref, key.id]
    return this.queries.readOne(SQL.entryOfAttempt, ...values)
  }

  async writeOutside(
    tenant: string,
    writes: readonly OutsideWrite[],
    event: StreamEvent | null,
  ): Promise<OutsideResult> {
    refuseControls(event)
    const sent = writes.map(({ content, ...write }) => {
      refuseControls(write)
      return { ...write, bytes: write.bytes ?? content?.body.byteLength ?? 0, content: content && sendable(content) }
    })
    const values = [tenant, JSON.stringify(sent), JSON.stringify(event), claimToken()]
    const writing = this.queries.answer<{ result: OutsideResult }>(SQL.writeOutside, ...values)
    return (await writing.catch(refuseWithoutContent)).result
  }

  readTenantEvents(tenant: string, from: number, limit: number): Promise<TenantEvent[]> {
    return this.queries.readAll(SQL.readTenantEvents, tenant, from, limit)
  }

  async copiesOf(tenant: string, { runId, sequence }: WriteName): Promise<readonly string[]> {
    const name = `${runId}:${sequence}`
    const rows = await this.queries.readAll<{ runId: string }>(SQL.copiesOf, tenant, runId, name)
    return rows.map(row => row.runId)
  }

  listScopes(tenant: string, space: Space, limit: number, after?: string): Promise<ScopeRow[]> {
    return this.queries.readAll(SQL.listScopes, tenant, space, after ?? null, limit)
  }

  async collectJournal(olderThan: number, limit: number): Promise<number> {
    return (await this.queries.answer<{ collected: number }>(SQL.collectJournal, olderThan, limit)).collected
  }

  async horizonOf(tenant: string, space: Space, scope: string): Promise<number> {
    return (await this.#scope(tenant, space, scope))?.horizon ?? 0
  }

  async destroyContent(tenant: string, space: Space, scope: string, { ref, id }: Key): Promise<number> {
    return (await this.queries.answer<{ destroyed: number }>(SQL.destroyContent, tenant, space, scope, ref, id))
      .destroyed
  }

  async keepPiece({ tenant, contentId, index, at, body }: Piece): Promise<void> {
    refuseControls({ tenant, contentId })
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    await this.queries.all(SQL.keepPiece, tenant, contentId, index, hashOfBody(body), at, bytes)
  }

  async readPiece(tenant: string, contentId: string, index: number): Promise<Uint8Array | undefined> {
    return (await this.queries.readOne<{ body: Uint8Array }>(SQL.readPiece, tenant, contentId, index))?.body
  }

  async dropUpload(tenant: string, contentId: string): Promise<void> {
    await this.queries.all(SQL.dropUpload, tenant, contentId)
  }

  async collectUploads(olderThan: number, limit: number): Promise<number> {
    return (await this.queries.answer<{ collected: number }>(SQL.collectUploads, olderThan, limit)).collected
  }

  #scope(tenant: string, space: Space, scope: string): Promise<HeadRow | undefined> {
    const scopes = space === 'memory' ? [scope, null] : [null, scope]
    return this.queries.readOne<HeadRow>(SQL.journalHeads, tenant, ...scopes)
  }
}

/** S15. */
function refuseWithoutContent(error: unknown): never {
  const cause = error instanceof StatementFault ? error.cause : undefined
  throw isWithoutContent(cause) ? new MissingContent((cause as Error).message, { cause }) : error
}

/** As JSON carries it. S11: its names, before they are; texts may hold anything. */
function sendable(content: Content): Omit<PackedContent, 'body' | 'text'> & { body: string; text: string | null } {
  const { body, text, ...names } = packContent(content)
  refuseControls(names)
  return { ...names, body: inBase64(body), text: text && inBase64(text) }
}

const inBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
