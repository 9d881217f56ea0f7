import type { PublicEvent } from '../../core/view/public-event.js'
import { count } from './agent-text.js'

/** What a run writes into memory and workspace, and reads there: names and numbers, which is all that events tell of it. */

type Payload = { readonly [name: string]: unknown }

/** What such an event says, in a few words; undefined for all others. */
export function journalText({ type, payload }: PublicEvent): string | undefined {
  const told = (payload ?? {}) as Payload
  const text = TEXTS[type]?.(told)
  return text === undefined ? undefined : `${told.agentId ?? told.nodeId}: ${text}`
}

const TEXTS: { readonly [type: string]: (payload: Payload) => string } = {
  'memory.written': told => `remembered ${told.memoryId} under ${told.memoryRef}`,
  'assay.memory.forgotten': told => `forgot ${told.memoryId} under ${told.memoryRef}`,
  'assay.file.written': told => `wrote file ${told.path}`,
  'assay.file.removed': told => `removed file ${told.path}`,
  'assay.journal.read': told =>
    told.space === 'workspace'
      ? `looked at ${count(told.entries, 'file')}`
      : `recalled ${told.entries === 1 ? '1 entry' : `${told.entries} entries`}`,
}
