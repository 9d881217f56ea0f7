/**
 * Text from outside stands between marks and cannot write the marks itself (R-PROMPT-5, R-TOOL-9). Spaces, slashes and
 * invisible characters are looked past, because a model does not read as strictly as a parser.
 */
export const fenced = (source: string, text: string): string =>
  `<UNTRUSTED source="${source}">${withoutMarker(text, 'UNTRUSTED')}</UNTRUSTED>`

/**
 * The text with every opening of that mark escaped. Takes time by the length of the text, whatever it is: each opening
 * bracket is read with all that may stand before the word, once, and the word is only then looked for.
 */
export const withoutMarker = (text: string, word: 'UNTRUSTED' | 'OUTPUT'): string =>
  text.replace(OPENINGS[word], (opening: string, _gap: string, found: string | undefined) =>
    found === undefined ? opening : `&lt;${opening.slice(1)}`,
  )

const openingOf = (word: string): RegExp =>
  new RegExp(String.raw`<([\s\p{Cf}/]*)(${[...word].join(String.raw`\p{Cf}*`)})?`, 'giu')

const OPENINGS = { UNTRUSTED: openingOf('UNTRUSTED'), OUTPUT: openingOf('OUTPUT') }
