import type { Json } from '../core/json.js'
import type { Gate, Intent, Knowledge } from '../core/verification/gate.js'
import type { StandardKind } from '../engine/ports/standards.js'
import { completeGate } from './gate-document.js'
import { completeIntent } from './intent-document.js'
import { completeKnowledge } from './knowledge-document.js'
import type { Origin } from './names.js'

export type Completed =
  | { readonly ok: true; readonly id: string; readonly value: Gate | Intent | Knowledge }
  | { readonly ok: false; readonly problems: readonly string[] }

/** A document of any kind, completed; or all that is wrong with it. */
export function completeStandard(kind: StandardKind, document: Json, origin: Origin): Completed {
  switch (kind) {
    case 'gate': {
      const read = completeGate(document, origin)
      return read.ok ? { ok: true, id: read.gate.gate_id, value: read.gate } : read
    }
    case 'intent': {
      const read = completeIntent(document)
      return read.ok ? { ok: true, id: read.intent.intent_id, value: read.intent } : read
    }
    case 'knowledge': {
      const read = completeKnowledge(document)
      return read.ok ? { ok: true, id: read.knowledge.entry_id, value: read.knowledge } : read
    }
  }
}
