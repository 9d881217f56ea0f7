import type { Recorded } from '../../../src/core/run/events.js'
import { SHAPES } from './setup.js'

/** What the stories were made of. Each of these must have happened at least once in the suite. */
export const counts = () => ({
  ...(Object.fromEntries(SHAPES.map(shape => [shape, 0])) as { [Shape in (typeof SHAPES)[number]]: number }),
  crashes: 0,
  pauses: 0,
  cancels: 0,
  'stale inputs': 0,
  'answers: accept': 0,
  'answers: reject': 0,
  'answers: refine': 0,
  'answers: none in time': 0,
  'asked: unsettled': 0,
  'asked: unchecked': 0,
  'asked: exhausted': 0,
  'asked: unlicensed': 0,
  'votes: pass': 0,
  'votes: fail': 0,
  'votes: none': 0,
  'asked fewer than there are': 0,
  'probes failed': 0,
  'probes unavailable': 0,
  held: 0,
  'went on without a word': 0,
  'verdict: pass': 0,
  'verdict: revise': 0,
  'verdict: fail': 0,
  forced: 0,
  overridden: 0,
  withheld: 0,
  'reworks: harvest': 0,
  'reworks: node': 0,
  'reworks: run': 0,
  merges: 0,
  'loops too long': 0,
  'claims refused': 0,
  'runs completed': 0,
  'runs failed': 0,
  'runs cancelled': 0,
  'goals not reached': 0,
  'replays equal': 0,
  branches: 0,
})

export type Counts = ReturnType<typeof counts>

/** Counts what a log tells. */
export function countTold(seen: Counts, log: readonly Recorded[]): void {
  for (const event of log) {
    switch (event.type) {
      case 'dws.verification.started':
        if (event.payload.probesFailed > 0) seen['probes failed'] += 1
        break
      case 'assay.verifier.ended': {
        const { vote } = event.payload
        seen[`votes: ${vote === 'conditional_pass' ? 'pass' : vote}`] += 1
        break
      }
      case 'assay.verification.held':
        seen[event.payload.proceeds ? 'went on without a word' : 'held'] += 1
        if (event.payload.votes === 0 && log[event.cause!]!.type === 'core.workflowChain.event')
          seen['probes unavailable'] += 1
        break
      case 'dws.verification.verdict_rendered':
        if (event.payload.forced) seen.forced += 1
        if (isShort(event, log)) seen['asked fewer than there are'] += 1
        break
      case 'agent.verified':
        seen[`verdict: ${event.payload.verdict}`] += 1
        if (event.payload.agentId === 'host:human-override') seen.overridden += 1
        break
      case 'assay.result.withheld':
        seen.withheld += 1
        break
      case 'assay.rework.began':
        seen[`reworks: ${event.payload.point}`] += 1
        break
      case 'interrupt.requested':
        seen[`asked: ${String(event.payload.data.reason)}` as 'asked: unsettled'] += 1
        break
      case 'interrupt.resolved':
        if (event.payload.resolvedBy === 'timeout') seen['answers: none in time'] += 1
        break
      case 'core.workflowChain.event':
        if (event.payload.phase === 'output.harvested') seen.merges += 1
        break
      case 'cap.breached':
        seen['loops too long'] += 1
        break
      case 'node.completed':
        if (event.payload.outputs.refused !== undefined) seen['claims refused'] += 1
        break
      case 'run.completed':
        seen['runs completed'] += 1
        if (event.payload.goalSatisfied === false) seen['goals not reached'] += 1
        break
      case 'run.failed':
        seen['runs failed'] += 1
        break
      case 'run.cancelled':
        seen['runs cancelled'] += 1
    }
  }
}

/** Whether the gate came to its verdict without asking everybody it could have asked. */
function isShort({ sequence, nodeId }: Recorded, log: readonly Recorded[]): boolean {
  const own = log.slice(0, sequence).filter(event => event.nodeId === nodeId)
  const from = own.findLastIndex(({ type }) => type === 'dws.verification.started')
  const started = own[from]
  const ended = own
    .slice(from)
    .flatMap(event => (event.type === 'assay.verifier.ended' ? [event.payload.verifier] : []))
  return started?.type === 'dws.verification.started' && new Set(ended).size < started.payload.verifiers
}
