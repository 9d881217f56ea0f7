import type { Json } from '../../core/json.js'
import type { PredicateStatus } from '../../core/arm/events.js'
import type { Document } from '../../core/schema/problems.js'
import type { Probe } from '../../core/verification/gate.js'

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
