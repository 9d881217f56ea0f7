import type { Spellings } from './redactor.js'

/** What the host says to a worker. The secrets come with each job, because they may have become others. */
export type RedactionJob = {
  readonly text: string
  readonly spellings: Spellings
  /** Whether only secrets that the host knows are looked for, and nothing is changed. */
  readonly onlyKnown: boolean
}

export type RedactionAnswer =
  | { readonly kind: 'redacted'; readonly text: string }
  | { readonly kind: 'looked'; readonly holdsKnown: boolean }
