import type { BoundGate } from '../core/verification/gate.js'
import type { ProbeResult } from '../core/verification/voting/judgement.js'
import type { TrackRecord } from '../core/verification/voting/licence.js'
import type { Inspector, Predicates, Records, Standards } from '../engine/ports/verification.js'

/** Gates by the workflow they stand in; none for the others. */
export function standardsDouble(gates: { readonly [workflowId: string]: readonly BoundGate[] } = {}): Standards {
  const gatesOf = (workflowId: string) => gates[workflowId] ?? []
  return {
    gatesFor: async (_tenant, workflowId) => gatesOf(workflowId),
    knownFor: (_tenant, workflowId) => gatesOf(workflowId),
    gate: async (_tenant, gateId) =>
      Object.values(gates)
        .flat()
        .find(({ gate }) => gate.gate_id === gateId),
  }
}

/** Finds what it is told to. */
export const inspectorDouble = (find: Inspector['inspect'] = async () => [] as ProbeResult[]): Inspector => ({
  inspect: find,
})

/** Takes whatever is asked, and answers as it is told to. */
export const predicatesDouble = (
  ask: Predicates['ask'] = async () => ({ status: 'error', holds: null }),
): Predicates => ({ complete: () => ({ ok: true, value: [] }), ask })

/** Nothing that anybody has shown. */
export const NOTHING_SHOWN: TrackRecord = {
  badStopped: { n: 0, lower: 0 },
  goodPassed: { n: 0, lower: 0 },
  judges: {},
}

export const recordsDouble = (standing = NOTHING_SHOWN): Records => ({ standing: async () => standing })
