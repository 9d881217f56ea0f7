import type { Json } from '../core/json.js'
import type { Document } from '../core/schema/problems.js'
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
    case 'gate':
      return withId(completeGate(document, origin), ({ gate_id }) => gate_id)
    case 'intent':
      return withId(completeIntent(document), ({ intent_id }) => intent_id)
    case 'knowledge':
      return withId(completeKnowledge(document), ({ entry_id }) => entry_id)
  }
}

const withId = <T extends Gate | Intent | Knowledge>(read: Document<T>, idOf: (value: T) => string): Completed =>
  read.ok ? { ...read, id: idOf(read.value) } : read
