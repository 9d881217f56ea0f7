import type { Json } from './json.js'

/**
 * Whether a JSON text gives a key twice within one object: readers differ on which of the values counts, so that none
 * of them can be taken for what was meant. `value` is what the text was parsed to.
 */
export const hasRepeatedKey = (text: string, value: Json): boolean => membersIn(text) !== membersOf(value)

/** In a JSON text every colon outside of strings stands in a member. */
function membersIn(text: string): number {
  let members = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === QUOTE) i = endOfString(text, i)
    else if (char === COLON) members++
  }
  return members
}

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92

/** Index of the quote that closes the string opened at `open`, or the end of the text. */
export function endOfString(text: string, open: number): number {
  for (let from = open + 1; ; ) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return text.length
    let escapes = 0
    while (text.charCodeAt(quote - 1 - escapes) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return quote
    from = quote + 1
  }
}

/** Without recursion: nothing is known yet of how deep it is. */
function membersOf(root: Json): number {
  let members = 0
  const open: Json[] = [root]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const inside = Object.values(value)
    if (!Array.isArray(value)) members += inside.length
    for (const item of inside) open.push(item)
  }
  return members
}
