import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import type { Sketch } from '../../../src/testing/workflow.js'

/** Adds to what it is given; after a while, if it is told for how long. */
const adder = (id: string, by: number, ms?: number): Sketch => {
  const sum = {
    type: 'core.setVariable',
    config: { name: 'sum' },
    inputs: { value: { type: 'expression' as const, expression: `variables.given + ${by}` } },
  }
  const variables = [{ name: 'given', type: 'number' as const }]
  if (ms === undefined) return { id, nodes: { sum }, variables }
  return { id, nodes: { d: { type: 'core.delay', config: { ms } }, sum }, edges: ['d > sum'], variables }
}

const mapped = { inputMapping: { given: 'mine' }, outputMapping: { mine: 'sum' } }
const variables = [{ name: 'mine', type: 'number' as const, defaultValue: 20 }]

/** Orchestrators, what they hand work to, and a sub-workflow of which somebody must accept what it brings back. */
export const ORCHESTRATIONS: readonly Sketch[] = [
  adder('add-one', 1, 10),
  adder('add-ten', 10, 10),
  adder('add-hundred', 100),
  adder('add-slowly', 1_000, 160),
  {
    id: 'broken',
    nodes: { d: { type: 'core.delay', config: { ms: 10 } }, f: { type: 'core.fail', config: { failures: 9 } } },
    edges: ['d > f'],
  },
  loopOf(
    {
      rules: [
        { when: 'iteration == 1', decide: next('add-one', 'add-ten') },
        { when: 'iteration == 2', decide: next('broken') },
        { when: 'workers.exists(w, w.status == "failed")', decide: next('add-hundred') },
        { decide: terminate },
      ],
    },
    { id: 'errands', dispatch: mapped, variables },
  ),
  loopOf(
    {
      rules: [
        { when: 'iteration == 1', decide: { kind: 'clarify', prompt: 'Where?' } },
        { when: 'iteration == 2 && answer != null', decide: { ...next('sleeper'), confidence: 0.2 } },
        { when: 'workers.exists(w, w.status == "cancelled")', decide: next('noop') },
        { decide: terminate },
      ],
    },
    { id: 'doubted' },
  ),
  loopOf(
    { provider: 'decider', prompt: [next('add-ten', 'add-slowly', 'add-hundred'), next('add-one')] },
    { id: 'fanned', dispatch: { fanOutPolicy: 'parallel', ...mapped }, variables },
  ),
  {
    id: 'attested',
    nodes: {
      sub: {
        type: 'core.subWorkflow',
        config: { workflowId: 'add-one', ...mapped, outputAttestation: { checksum: true, requireApproval: true } },
      },
      z: 'core.noop',
    },
    edges: ['sub > z'],
    variables,
  },
]
