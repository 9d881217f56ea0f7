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

/** Those of the text; where there is none, of the tags. Kept as one line. */
export const indexedWords = (text: string | null, tags: readonly string[]): string =>
  wordsOf(text ?? tags.join(' ')).join(' ')

/** What is looked for; undefined when that can be nowhere, because a word of it has neither letter nor digit. */
export function wantedWords(words: readonly string[]): readonly string[] | undefined {
  const each = words.map(wordsOf)
  return each.some(one => one.length === 0) ? undefined : [...new Set(each.flat())]
}

/**
 * How well indexed words fit: undefined when one is missing. Of the two texts alone, because a measure that counts in
 * what others have written would change the answer of an old view (J1).
 */
export function fitOf(indexed: string, wanted: readonly string[]): number | undefined {
  const words = indexed === '' ? [] : indexed.split(' ')
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  let fit = 0
  for (const word of wanted) {
    const count = counts.get(word)
    if (count === undefined) return undefined
    fit += count / (count + 0.3 + words.length / 100)
  }
  return fit
}
