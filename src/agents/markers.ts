/**
 * The text with every opening of that mark escaped. Spaces, slashes and invisible characters are looked past, because a
 * model does not read as strictly as a parser. Takes time by the length of the text, whatever it is: each opening bracket
 * is read with all that may stand before the word, once, and only then is the word looked for.
 */
export const withoutMarker = (text: string, word: 'UNTRUSTED' | 'OUTPUT'): string =>
  text.replace(OPENINGS[word], (opening: string, _gap: string, found: string | undefined) =>
    found === undefined ? opening : `&lt;${opening.slice(1)}`,
  )

const openingOf = (word: string): RegExp =>
  new RegExp(String.raw`<([\s\p{Cf}/]*)(${[...word].join(String.raw`\p{Cf}*`)})?`, 'giu')

const OPENINGS = { UNTRUSTED: openingOf('UNTRUSTED'), OUTPUT: openingOf('OUTPUT') }
