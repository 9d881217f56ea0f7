import type { RunStarted } from '../../core/run/events.js'
import { isSinceVersion } from '../../core/run/version.js'
import type { BoundGate } from '../../core/verification/gate.js'
import type { GatedPoint } from '../ports/event-log.js'

/** The first version of the rules whose merging events name the hash of what they merge, and whose passes have a label. */
const FIRST_STRICT = 3

/**
 * Where the store must not let a result be merged without a pass (S10). `hands` says which nodes hand work over; a run
 * that began under older rules is held to those, also where it goes on now.
 */
export function gatedPoints(
  hands: (nodeId: string) => boolean,
  gates: readonly BoundGate[],
  started: Pick<RunStarted, 'engineVersion'>,
): GatedPoint[] {
  const isStrict = isSinceVersion(started, FIRST_STRICT)
  return gates.flatMap(({ gate: { gate_id: gateId, position, gate_behaviour } }): GatedPoint[] => {
    if (!gate_behaviour.blocking) return []
    const { phase_id: nodeId, placement, worker_id = null, tool_name } = position
    const confirm = isStrict ? gate_behaviour.confirm : null
    if (placement === 'workflow_exit') return [{ gateId, point: 'run', nodeId, workerId: null, confirm }]
    if (tool_name !== undefined) return [{ gateId, point: 'tool', nodeId, workerId: tool_name, confirm }]
    return hands(nodeId)
      ? [{ gateId, point: 'harvest', nodeId, workerId: worker_id, confirm }]
      : [{ gateId, point: 'node', nodeId, workerId: null, confirm }]
  })
}
