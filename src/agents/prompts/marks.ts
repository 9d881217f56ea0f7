import { sha256 } from '../../digest.js'

/** In hexadecimal: what could be taken for a credential would be taken out of the text, and be no mark any more. */
export const markOf = (drawn: string): string => sha256(drawn).slice(0, 32)
