import type { Violation } from '../engine/ports/schema-checker.js'

/** What main thread and worker say to each other. JSON travels as text: cheap to copy and without prototypes. */
export type Job = {
  readonly schema: string
  /** Absent when only the schema is asked about. */
  readonly value?: string
}

export type JobAnswer =
  | { readonly kind: 'conforms' }
  /** The schema cannot be compiled; the rest of a sentence that begins with the schema's name. */
  | { readonly kind: 'bad-schema'; readonly problem: string }
  | ({ readonly kind: 'bad-value' } & Violation)
