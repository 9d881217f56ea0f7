import { hash } from 'node:crypto'

/** In hexadecimal: what could be taken for a credential would be taken out of the text, and be no mark any more. */
export const markOf = (drawn: string): string => hash('sha256', drawn, 'hex').slice(0, 32)
