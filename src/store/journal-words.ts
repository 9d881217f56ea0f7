/**
 * What entries of the journal are found by. Words are letters and digits in lower case and nothing else, so that nothing a
 * user types is syntax to an index, and all stores find the same.
 */

/** What is longer is cut; what comes later in a text is not found. */
const LONGEST_WORD = 64
const MOST_WORDS = 20_000

export function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const [word] of text
    .normalize('NFC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    words.push(word.slice(0, LONGEST_WORD))
    if (words.length === MOST_WORDS) break
  }
  return words
}

/** What is looked for: words of texts; and whole tags, of what has no text. */
export type Wanted = {
  /** Undefined when no text can have them, because one has neither letter nor digit. */
  readonly words: readonly string[] | undefined
  readonly tags: readonly string[]
}

export function wantedIn(given: readonly string[]): Wanted {
  const each = given.map(wordsOf)
  const isSayable = each.every(words => words.length > 0)
  return { words: isSayable ? [...new Set(each.flat())] : undefined, tags: [...new Set(given.map(tagWord))] }
}

/** The same letters in any case, of A to Z: what databases agree on, whatever their locale is. */
const lowered = (tag: string): string => tag.replace(/[A-Z]+/g, letters => letters.toLowerCase())

/** How a tag stands among words: none of these begins so. */
export const tagWord = (tag: string): string => `#${lowered(tag)}`

/** What a put is found by: `words` are those of its text, null where it has none. */
export type FoundBy = { readonly words: readonly string[] | null; readonly tags: readonly string[] }

/**
 * How well that fits: undefined when something is missing. Of the two alone, because a measure that counts in what others
 * have written would change the answer of an old view (J1).
 */
export function fitOf({ words, tags }: FoundBy, wanted: Wanted): number | undefined {
  if (words === null) return wanted.tags.every(tag => tags.some(one => tagWord(one) === tag)) ? 0 : undefined
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  let fit = 0
  for (const word of wanted.words ?? ['']) {
    const count = counts.get(word)
    if (count === undefined) return undefined
    fit += count / (count + 0.3 + words.length / 100)
  }
  return fit
}
