import type { ArmFact } from '../arm/events.js'
import { evolveArm } from '../arm/evolve.js'
import { UNARMED } from '../arm/state.js'
import { absent } from '../present.js'
import { RUN_BEGAN, STREAM_ENDED } from '../standing/stream.js'
import type { CommitmentRecorded } from './events.js'
import type { Commitment, CommitmentState } from './state.js'

export function evolveCommitment(state: CommitmentState, event: CommitmentRecorded): CommitmentState {
  const { sequence, at } = event
  if (event.type === 'assay.commitment.made') {
    const { commitmentId, condition } = event.payload
    const begun = { commitmentId, condition, createdAt: at, arm: UNARMED, runId: null, dropped: null, held: null }
    return { ...event.secret, ...begun, phase: 'open', next: sequence + 1, lastAt: at }
  }
  const commitment = state.phase === 'absent' ? absent('commitment') : state
  return { ...told(commitment, event), next: sequence + 1, lastAt: at }
}

function told(
  commitment: Commitment,
  event: Exclude<CommitmentRecorded, { type: 'assay.commitment.made' }>,
): Commitment {
  switch (event.type) {
    case 'assay.commitment.held':
      return { ...commitment, held: event.payload }
    case 'assay.commitment.dropped':
      return { ...commitment, dropped: event.payload.reason, held: null }
    case 'commitment.fired':
      return { ...commitment, held: null }
    case RUN_BEGAN:
      return { ...commitment, runId: event.payload.runId, arm: { ...commitment.arm, owed: [] } }
    case STREAM_ENDED:
      return { ...commitment, phase: 'ended' }
    default:
      return { ...commitment, arm: evolveArm(commitment.arm, event as ArmFact) }
  }
}
