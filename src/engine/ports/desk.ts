import type { Desk, EntriesRead, EntryMade } from '../../core/journal/entry.js'
import type { Space } from '../../core/journal/place.js'

/**
 * The journal as whoever works at a node uses it: what it sees from there, and what is prepared for the run to write. None
 * of these throws for what was asked; what is wrong is said in words.
 *
 *  D1  What is kept has been redacted first (R-MEM-15).
 *  D2  A write is only prepared: nobody sees it before the run has told of it.
 *  D3  The same `id` prepares the same content once, however often it is asked for.
 */
export interface JournalDesk {
  read(seat: DeskSeat, space: Space, key: { readonly ref: string; readonly id: string }): Promise<Looked>
  list(seat: DeskSeat, space: Space, query: ListQuery): Promise<Looked>
  search(seat: DeskSeat, space: Space, query: FindQuery): Promise<Looked>
  put(seat: DeskSeat, entry: EntryWanted): Promise<Prepared>
  forget(
    seat: DeskSeat,
    space: Space,
    key: { readonly ref: string; readonly id: string; readonly ifMatch?: number },
  ): Promise<Prepared>
}

/** Who asks, from where. */
export type DeskSeat = {
  readonly tenant: string
  readonly runId: string
  /** Of the effect: the same when it is tried again. */
  readonly id: string
  readonly desk: Desk
}

export type ListQuery = {
  readonly ref?: string
  readonly tag?: string
  readonly prefix?: string
  readonly limit: number
}
export type FindQuery = { readonly ref?: string; readonly tag?: string; readonly query: string; readonly limit: number }

export type EntryWanted = {
  readonly space: Space
  readonly ref: string
  readonly id?: string
  readonly content: string
  readonly tags: readonly string[]
  readonly ttlSeconds?: number
  readonly contentType?: string
  readonly ifMatch?: number
}

/** An entry as it is shown: of memory as the protocol has it (contract agents §7.1), or of the workspace (§19). */
export type EntryShown = {
  readonly id: string
  readonly ref: string
  /** None in a list of files. */
  readonly content?: string
  /** Why there are no words to show. */
  readonly problem?: string
  readonly tags: readonly string[]
  readonly createdAt: string
  readonly expiresAt?: string
  readonly version?: number
  readonly contentType?: string
}

export type Looked =
  | { readonly ok: true; readonly entries: readonly EntryShown[]; readonly read: EntriesRead }
  | { readonly ok: false; readonly message: string }

export type Prepared =
  | { readonly ok: true; readonly entry: EntryMade }
  | { readonly ok: false; readonly message: string }
