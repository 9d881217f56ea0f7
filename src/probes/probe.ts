import { isObject, type Json } from '../core/json.js'
import type { Knowledge, Probe } from '../core/verification/gate.js'
import type { ContextEntry } from '../core/verification/gate-context.js'
import type { Evidence, ProbeResult } from '../core/verification/voting/judgement.js'
import type { Egress } from '../egress/egress.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { FileLookup } from '../engine/ports/verification.js'
import type { FairQueue } from '../timing/fair-queue.js'
import { valueAt } from './pointer.js'

/** A probe of one type. */
export type ProbeOf<T extends Probe['type']> = Extract<Probe, { readonly type: T }>

/** What is looked at. */
export type ProbeSubject = {
  /** For whom. */
  readonly tenant: string
  readonly output: Json
  readonly knowledge: readonly Knowledge[]
  /** What the gate names of the run. */
  readonly context?: readonly ContextEntry[]
  /** The workspace as whoever is judged sees it; where absent, nothing is known of it. */
  readonly files?: FileLookup
  /** What is asked of others is asked under this. */
  readonly traceparent?: string
  readonly signal: AbortSignal
}

/** What probes look with. */
export type Means = {
  readonly egress: Egress
  readonly schemas: SchemaChecker
  readonly pure: PureProbes
  /** Where commands are run. */
  readonly project: string | undefined
  /** What files of the project are below. */
  readonly workspace: string | undefined
  /** Where commands are looked for. */
  readonly searchPath: string
  /** Commands of all tenants wait here for a place. */
  readonly commands: Pick<FairQueue, 'run'>
  readonly clock: Clock
  readonly log: Log
}

/** Probes that look at nothing but what they are given. */
export type PureProbe = ProbeOf<'regex' | 'equals' | 'numeric' | 'citation'>

/** Runs those: what takes long in another thread. */
export type PureProbes = {
  run(probe: PureProbe, subject: ProbeSubject): Promise<ProbeFinding>
  close(): Promise<void>
}

/** What a probe found. Evidence is there in any case: a probe that holds is shown to verifiers, too (R-DWS-14). */
export type ProbeFinding = Pick<ProbeResult, 'outcome' | 'evidence' | 'lasting'>

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

/**
 * A path that leads nowhere is no fault of whoever made the output: where to look is the gate's to know. What must be
 * there is for a `json-schema` probe over all of it to say.
 */
export const nothingAt = (path: string, output: Json): ProbeFinding =>
  unchanging(path, `nothing at ${path}; ${whatIsAt(path, output)}`)

/** Nothing can be said about the output, and looking again would change nothing. */
export const unchanging = (ref: string, detail: string): ProbeFinding => ({
  ...probeUnavailable(ref, detail),
  lasting: true,
})

/** The names where a path ends to lead anywhere; never a value. */
function whatIsAt(path: string, output: Json): string {
  const steps = path.split('/')
  const deepest = steps.map((_, k) => steps.slice(0, steps.length - k).join('/'))
  const place = deepest.find(shorter => valueAt(output, shorter) !== undefined) ?? ''
  const value = valueAt(output, place)
  const names = isObject(value) ? Object.keys(value) : []
  const what =
    names.length > 0
      ? names.slice(0, MOST_NAMES).join(', ')
      : Array.isArray(value)
        ? `${value.length} items`
        : 'no names'
  return `${place === '' ? 'the output' : place} has ${what}${names.length > MOST_NAMES ? ', …' : ''}`
}

const MOST_NAMES = 20

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
