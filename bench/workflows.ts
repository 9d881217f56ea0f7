import type { Sketch } from '../src/testing/workflow.js'

/** Turns of the long loop; the measured host's ceiling is above it. */
export const TURNS = 10_100

const chain = Array.from({ length: 200 }, (_, i) => `n${i}`)

/** What is measured. The loop sleeps a millisecond, so every pass is a step with a commit of its own. */
export const WORKFLOWS: readonly Sketch[] = [
  { id: 'noop', nodes: { a: 'core.noop' } },
  {
    id: 'chain',
    nodes: Object.fromEntries(chain.map(id => [id, 'core.noop'])),
    edges: chain.slice(1).map((id, i) => `n${i} > ${id}`),
  },
  {
    id: 'long',
    nodes: {
      loop: { type: 'core.loop', config: { maxIterations: 10_100 } },
      step: { type: 'core.delay', config: { ms: 1 } },
    },
    edges: ['loop.body > step', 'step > loop'],
  },
  asking('hundred-events', 24),
  asking('ten-thousand-events', 2_500),
  // One worker with mappings, then the end; and the same ten thousand times in one run.
  { id: 'worker', nodes: { a: 'core.noop' }, variables: [{ name: 'answer', type: 'string', defaultValue: 'done' }] },
  { id: 'agent', nodes: { a: { type: 'core.agent', config: { agentId: 'local.project.echo' } } } },
  orchestrated('handoff', 1),
  orchestrated('turns', TURNS),
]

/** Four events for each pass, and then it waits for someone: a run that can be forked at its end. */
function asking(id: string, passes: number): Sketch {
  const nodes = {
    loop: { type: 'core.loop', config: { maxIterations: passes } },
    step: 'core.noop',
    gate: 'core.approvalGate',
  }
  return { id, nodes, edges: ['loop.body > step', 'step > loop', 'loop.done > gate'] }
}

function orchestrated(id: string, turns: number): Sketch {
  return {
    id,
    nodes: {
      supervisor: {
        type: 'core.orchestrator.supervisor',
        config: {
          rules: [
            { when: `iteration <= ${turns}`, decide: { kind: 'next-worker', nextWorkerIds: ['worker'] } },
            { decide: { kind: 'terminate', reason: 'goal-reached' } },
          ],
        },
      },
      dispatch: {
        type: 'core.dispatch',
        config: { inputMapping: { task: 'task' }, outputMapping: { result: 'answer' } },
      },
    },
    edges: ['supervisor > dispatch', 'dispatch > supervisor'],
    variables: [
      { name: 'task', type: 'string', defaultValue: 'count' },
      { name: 'result', type: 'string' },
    ],
  }
}
