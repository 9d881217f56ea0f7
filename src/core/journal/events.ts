import type { NodeFact } from '../run/events.js'
import type { Space } from './place.js'

/**
 * What a run writes down for later. Free of content: payloads name it, the words are stored apart under `contentId`, and
 * the store makes its rows of these events (S15).
 */
export type JournalFact =
  | NodeFact<'memory.written', MemoryTold, WriteSecret>
  | NodeFact<'assay.memory.forgotten', MemoryTold, WriteSecret>
  | NodeFact<'assay.file.written', FileTold, WriteSecret>
  | NodeFact<'assay.file.removed', FileTold, WriteSecret>
  /** Something of the journal was read: which entries, as of when, is in the secret. */
  | NodeFact<'assay.journal.read', { nodeId: string; agentId?: string; space: Space; entries: number }, ReadSecret>

export type MemoryTold = { memoryRef: string; memoryId: string; nodeId: string; agentId?: string }
export type FileTold = { path: string; nodeId: string; agentId?: string }

export const WRITE_EVENTS = [
  'memory.written',
  'assay.memory.forgotten',
  'assay.file.written',
  'assay.file.removed',
] as const
export type WriteEvent = (typeof WRITE_EVENTS)[number]

/** What the store makes a row of. */
export type WriteSecret = {
  readonly space: Space
  readonly scope: string
  /** Sequence that the attempt of the node began with. */
  readonly since: number
  readonly ref: string
  /** `memoryId`, or the path. */
  readonly id: string
  readonly op: 'put' | 'forget'
  readonly tags: readonly string[]
  /** Milliseconds; J3. */
  readonly expiresAt: number | null
  /** Of a put. */
  readonly contentId: string | null
  readonly hash: string | null
  readonly bytes: number
  readonly contentType: string | null
  /** Of a file: the version that it must have when this is published; 0 where there must be none. */
  readonly ifMatch: number | null
  /** Of a file: the version that the writer saw; 0 where it saw none. */
  readonly seen: number
}

/** `rows`: the writes that were read, as `<run>:<sequence>`. */
export type ReadSecret = { readonly rows: readonly string[]; readonly digest: string }
