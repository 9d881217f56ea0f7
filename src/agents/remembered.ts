import type { EntriesRead } from '../core/journal/entry.js'
import { utf8Length } from '../core/json.js'
import { sha256 } from '../digest.js'
import type { DeskSeat, EntryShown, JournalDesk } from '../engine/ports/desk.js'
import type { Actor } from './actor.js'

/** What an agent is given of its memory, as of the start of its node or turn. */
export type Remembered = {
  /** Whether any of the memory that its manifest asks for is given to it. */
  readonly bound: boolean
  /** Under which reference the exchange is kept, where it has conversations. */
  readonly conversationRef?: string
  /** Oldest first. */
  readonly conversation: readonly EntryShown[]
  /** Newest first. */
  readonly longTerm: readonly EntryShown[]
  readonly read?: EntriesRead
}

/** Entries of each kind, and bytes of all of them, at most. */
const MOST_ENTRIES = 20
const MOST_BYTES = { conversation: 16_000, longTerm: 8_000 } as const

const NOTHING: Remembered = { bound: false, conversation: [], longTerm: [] }

/** Exchanges are kept apart from what the agent writes down itself, so that neither crowds out the other. */
const conversationRefOf = ({ memoryRef, agentId }: Actor): string => `conversation:${memoryRef ?? agentId}`

/**
 * R-LIVE-8: a conversation is what was asked and answered before, in the scope of the run; long-term memory is what is kept
 * there under the agent's own reference. Notes of one invocation are in what was said during it, and nowhere else.
 */
export async function remembered(
  desk: JournalDesk | undefined,
  seat: DeskSeat | undefined,
  actor: Actor,
): Promise<Remembered | { readonly problem: string }> {
  const { conversation: talks = false, longTerm: keeps = false } = actor.memoryShape ?? {}
  if (!desk || !seat?.desk.memory || !(talks || keeps)) return NOTHING
  const ref = conversationRefOf(actor)
  const said = talks ? await latest(desk, seat, ref, MOST_BYTES.conversation) : NONE
  const kept = keeps ? await latest(desk, seat, actor.memoryRef ?? actor.agentId, MOST_BYTES.longTerm) : NONE
  if ('problem' in said) return said
  if ('problem' in kept) return kept
  const rows = [...said.rows, ...kept.rows]
  return {
    bound: true,
    ...(talks && { conversationRef: ref }),
    conversation: [...said.entries].reverse(),
    longTerm: kept.entries,
    ...(rows.length > 0 && { read: { space: 'memory', rows, digest: sha256(`${said.digest}\n${kept.digest}`) } }),
  }
}

type Latest = { readonly entries: readonly EntryShown[]; readonly rows: readonly string[]; readonly digest: string }

const NONE: Latest = { entries: [], rows: [], digest: '' }

/** The newest that fit. What does not is not among what was read. */
async function latest(
  desk: JournalDesk,
  seat: DeskSeat,
  ref: string,
  most: number,
): Promise<Latest | { readonly problem: string }> {
  const looked = await desk.list(seat, 'memory', { ref, limit: MOST_ENTRIES })
  if (!looked.ok) return { problem: looked.message }
  let bytes = 0
  const fitting = looked.entries.findIndex(entry => {
    bytes += utf8Length(JSON.stringify(entry))
    return bytes > most
  })
  const count = fitting < 0 ? looked.entries.length : fitting
  return { entries: looked.entries.slice(0, count), rows: looked.read.rows.slice(0, count), digest: looked.read.digest }
}
