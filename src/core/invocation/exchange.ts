import type { Desk } from '../journal/entry.js'
import { type Json, utf8Length } from '../json.js'

/** What an agent that has conversations is asked, and where that is kept with its answer. */
export type Exchange = { readonly ref: string; readonly task: Json; readonly desk: Desk }

/** Bytes of either side that are kept at most, as JSON. */
const MOST_BYTES = 8_000

/** One line, as the agent is shown it later. */
export const exchangeText = ({ task }: Pick<Exchange, 'task'>, answer: Json): string =>
  JSON.stringify({ asked: shortened(task), answered: shortened(answer) })

/** What is too long is kept as the beginning of its text, with a mark. */
function shortened(value: Json): Json {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (utf8Length(text) <= MOST_BYTES) return value
  // No character has more than four bytes.
  return `${[...text].slice(0, MOST_BYTES / 4).join('')}…`
}
