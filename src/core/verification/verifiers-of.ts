import { type Gate, HOST_VERIFIER, type VerifierWanted } from './gate.js'

/** Who judges at a gate, by position: those it names, or the host's own verifier as often as it says (R-DWS-24). */
export const verifiersOf = ({
  verifier_requirements: { verifiers },
  multi_verifier,
}: Gate): readonly VerifierWanted[] =>
  verifiers.length > 0
    ? verifiers
    : Array.from({ length: multi_verifier.verifier_count }, () => ({ agent_id: HOST_VERIFIER, weight: 1 }))
