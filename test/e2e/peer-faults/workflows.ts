import { loopOf, next, terminate } from '../../../src/testing/orchestration.js'
import type { Sketch } from '../../../src/testing/workflow.js'

/** What B can do: add to what it is given, after a while if it is told for how long; fail; ask; not come to an end. */
const adder = (id: string, by: number, delayMs?: number): Sketch => {
  const sum = {
    type: 'core.setVariable',
    config: { name: 'sum' },
    inputs: { value: { type: 'expression' as const, expression: `variables.given + ${by}` } },
  }
  const variables = [{ name: 'given', type: 'number' as const }]
  if (delayMs === undefined) return { id, nodes: { sum }, variables }
  return { id, nodes: { d: { type: 'core.delay', config: { delayMs } }, sum }, edges: ['d > sum'], variables }
}

export const ON_B: readonly Sketch[] = [
  adder('add-one', 1),
  adder('add-ten', 10, 2_000),
  { id: 'broken', nodes: { f: { type: 'core.fail', config: { failures: 9 } } } },
  {
    ...adder('add-asked', 1_000),
    id: 'add-asked',
    nodes: { gate: 'core.approvalGate', ...adder('', 1_000).nodes },
    edges: ['gate > sum'],
  },
  { id: 'sleeper', nodes: { d: { type: 'core.delay', config: { delayMs: 20 * 24 * 3_600_000 } } } },
]

const mapped = { inputMapping: { given: 'mine' }, outputMapping: { mine: 'sum' } }
const variables = [{ name: 'mine', type: 'number' as const, defaultValue: 20 }]

export const peer = (workflowId: string): string => `peer:beta/${workflowId}`

export const ON_A: readonly Sketch[] = [
  adder('add-hundred', 100),
  // One after the other; then one that fails, and another in its place.
  loopOf(
    {
      rules: [
        { when: 'iteration == 1', decide: next(peer('add-one'), peer('add-ten')) },
        { when: 'iteration == 2', decide: next(peer('broken')) },
        { when: 'workers.exists(w, w.status == "failed")', decide: next('add-hundred') },
        { decide: terminate },
      ],
    },
    { id: 'errands', dispatch: mapped, variables },
  ),
  // All at once, one of them here.
  loopOf(
    {
      rules: [
        { when: 'iteration == 1', decide: next(peer('add-ten'), 'add-hundred', peer('add-one')) },
        { decide: terminate },
      ],
    },
    { id: 'fanned', dispatch: { fanOutPolicy: 'parallel', ...mapped }, variables },
  ),
  // A sub-workflow, of which somebody over there is asked.
  {
    id: 'asked',
    nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: peer('add-asked'), ...mapped } }, z: 'core.noop' },
    edges: ['sub > z'],
    variables,
  },
  // One hand-off, and what it comes to.
  loopOf(
    { rules: [{ when: 'iteration == 1', decide: next(peer('add-ten')) }, { decide: terminate }] },
    { id: 'errand', dispatch: mapped, variables },
  ),
  // The same, and a while in which the run lasts.
  loopOf(
    {
      rules: [
        { when: 'iteration == 1', decide: next(peer('add-ten')) },
        { when: 'iteration == 2', decide: next('rest') },
        { decide: terminate },
      ],
    },
    { id: 'lasting', dispatch: mapped, variables },
  ),
  { id: 'rest', nodes: { d: { type: 'core.delay', config: { delayMs: 20 * 24 * 3_600_000 } } } },
  loopOf(
    { rules: [{ when: 'iteration == 1', decide: next(peer('sleeper')) }, { decide: terminate }] },
    { id: 'waiting' },
  ),
]
