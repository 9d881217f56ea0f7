import type { JsonObject } from '../json.js'

/** The first event of a branch that is its own. */
export type RunForked = {
  sourceRunId: string
  fromSeq: number
  /** What whoever made the branch may do; its agents may do no more (R-ATTEST-6). */
  principalScope?: readonly string[]
  configurable?: JsonObject
  tags?: readonly string[]
  metadata?: JsonObject
  /** Names of what the branch changes of its source; models are in `configurable`, other values in its definition. */
  changed?: readonly string[]
  /** A branch is the root of a tree, and has a trace of its own. */
  traceparent?: string
  /** SHA-256 of the definition that it goes by from here on, where that is another. */
  workflowDigest?: string
  /** The event of the source before which the branch's memory was taken, where that is not the cut. */
  memoryAsOf?: number
}

/** Said once, directly before the first event that is not as the source has it (contract core §8.5). */
export type ReplayDiverged = {
  sourceRunId: string
  atSequence: number
  originalEventId: string
  replayEventId: string
  divergenceKind: 'output' | 'type-mismatch'
  divergencePoint: string
}

/** Told in the place of an answer, and the last thing before the end (contract core §8.5). R-REPLAY-8: closed. */
export type ReplayDivergedAtRefusal = {
  sourceRunId: string
  /** Where the source heard the answer. */
  atSequence: number
  originalEventId: string
  nodeId: string
  originalEnvelopeKind: EnvelopeKind
  replayEnvelopeKind: EnvelopeKind
}

/** What came of a call of a model: a refusal, or anything else. */
export type EnvelopeKind = 'valid' | 'refusal'

/** Where a run that began as a copy of another comes from. */
export type Fork = {
  readonly sourceRunId: string
  /** Events before this sequence are the source's own. */
  readonly fromSeq: number
  /** `replay` hears what the source heard and calls nobody; `branch` lives on its own. */
  readonly mode: 'replay' | 'branch'
  /** Events the source had when the fork was made; a replay is told nothing later. */
  readonly sourceLength: number
}

/** Whether a run is one that only tells another again. */
export const isReplay = ({ fork }: { readonly fork?: Fork | undefined }): boolean => fork?.mode === 'replay'
