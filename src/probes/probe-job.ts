import type { ProbeFinding, ProbeSubject } from './probe.js'

/** What the host says to a worker: the probe and what it looks at, as JSON text, which is cheap to copy. */
export type ProbeJob = { readonly probe: string; readonly subject: string }

export type ProbeAnswer =
  | { readonly kind: 'found'; readonly finding: ProbeFinding }
  /** It broke; only what kind of error it was is told. */
  | { readonly kind: 'broke'; readonly error: string }

/** All of a subject that can be copied. */
export type CopiedSubject = Omit<ProbeSubject, 'signal'>
