import { failure } from '../../problem.js'
import { Closed, Flag, May } from '../../schema/kinds.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/** The workflow of a trial: one node of this type, made by the host and by nobody else. */
export const JUDGE_WORKFLOW = 'assay-judge'

/** The workflow of a goal's judge: the same, over what a contributing run of the goal has left. Started by goals alone. */
export const GOAL_JUDGE_WORKFLOW = 'assay-goal-judge'
export const GOAL_JUDGE_NODE = 'judge'

/** Puts a result to a gate to learn what the gate says of it. Nothing is made of the result, and nobody works again. */
export const judgeNode = {
  typeId: 'assay.judge',
  about: 'For the host alone: puts a result to a gate to learn what the gate says of it.',
  config: Closed({ goal: May(Flag({ description: 'For a goal: the verdict is told, of the run that was judged' })) }),
  check: () => ['typeId assay.judge is for the host alone; start a run of the workflow assay-judge'],
  // What is put to a gate is for those who may read artifacts: it may be a result that did not pass.
  start: ({ config, runInputs, withheld: { output = runInputs.output } }) => {
    if (output === undefined)
      return failedStep(failure('invalid_input', 'a trial needs the inputs {gateId, output}', { retryable: false }))
    const { judgedRunId } = runInputs
    const of = config.goal === true && typeof judgedRunId === 'string' ? { of: judgedRunId } : {}
    return { kind: 'waiting', wait: { kind: 'judge', output, ...of } }
  },
  settle: (_ctx, _wait, outcome) => {
    if (outcome.kind !== 'judged') throw new Error(`trial settled by ${outcome.kind}`)
    const { kind: _, ...judged } = outcome
    return completed(judged)
  },
} as const satisfies NodeType
