import type { Json } from '../core/json.js'
import type { Knowledge } from '../core/verification/gate.js'
import { standardId } from './names.js'
import { may, must, object, type Read, readWhole, text, webAddress } from './reader.js'

const MAX_TEXT = 32 * 1024

/** What verifiers may know besides the output, completed; or all that is wrong with it. */
export function completeKnowledge(
  document: Json,
): { readonly ok: true; readonly knowledge: Knowledge } | { readonly ok: false; readonly problems: readonly string[] } {
  const read = readWhole(document, knowledge)
  return read.ok ? { ok: true, knowledge: read.value } : read
}

const knowledge: Read<Knowledge> = object({
  entry_id: must(standardId),
  title: must(text(256)),
  text: must(text(MAX_TEXT)),
  url: may(webAddress),
})
