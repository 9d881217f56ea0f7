import type { BoundGate } from '../../core/verification/gate.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { GatedPoint } from '../ports/event-log.js'

/** Where the store must not let a result be merged without a pass (S10). */
export const gatedPoints = ({ nodes, indexOf }: Plan, gates: readonly BoundGate[]): GatedPoint[] =>
  gates.flatMap(({ gate: { gate_id: gateId, position, gate_behaviour } }): GatedPoint[] => {
    if (!gate_behaviour.blocking) return []
    const { phase_id: nodeId, placement, worker_id = null } = position
    if (placement === 'workflow_exit') return [{ gateId, point: 'run', nodeId, workerId: null }]
    const hands = nodes[indexOf.get(nodeId) ?? -1]?.type.hands === true
    return [{ gateId, point: hands ? 'harvest' : 'node', nodeId, workerId: hands ? worker_id : null }]
  })
