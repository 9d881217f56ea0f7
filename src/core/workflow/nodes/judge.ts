import { failure } from '../../problem.js'
import { Closed } from '../../schema/kinds.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/** The workflow of a trial: one node of this type, made by the host and by nobody else. */
export const JUDGE_WORKFLOW = 'assay-judge'

/** Puts a result to a gate to learn what the gate says of it. Nothing is made of the result, and nobody works again. */
export const judgeNode: NodeType = {
  typeId: 'assay.judge',
  about: 'For the host alone: puts a result to a gate to learn what the gate says of it.',
  config: Closed({}),
  check: () => ['typeId assay.judge is for the host alone; start a run of the workflow assay-judge'],
  // What is put to a gate is for those who may read artifacts: it may be a result that did not pass.
  start: ({ runInputs, withheld: { output = runInputs.output } }) =>
    output === undefined
      ? failedStep(failure('invalid_input', 'a trial needs the inputs {gateId, output}', { retryable: false }))
      : { kind: 'waiting', wait: { kind: 'judge', output } },
  settle: (_ctx, _wait, outcome) => {
    if (outcome.kind !== 'judged') throw new Error(`trial settled by ${outcome.kind}`)
    const { verdict, artifactId } = outcome
    return completed({ verdict, ...(artifactId === undefined ? {} : { artifactId }) })
  },
}
