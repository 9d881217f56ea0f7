/**
 * Text from outside stands between markers and cannot write the markers itself (R-PROMPT-5). Spaces and invisible
 * characters are looked past, because a model does not read as strictly as a parser.
 */
export const fenced = (source: string, text: string): string =>
  `<UNTRUSTED source="${source}">${withoutMarkers(text)}</UNTRUSTED>`

export const withoutMarkers = (text: string): string =>
  text.replace(/<([\s\p{Cf}]*\/?[\s\p{Cf}]*UNTRUSTED)/giu, '&lt;$1')
