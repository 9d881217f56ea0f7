import type { Json, JsonObject } from '../json.js'

/**
 * What work is held to (DWS Spec 8, contract agents §23), in the spelling of the documents. A `Gate` is complete: what
 * its author left out has been filled in.
 */
export type Gate = {
  readonly gate_id: string
  readonly name: string
  readonly position: Position
  readonly intent_refs: readonly string[]
  readonly knowledge_refs: readonly string[]
  readonly evaluation_criteria: readonly Criterion[]
  readonly verifier_requirements: VerifierRequirements
  readonly gate_behaviour: GateBehaviour
  readonly multi_verifier: MultiVerifier
  /** What of the run verifiers may hold the work against: `inputs.NAME`, `nodes.ID.output`, `knowledge:ID`. */
  readonly context?: readonly string[]
  /** At a `workflow_exit`: what of the run is judged besides its outputs, as `variables.NAME` or `channels.NAME`. */
  readonly exit_values?: readonly string[]
}

export const PLACEMENTS = ['phase_exit', 'workflow_exit', 'checkpoint', 'goal'] as const
export type Placement = (typeof PLACEMENTS)[number]

/** A phase is a node of the workflow; `worker_id` narrows the gate to one of the workers that the node hands work to. */
export type Position = {
  readonly workflow_id: string
  readonly phase_id: string
  readonly placement: Placement
  readonly worker_id?: string
  /** At a `checkpoint`: what this tool brings to the agent of the phase is judged, and not what the agent makes of it. */
  readonly tool_name?: string
}

export type Criterion = {
  /** A key (R-DWS-32): `^[a-z0-9][a-z0-9._-]{0,63}$`. */
  readonly dimension: string
  readonly description?: string
  readonly scale: Scale
  readonly pass_threshold: number
  readonly weight: number
  readonly evidence_required: boolean
  /** Run by the host before any model is asked. */
  readonly probes: readonly Probe[]
  /** With probes: whether they alone decide. Otherwise a verifier is shown what they found, and decides. */
  readonly settled_by_probes: boolean
}

export type Scale = { readonly min: number; readonly max: number; readonly type: 'integer' | 'float' }

export const PROBE_TYPES = [
  'json-schema',
  'regex',
  'equals',
  'numeric',
  'file',
  'http',
  'command',
  'citation',
] as const satisfies readonly Probe['type'][]

/** A check that needs no judgement. `path` is a JSON pointer into the output; all of it where absent. */
export type Probe = { readonly probe_id: string } & (
  | { readonly type: 'json-schema'; readonly path?: string; readonly schema: JsonObject }
  | { readonly type: 'regex'; readonly path?: string; readonly pattern: string; readonly absent: boolean }
  | { readonly type: 'equals'; readonly path?: string; readonly value: Json }
  | { readonly type: 'numeric'; readonly path?: string; readonly min?: number; readonly max?: number }
  | {
      readonly type: 'file'
      readonly file: string
      /** The workspace that the judged run sees, or files of the project; of the project where absent. */
      readonly in?: 'workspace' | 'project'
      readonly exists: boolean
      readonly sha256?: string
      readonly min_bytes?: number
      readonly max_bytes?: number
    }
  | {
      readonly type: 'http'
      /** One address, or where in the output addresses stand: each is asked. */
      readonly url?: string
      readonly path?: string
      readonly status: readonly number[]
      readonly body_pattern?: string
    }
  | {
      readonly type: 'command'
      readonly command: readonly string[]
      readonly exit_code: number
      readonly timeout_ms: number
    }
  | {
      readonly type: 'citation'
      readonly path?: string
      readonly sources_path?: string
      readonly pattern?: string
      /** Entries of the gate's own `context`. */
      readonly sources?: readonly string[]
    }
)

