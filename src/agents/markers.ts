/** What is asked of a text: where a character stands next, what stands at a place, and a part of it. */
export type TextLike = Pick<string, 'indexOf' | 'codePointAt' | 'slice' | 'length'>

/**
 * The text with every opening of that mark escaped. Spaces, slashes and invisible characters are looked past, because a
 * model does not read as strictly as a parser. Takes time by the length of the text, whatever it is: it is read forwards
 * once, since neither what may stand before the word nor the word itself holds an opening bracket.
 */
export function withoutMarker(text: TextLike, word: 'UNTRUSTED' | 'OUTPUT'): string {
  let escaped = ''
  let done = 0
  for (let at = text.indexOf('<'); at !== -1; ) {
    const { isThere, end } = wordAt(text, past(text, at + 1, GAP), LETTERS[word])
    if (isThere) {
      escaped += `${text.slice(done, at)}&lt;`
      done = at + 1
    }
    at = text.indexOf('<', end)
  }
  return escaped + text.slice(done)
}

const GAP = /[\s\p{Cf}/]/u
const INVISIBLE = /\p{Cf}/u

/** However it is written: letters are the same when Unicode folds their case to the same. */
const lettersOf = (word: string): RegExp[] => [...word].map(letter => new RegExp(letter, 'iu'))
const LETTERS = { UNTRUSTED: lettersOf('UNTRUSTED'), OUTPUT: lettersOf('OUTPUT') }

/** Whether the word stands there, with invisible characters between its letters, and how far was read to know. */
function wordAt(text: TextLike, start: number, letters: readonly RegExp[]): { isThere: boolean; end: number } {
  let at = start
  for (const letter of letters) {
    at = past(text, at, INVISIBLE)
    const char = charAt(text, at)
    if (!letter.test(char)) return { isThere: false, end: at }
    at += char.length
  }
  return { isThere: true, end: at }
}

/** The first place from `at` on where something else stands. */
function past(text: TextLike, at: number, skipped: RegExp): number {
  for (let next = at; ; ) {
    const char = charAt(text, next)
    if (!skipped.test(char)) return next
    next += char.length
  }
}

/** Empty at the end. */
function charAt(text: TextLike, at: number): string {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}
