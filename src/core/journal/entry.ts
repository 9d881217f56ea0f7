import type { JournalView, Place, Space } from './place.js'

/** What an effect has prepared for the run to write: its content is stored already, and found by `contentId`. */
export type EntryMade = {
  readonly space: Space
  readonly ref: string
  /** R-MEM-21: one that nobody named is named by whoever prepared it, so that a replay is told the same name. */
  readonly id: string
  readonly op: 'put' | 'forget'
  readonly tags: readonly string[]
  readonly ttlMs?: number
  readonly contentId: string | null
  readonly hash: string | null
  readonly bytes: number
  readonly contentType: string | null
  readonly ifMatch: number | null
  readonly seen: number
}

/** What an effect has read: which writes, as `<run>:<sequence>`, and the digest of what they said. */
export type EntriesRead = { readonly space: Space; readonly rows: readonly string[]; readonly digest: string }

/** What a node asks of the journal: of memory, where it does not say `space`. */
export type JournalUse = { readonly space?: Space } & (
  | {
      readonly act: 'put'
      readonly ref: string
      readonly id?: string
      readonly content: string
      readonly tags: readonly string[]
      readonly ttlSeconds?: number
      readonly contentType?: string
      readonly ifMatch?: number
    }
  | { readonly act: 'get'; readonly ref: string; readonly id: string }
  | {
      readonly act: 'list'
      readonly ref: string
      readonly tag?: string
      readonly prefix?: string
      readonly limit: number
    }
  | {
      readonly act: 'search'
      readonly ref?: string
      readonly query: string
      readonly tag?: string
      readonly limit: number
    }
  | { readonly act: 'forget'; readonly ref: string; readonly id: string; readonly ifMatch?: number }
)

/** What whoever works at a node may see of each space, and where it writes. */
export type Desk = { readonly [Of in Space]?: { readonly scope: string; readonly view: JournalView } }

export type Anchors = { readonly [Of in Space]?: number }

/** A place whose anchor was read anew. */
export const readAnew = (place: Place, upTo: number): Place => ({ ...place, upTo: Math.max(place.upTo, upTo) })
