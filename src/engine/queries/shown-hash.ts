import { type InterruptKind, shownText } from '../../core/interrupt/interrupt.js'
import type { JsonObject } from '../../core/json.js'
import { taggedSha256 } from '../../digest.js'

/** Names what is shown to whoever answers; an answer that names something else is refused. */
export const shownHash = (kind: InterruptKind, shown: JsonObject): string => taggedSha256(shownText(kind, shown))