export type VerifierRequirements = {
  readonly fresh_context: true
  readonly role: string
  /** Who judges; the host's own verifier, as often as `verifier_count` says, where none is named. */
  readonly verifiers: readonly VerifierWanted[]
  readonly allow_self_verification: boolean
  readonly timeout_ms: number
}

export type VerifierWanted = { readonly agent_id: string; readonly weight: number }

/** The host's own verifier. */
export const HOST_VERIFIER = 'assay.verifier'

export type GateBehaviour = {
  readonly blocking: boolean
  readonly on_fail: 'reject' | 'conditional_pass' | 'escalate'
  readonly max_attempts: number
  readonly rework: 'automatic' | 'supervisor'
  /** What a result that was sent back is judged by: the dimensions that failed, or all. */
  readonly reverification: 'targeted' | 'full'
  /** `licensed`: a person is asked until the gate's verifiers have shown how good they are. */
  readonly auto_commit: 'always' | 'licensed'
  readonly licence: Licence
  /**
   * What a targeted round has left out is judged for the new result before it is merged, or not; it is then never said
   * to be verified as a whole.
   */
  readonly confirm: 'full' | 'none'
  /** Work that was no better twice in a row is not sent back again. */
  readonly stop_when_stuck: boolean
  /** A pass of which the verifiers are less sure is shown to a person first; the host's own floor where absent. */
  readonly min_confidence?: number
  /** A pass holds although parts of the result are hidden from everybody who judges it. */
  readonly allow_hidden: boolean
  /** How often verifiers that gave no vote are asked again, and after how long the first time; it doubles. */
  readonly retries: number
  readonly retry_delay_ms: number
  /** How long a person may take to answer; no answer merges nothing. */
  readonly answer_timeout_ms?: number
  /** Who may let a result pass that the gate asks about; whoever may answer interrupts where absent. */
  readonly approvers?: readonly string[]
  /** How many of them must agree. */
  readonly required_approvals?: number
  /** Whoever started the run cannot let its results pass. */
  readonly second_person?: boolean
}

/** What verifiers must have shown, of bad results and of good ones, before they are relied on. */
export type Licence = {
  readonly bad_stopped: Demand
  readonly good_passed: Demand
}

/** At least so many results of that kind, and at least this share of them judged rightly, for all that is known. */
type Demand = { readonly min_n: number; readonly lower_bound: number }

export const QUORUMS = ['majority', 'unanimous', 'weighted', 'any'] as const

export type MultiVerifier = {
  readonly verifier_count: number
  readonly quorum_strategy: (typeof QUORUMS)[number]
  readonly min_agree: number
  /** Ask no more verifiers once their votes could not change the outcome. */
  readonly early_stop: boolean
}

export type Intent = {
  readonly intent_id: string
  readonly type: 'strategic' | 'operational' | 'constraint'
  readonly title: string
  readonly statement: string
  readonly success_criteria: readonly { readonly key: string; readonly description: string }[]
  /** Workflows that a constraint holds for; all of them where absent. */
  readonly workflow_ids?: readonly string[]
}

export type Knowledge = {
  readonly entry_id: string
  readonly title: string
  readonly text: string
  readonly url?: string
}

/** A gate with all that a run needs of it, fixed when the run starts. */
export type BoundGate = {
  readonly gate: Gate
  readonly version: number
  /** SHA-256 over the canonical JSON of the gate and of everything it refers to. */
  readonly hash: string
  readonly intents: readonly Intent[]
  readonly constraints: readonly Intent[]
  readonly knowledge: readonly Knowledge[]
}

/** Who judges at a gate, by position: those it names, or the host's own verifier as often as it says (R-DWS-24). */
export const verifiersOf = ({
  verifier_requirements: { verifiers },
  multi_verifier,
}: Gate): readonly VerifierWanted[] =>
  verifiers.length > 0
    ? verifiers
    : Array.from({ length: multi_verifier.verifier_count }, () => ({ agent_id: HOST_VERIFIER, weight: 1 }))
