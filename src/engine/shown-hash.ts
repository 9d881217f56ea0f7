import { hash } from 'node:crypto'
import { type InterruptKind, shownText } from '../core/interrupt.js'
import type { JsonObject } from '../core/json.js'

/** Names what is shown to whoever answers; an answer that names something else is refused. */
export const shownHash = (kind: InterruptKind, shown: JsonObject): string =>
  `sha256:${hash('sha256', shownText(kind, shown), 'hex')}`
