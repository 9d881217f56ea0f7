import type { Json } from '../../json.js'

/** Contract agents §23.1: typed findings with evidence, never a flag. */
export const CLASSIFICATIONS = ['blocking', 'warning', 'advisory'] as const
export type Classification = (typeof CLASSIFICATIONS)[number]

export const EVIDENCE_TYPES = [
  'artifact_reference',
  'line_reference',
  'comparison',
  'metric',
  'intent_reference',
] as const

export type Evidence = {
  readonly evidence_type: (typeof EVIDENCE_TYPES)[number]
  readonly ref: string
  readonly detail: string
}

export type Finding = {
  readonly finding_id: string
  readonly dimension: string
  readonly classification: Classification
  readonly description: string
  readonly evidence: readonly Evidence[]
  readonly recommendation?: string
  /** Who says so: a verifier's agent id, `host:probe` or a person. */
  readonly source: string
}

/** What one probe found. `unavailable`: the host could not find out, so nothing is settled. */
export type ProbeResult = {
  readonly probeId: string
  readonly dimension: string
  readonly outcome: 'held' | 'failed' | 'unavailable'
  readonly evidence: readonly Evidence[]
  /** With `unavailable`: looking again at the same result would find out no more. */
  readonly lasting?: true
}

/** A criterion that somebody who was to judge it could not judge, and why. It is neither held nor failed. */
export type Unchecked = { readonly dimension: string; readonly reason: string }

export type DwsVerdict = 'pass' | 'conditional_pass' | 'fail'

/** What one verifier said, held to the gate; the verdict is the host's arithmetic. */
export type Vote = {
  readonly agentId: string
  readonly weight: number
  readonly scores: { readonly [dimension: string]: number }
  readonly findings: readonly Finding[]
  readonly verdict: DwsVerdict
  readonly confidence?: number
  readonly childRunId: string
  /** `provider:model`. */
  readonly model?: string
  /** Cast in the round that judged what the targeted one had left out. */
  readonly confirming?: true
  /** By hash: the prompt that it judged by. */
  readonly prompt?: string
  /** What it could not judge. It has found something else wanting, so it is a vote all the same. */
  readonly unchecked?: readonly Unchecked[]
}

/** A verifier that gave no vote, and why; of its own words only what it could not check. */
export type Fault = {
  readonly agentId: string
  readonly weight: number
  readonly code: string
  readonly childRunId?: string
  /** What it could not judge: a missing vote, whatever it says of the rest (R-DWS-36). */
  readonly unchecked?: readonly Unchecked[]
  /** What it found besides is kept (R-DWS-25). */
  readonly findings?: readonly Finding[]
}

export type Ballot = {
  /** By probes alone: the dimensions they settle, and what they found. */
  readonly settled: Settled
  /** By position of the verifier; undefined while it has not answered. */
  readonly answers: readonly (Vote | Fault | undefined)[]
}

export type Settled = {
  readonly scores: { readonly [dimension: string]: number }
  readonly findings: readonly Finding[]
  /** Dimensions whose probes could not find out. */
  readonly unavailable: readonly string[]
}

export type Judgement = {
  readonly verdict: DwsVerdict
  /** Weighted means, for readers. */
  readonly scores: { readonly [dimension: string]: number }
  readonly findings: readonly Finding[]
  readonly quorum: { readonly votes: number; readonly passVotes: number; readonly needed: number }
  readonly confidence?: number
  /** Dimensions below their threshold, with a blocking finding, or unproven: what has to be judged again. */
  readonly failed: readonly string[]
  /** Of `failed`: those that nobody found wanting, and no quorum has seen hold. */
  readonly unproven?: readonly string[]
}

/** What a worker is told when its result is sent back. */
export type Feedback = {
  readonly gateId: string
  readonly attempt: number
  readonly dimensions: readonly string[]
  readonly findings: readonly Omit<Finding, 'source'>[]
  /** The result that was sent back, as it may be shown. */
  readonly previous?: Json
  /** A person's own words. */
  readonly note?: Json
}

/** How good a result was, for choosing the best and for noticing that nothing gets better. */
export type Standing = { readonly attempt: number; readonly blocking: number; readonly score: number }
