import { withoutMarker } from '../markers.js'

/** Text from outside stands between marks and cannot write the marks itself (R-PROMPT-5). */
export const fenced = (source: string, text: string): string =>
  `<UNTRUSTED source="${source}">${withoutMarker(text, 'UNTRUSTED')}</UNTRUSTED>`
