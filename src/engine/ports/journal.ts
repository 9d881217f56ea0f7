import type { AttemptBefore, LayerBefore, Reach, Space } from '../../core/journal/place.js'

/**
 * Memory and workspaces as the store keeps them (docs/design/journal.md, S15). Rows are made of events, by `commit`; here
 * is what else the host needs. Every read takes a tenant, and finds nothing of another's (S6).
 */
export interface Journal {
  /** How far the scopes have come: anchors. 0 where nothing was published. A branch has a workspace of its own. */
  heads(
    tenant: string,
    memoryScope: string | undefined,
    workspaceScope?: string,
  ): Promise<{ readonly memory: number; readonly workspace: number }>
  /**
   * How many keys of the scope have a put as their latest row, whether or not it has expired. Costs as much in a large one.
   * With `held`, those as well that have none there, and that these runs will put there if gates let them: what is in
   * their layers, and what the first of them has written since. Costs as much as that.
   */
  countEntries(tenant: string, space: Space, scope: string, held?: readonly LayerBefore[]): Promise<number>
  /**
   * Stores content before an event tells of it. The same id again changes nothing. The event's `hash` is the SHA-256 of
   * the body as it is stored, in hex: of what is sealed, where it is.
   */
  keepContent(content: Content): Promise<void>
  /** Undefined when it is gone, or another tenant's. */
  readContent(tenant: string, contentId: string): Promise<Content | undefined>
  /** What a reach answers for a key: a row, which may be a forget; expiry is the caller's to judge. */
  entryAt(tenant: string, space: Space, reach: Reach, key: Key): Promise<WriteRow | undefined>
  /**
   * The same for all keys that fit, each once, what the runs see of their own first, then by position; newest first. `after`
   * is the `cursor` of the page before.
   */
  entriesAt(tenant: string, space: Space, reach: Reach, query: EntriesQuery): Promise<EntriesPage>
  /** Puts that a reach answers with and whose text has all the words (or, where there are none, the tags), best first. */
  searchAt(tenant: string, space: Space, reach: Reach, query: SearchQuery): Promise<WriteRow[]>
  /**
   * The latest that one attempt at a node wrote under a key before an event, held or not, also before the cut of a branch:
   * what no reach answers with before it is merged.
   */
  entryOfAttempt(tenant: string, space: Space, attempt: AttemptBefore, key: Key): Promise<WriteRow | undefined>
}

/** What concerns the journal outside of any run. */
export interface JournalKeeping {
  /**
   * Writes by a key, not by a run: published at once, all or none, in one transaction with the event that the tenant's own
   * stream gets. `conflict` where an `ifMatch` is not the current version, `absent` where there is nothing to forget.
   */
  writeOutside(tenant: string, writes: readonly OutsideWrite[], event: StreamEvent | null): Promise<OutsideResult>
  /** The tenant's own stream: what happened outside of its runs, and every new version of a file. */
  readTenantEvents(tenant: string, from: number, limit: number): Promise<TenantEvent[]>
  /** Runs whose logs or sealed words may hold a copy of an entry: who wrote it, and who has read it. */
  copiesOf(tenant: string, row: WriteName): Promise<readonly string[]>
  /** Scopes whose entries a tenant has, with figures. */
  listScopes(tenant: string, space: Space, limit: number, after?: string): Promise<ScopeRow[]>
  /**
   * Deletes up to `limit` rows that were superseded, forgotten or expired before `olderThan`, and raises the horizons of
   * their scopes in the same transaction. Returns how many; fewer than `limit` when nothing is left to do.
   */
  collectJournal(olderThan: number, limit: number): Promise<number>
  /** The position before which the scope cannot be read; 0 when all of it can. */
  horizonOf(tenant: string, space: Space, scope: string): Promise<number>
  /** Destroys the content of every version of a key in a scope. Returns how many. */
  destroyContent(tenant: string, space: Space, scope: string, key: Key): Promise<number>
}

export type Key = { readonly ref: string; readonly id: string }

/** Names a write: the event that told of it. Outside of runs `runId` is `tenant:<tenant>`. */
export type WriteName = { readonly runId: string; readonly sequence: number }

export type Content = {
  readonly contentId: string
  readonly tenant: string
  /** The run it was made for; null outside of runs. */
  readonly runId: string | null
  readonly body: Uint8Array
  /** How many pieces it is in, of which the body is the list (`PieceStore`); 0 where the body is all of it. */
  readonly pieces: number
  /** Words to be found by; null where the body is sealed, or no text. */
  readonly text: string | null
  readonly sealed: boolean
}

/** One write, as its event told it. */
export type WriteRow = WriteName &
  Key & {
    readonly space: Space
    readonly scope: string
    readonly op: 'put' | 'forget'
    readonly tags: readonly string[]
    readonly at: number
    readonly expiresAt: number | null
    readonly contentId: string | null
    readonly hash: string | null
    readonly bytes: number
    readonly contentType: string | null
    /** In the scope of the reach that answered; null while it is held there. */
    readonly position: number | null
    /** Of a published file. */
    readonly version: number | null
    readonly agentId: string | null
    readonly nodeId: string | null
  }

export type EntriesQuery = {
  /** All of them when absent. */
  readonly ref?: string
  readonly tag?: string
  /** That ids begin with. */
  readonly prefix?: string
  readonly limit: number
  readonly after?: string
}

export type EntriesPage = { readonly rows: readonly WriteRow[]; readonly cursor?: string }

export type SearchQuery = {
  readonly words: readonly string[]
  readonly ref?: string
  readonly tag?: string
  readonly limit: number
}

export type OutsideWrite = Key & {
  readonly space: Space
  readonly scope: string
  readonly op: 'put' | 'forget'
  readonly tags: readonly string[]
  readonly at: number
  readonly expiresAt: number | null
  readonly content: Content | null
  readonly hash: string | null
  /** Before it was sealed; the length of the body when absent. */
  readonly bytes?: number
  readonly contentType: string | null
  readonly ifMatch: number | null
}

/** What the stream is told besides `workspace.updated`, which the store tells of every new version of a file. */
export type StreamEvent = { readonly type: string; readonly payload: string; readonly at: number }

export type OutsideResult =
  | {
      readonly kind: 'written'
      readonly rows: readonly { readonly position: number; readonly version: number | null }[]
    }
  | { readonly kind: 'conflict'; readonly id: string; readonly currentVersion: number }
  | { readonly kind: 'absent'; readonly id: string }

export type TenantEvent = {
  readonly sequence: number
  readonly type: string
  readonly payload: string
  readonly at: number
}

export type ScopeRow = {
  readonly scope: string
  readonly head: number
  readonly entries: number
  readonly horizon: number
}
