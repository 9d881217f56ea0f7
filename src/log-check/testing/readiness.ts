import type { SimulatedRun } from './simulated-run.js'

const SETTLED: readonly string[] = ['completed', 'failed', 'skipped', 'cancelled']

const HOLDS: { readonly [rule: string]: (phases: readonly string[]) => boolean } = {
  all_success: phases => phases.every(phase => phase === 'completed'),
  none_failed: phases => phases.every(phase => phase !== 'failed'),
  all_complete: () => true,
  any_success: phases => phases.includes('completed'),
  any_failed: phases => phases.includes('failed'),
}

type Verdict = 'wait' | 'start' | 'skip'

/** What the inbound edges of an idle node say. */
export function verdictOn(run: SimulatedRun, nodeId: string): Verdict {
  const steered = steering(run, nodeId)
  if (steered !== undefined) return steered
  const backward = run.supervisor()?.id === nodeId ? run.body() : [run.backSource()]
  const inbound = run.workflow.edges.filter(
    edge => edge.targetNodeId === nodeId && !backward.includes(edge.sourceNodeId),
  )
  if (inbound.length === 0) return 'start'
  const { rounds } = run.loops
  const looping = run.nodes.has('loop') && run.state('loop').phase !== 'skipped'
  if (nodeId === 'after' && looping && Number.isFinite(rounds)) return 'wait'
  if (nodeId.startsWith('b') && !Number.isFinite(rounds)) return 'skip'
  if (inbound.some(edge => !SETTLED.includes(run.state(edge.sourceNodeId).phase))) return 'wait'
  const rule = inbound[0]?.triggerRule ?? 'all_success'
  const phases = inbound.map(edge => run.state(edge.sourceNodeId).phase)
  return HOLDS[rule]?.(phases) === true ? 'start' : 'skip'
}

/** Where a supervisor leads: into its loop, or out of it. */
function steering(run: SimulatedRun, nodeId: string): Verdict | undefined {
  const supervisor = run.supervisor()
  if (supervisor === undefined || nodeId === supervisor.id) return undefined
  const { route } = run.loops
  const left = route === 'done' || supervisor.state.phase === 'skipped'
  if (run.body().includes(nodeId)) return left ? 'skip' : route === 'body' ? undefined : 'wait'
  return nodeId !== 'after' || left ? undefined : 'wait'
}
