import type { HandoffRecorded } from '../../../src/core/handoff/events.js'
import type { Recorded } from '../../../src/core/run/events.js'

/** What the stories were made of. Each of these must have happened at least once in a suite. */
export const counts = () => ({
  'decided next-worker': 0,
  'decided terminate': 0,
  'decided clarify': 0,
  'decided ask-user': 0,
  'decided escalate': 0,
  'doubts accepted': 0,
  'doubts edited': 0,
  'doubts rejected': 0,
  'doubts answered': 0,
  'doubts timed out': 0,
  'doubts of a vendor kind': 0,
  'held decisions accepted': 0,
  'held decisions edited': 0,
  'held decisions rejected': 0,
  'held decisions timed out': 0,
  'questions answered': 0,
  'questions timed out': 0,
  'pleas answered': 0,
  'pleas timed out': 0,
  'merges accepted': 0,
  'merges edited': 0,
  'merges rejected': 0,
  'answers refused': 0,
  'workers completed': 0,
  'workers failed': 0,
  'workers cancelled': 0,
  'workers refused': 0,
  'workers that waited': 0,
  'workers of another agent': 0,
  'harvests with a checksum': 0,
  'harvests of nothing': 0,
  'ends before their turn': 0,
  'masked variables': 0,
  'unset inputs': 0,
  'turns refused': 0,
  'hand-overs refused': 0,
  'fan-outs refused': 0,
  'runs out of time': 0,
  'sub-workflows absorbed': 0,
  'sub-workflows failed': 0,
  'skipped bodies': 0,
  pauses: 0,
  'deliveries while paused': 0,
  'crashes refolded': 0,
  'crashes from a kept state': 0,
  'duplicate deliveries': 0,
  'late deliveries': 0,
  'cancels with children': 0,
  'failures with children': 0,
  'cancels without children': 0,
  'runs completed': 0,
  'runs failed': 0,
  'runs cancelled': 0,
  'replays equal': 0,
  'replays of a cancelled run': 0,
  branches: 0,
  'branches with orphaned workers': 0,
  'replays of branches': 0,
})

export type Counts = ReturnType<typeof counts>

type Phase = HandoffRecorded['phase']

const BY_PHASE: { readonly [phase in Phase]?: keyof Counts } = {
  'child.completed': 'workers completed',
  'child.failed': 'workers failed',
  'child.cancelled': 'workers cancelled',
  'dispatch.failed': 'workers refused',
}

const BY_TYPE: { readonly [type: string]: keyof Counts } = {
  'run.completed': 'runs completed',
  'run.failed': 'runs failed',
  'run.cancelled': 'runs cancelled',
  'run.paused': 'pauses',
  'assay.child.status': 'workers that waited',
  'agent.handoff': 'workers of another agent',
  'node.skipped': 'skipped bodies',
}

/** Counts what a log tells. */
export function countTold(seen: Counts, log: readonly Recorded[]): void {
  for (const event of log) {
    const told = BY_TYPE[event.type]
    if (told) seen[told] += 1
    switch (event.type) {
      case 'runOrchestrator.decided':
        seen[`decided ${event.payload.decision.kind}`] += 1
        break
      case 'core.workflowChain.event': {
        const { phase, harvestedKeys, attestation } = event.payload
        const counted = BY_PHASE[phase]
        if (counted) seen[counted] += 1
        if (attestation) seen['harvests with a checksum'] += 1
        if (harvestedKeys?.length === 0) seen['harvests of nothing'] += 1
        if (event.secret && 'unset' in event.secret && event.secret.unset.length > 0) seen['unset inputs'] += 1
        break
      }
      case 'variable.changed':
        if (event.secret) seen['masked variables'] += 1
        break
      case 'cap.breached':
        if (event.payload.kind === 'run-duration') seen['runs out of time'] += 1
        else seen[event.nodeId === 'hand' ? 'hand-overs refused' : 'turns refused'] += 1
        break
      case 'node.failed':
        if (event.payload.error.code === 'fan_out_unsupported') seen['fan-outs refused'] += 1
        if (event.nodeId === 'sub') seen['sub-workflows failed'] += 1
        break
      case 'node.completed':
        if (event.nodeId === 'sub' && event.payload.outputs.childStatus !== 'completed')
          seen['sub-workflows absorbed'] += 1
        break
      case 'assay.stop.requested':
        seen[event.payload.outcome === 'cancelled' ? 'cancels with children' : 'failures with children'] += 1
        break
      case 'node.cancelled':
        if (event.payload.reason !== 'child-ended') seen['cancels without children'] += 1
    }
  }
}
