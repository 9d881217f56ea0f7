import type { Json } from '../core/json.js'
import type { Knowledge, Probe } from '../core/verification/gate.js'
import type { Evidence, ProbeResult } from '../core/verification/judgement.js'
import type { Egress } from '../egress/egress.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { Semaphore } from '../timing/semaphore.js'

/** A probe of one type. */
export type ProbeOf<T extends Probe['type']> = Extract<Probe, { readonly type: T }>

/** What is looked at. */
export type ProbeSubject = {
  readonly output: Json
  readonly knowledge: readonly Knowledge[]
  readonly signal: AbortSignal
}

/** What probes look with. */
export type Means = {
  readonly egress: Egress
  readonly schemas: SchemaChecker
  /** Where commands are run. */
  readonly project: string | undefined
  /** What files are below. */
  readonly workspace: string | undefined
  /** Where commands are looked for. */
  readonly searchPath: string
  readonly commands: Semaphore
  readonly clock: Clock
  readonly log: Log
}

/** What a probe found. Evidence is there in any case: a probe that holds is shown to verifiers, too (R-DWS-14). */
export type ProbeFinding = Pick<ProbeResult, 'outcome' | 'evidence'>

/** More would not be read by anybody. */
export const MAX_EVIDENCE = 20

/** Of a reference, and of a detail. */
export const MAX_LENGTH = 500

export const found = (outcome: ProbeFinding['outcome'], ...evidence: readonly Evidence[]): ProbeFinding => ({
  outcome,
  evidence,
})

export const evidence = (evidence_type: Evidence['evidence_type'], ref: string, detail: string): Evidence => ({
  evidence_type,
  ref: clip(ref),
  detail: clip(detail),
})

/** Nothing can be said about the output. */
export const probeUnavailable = (ref: string, detail: string): ProbeFinding =>
  found('unavailable', evidence('artifact_reference', ref, detail))

/** Where in the output a probe looks; a probe that looks at all of it is named itself. */
export const refOf = ({ probe_id, path }: { readonly probe_id: string; readonly path?: string }): string =>
  path === undefined || path === '' ? probe_id : path

export const nothingAt = (path: string): ProbeFinding =>
  found('failed', evidence('artifact_reference', path, `nothing at ${path}`))

/** Evidence is stored and shown: no half characters, and none that move a cursor. */
function clip(text: string): string {
  const short = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text
  return short.replace(UNPRINTABLE, '\ufffd')
}

const UNPRINTABLE = /\p{Cs}|(?![\n\t])\p{Cc}/gu

/** A value in a sentence. */
export function quoted(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}
