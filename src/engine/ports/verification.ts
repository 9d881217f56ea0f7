import type { PredicateStatus } from '../../core/arm/events.js'
import type { Json } from '../../core/json.js'
import type { Failure } from '../../core/problem.js'
import type { Document } from '../../core/schema/problems.js'
import type { BoundGate, Criterion, Probe } from '../../core/verification/gate.js'
import type { ContextEntry } from '../../core/verification/gate-context.js'
import type { ProbeResult } from '../../core/verification/voting/judgement.js'
import type { TrackRecord } from '../../core/verification/voting/licence.js'

/** What work is held to: gates, intents, knowledge. */
export interface Standards {
  /**
   * The gates of a workflow as they are now, in the order of their ids. A gate that names a phase which the workflow no
   * longer has is a failure: a run that would go unchecked does not start. So is a gate that the project no longer has without
   * saying that this is meant; but a child of a run that is under way is held to it as it was last.
   */
  gatesFor(tenant: string, workflowId: string, of?: 'child'): Promise<readonly BoundGate[] | Failure>
  /** The same for a child, without waiting; undefined when that was asked too long ago to rely on. */
  knownFor(tenant: string, workflowId: string): readonly BoundGate[] | Failure | undefined
  /** The gate by its id, wherever it stands. */
  gate(tenant: string, gateId: string): Promise<BoundGate | undefined>
}

/** Runs the probes of a gate over an output. Never throws; what could not be found out is `unavailable`. */
export interface Inspector {
  inspect(case_: {
    readonly tenant: string
    readonly runId: string
    readonly bound: Pick<BoundGate, 'knowledge'> & {
      readonly gate: { readonly evaluation_criteria: readonly Pick<Criterion, 'dimension' | 'probes'>[] }
    }
    /** Only these criteria's probes are run. */
    readonly dimensions: readonly string[]
    /** As it may be shown. */
    readonly output: Json
    /** The result itself where it holds more than may be shown; no evidence quotes it. */
    readonly hidden?: Json
    /** What the gate's `context` came to; empty where it came to nothing. */
    readonly context?: readonly ContextEntry[]
    /** The workspace as whoever is judged sees it. */
    readonly files: FileLookup
    /** What is asked of others is asked under this. */
    readonly traceparent?: string
    readonly signal: AbortSignal
  }): Promise<readonly ProbeResult[]>
}

/** Looks up a file of a workspace by its path. */
export type FileLookup = (path: string) => Promise<FileFound>

export type FileParts = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** `read` has its bytes, one part after the other; undefined where they were destroyed. */
export type FileFound =
  | { readonly is: 'there'; readonly bytes: number; read(): Promise<FileParts | undefined> }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown'; readonly why: string }

/** What is known of how good a gate's verifiers are, by what they said while the gate was exactly as it is. */
export interface Records {
  /** What they have shown of bad results and of good ones, and how many votes they are worth together. */
  standing(
    tenant: string,
    gateId: string,
    gateHash: string,
  ): Promise<TrackRecord & { readonly effectiveVotes?: number }>
}

/** Probes that stand for themselves, as goals are judged by and heartbeats look: all of them must hold. */
export interface Predicates {
  /** As it is asked, or all that is wrong with it. */
  complete(document: Json, wanted: PredicateWanted): Document<readonly Probe[]>
  /** Asks once, for at most `maxRuntimeMs`. Never throws: what could not be found out is no answer. */
  ask(asked: {
    readonly tenant: string
    readonly stream: string
    readonly predicate: Json
    readonly maxRuntimeMs: number
    readonly signal: AbortSignal
  }): Promise<PredicateAnswer>
}

export type PredicateWanted = {
  /** What it is called where it is written. */
  readonly field: string
  /** Looked at beside what a run has left, or alone. */
  readonly over: 'result' | 'world'
  readonly origin: 'project' | 'api'
  /** What it is written in, and the folder of the project for that. */
  readonly home: { readonly what: string; readonly folder: string }
}

export type PredicateAnswer =
  | { readonly status: 'ok'; readonly holds: boolean }
  | { readonly status: Exclude<PredicateStatus, 'ok'>; readonly holds: null }
