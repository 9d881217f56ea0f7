import type {
  BoundGate,
  Criterion,
  Gate,
  GateBehaviour,
  MultiVerifier,
  VerifierRequirements,
} from '../core/verification/gate.js'

type Sketched = Omit<
  Partial<Gate>,
  'evaluation_criteria' | 'gate_behaviour' | 'multi_verifier' | 'verifier_requirements'
> & {
  readonly criteria?: readonly (Partial<Criterion> & { readonly dimension: string })[]
  readonly behaviour?: Partial<GateBehaviour>
  readonly verifiers?: readonly { readonly agent_id: string; readonly weight?: number }[]
  readonly requirements?: Partial<VerifierRequirements>
  readonly quorum?: Partial<MultiVerifier>
}

const criterion = (given: Partial<Criterion> & { readonly dimension: string }): Criterion => ({
  scale: { min: 0, max: 10, type: 'integer' },
  pass_threshold: 7,
  weight: 1,
  evidence_required: true,
  probes: [],
  settled_by_probes: (given.probes?.length ?? 0) > 0,
  ...given,
})

/** A gate of which only what matters has to be said; by default one verifier judges `correctness` from 0 to 10. */
export function boundGate({ criteria = [{ dimension: 'correctness' }], ...given }: Sketched = {}): BoundGate {
  const { behaviour, verifiers = [], requirements, quorum, ...others } = given
  const gate: Gate = {
    gate_id: 'g1',
    name: 'Gate',
    position: { workflow_id: 'w', phase_id: 'a', placement: 'phase_exit' },
    intent_refs: ['i1'],
    knowledge_refs: [],
    ...others,
    evaluation_criteria: criteria.map(criterion),
    verifier_requirements: {
      fresh_context: true,
      role: 'verifier',
      verifiers: verifiers.map(({ agent_id, weight = 1 }) => ({ agent_id, weight })),
      allow_self_verification: false,
      timeout_ms: 300_000,
      ...requirements,
    },
    gate_behaviour: {
      blocking: true,
      on_fail: 'reject',
      max_attempts: 2,
      rework: 'automatic',
      reverification: 'targeted',
      auto_commit: 'always',
      licence: { bad_stopped: { min_n: 30, lower_bound: 0.9 }, good_passed: { min_n: 30, lower_bound: 0.9 } },
      confirm: 'full',
      stop_when_stuck: false,
      allow_hidden: false,
      retries: 2,
      retry_delay_ms: 2_000,
      ...behaviour,
    },
    multi_verifier: {
      verifier_count: Math.max(1, verifiers.length),
      quorum_strategy: 'majority',
      min_agree: 1,
      early_stop: true,
      ...quorum,
    },
  }
  const intent = {
    intent_id: 'i1',
    type: 'operational' as const,
    title: 'What it is for',
    statement: 'The answer is right.',
    success_criteria: [],
  }
  return { gate, version: 1, hash: `hash-of-${gate.gate_id}`, intents: [intent], constraints: [], knowledge: [] }
}
