import { Type } from 'typebox'
import { TERMS } from '../../handoff/terms-schema.js'
import { present } from '../../present.js'
import { failure } from '../../problem.js'
import { Closed, May, OneOf } from '../../schema/kinds.js'
import { WorkerIdField } from '../fields.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/** Runs another workflow as a child with a log of its own (contract core §9.2): a hand-off to one worker. */
export const subWorkflowNode = {
  typeId: 'core.subWorkflow',
  hands: true,
  about:
    'Runs another workflow, or an agent, as a child with a log of its own. Its outputs are `childRunId` and `childStatus`; what the child leaves comes through outputMapping.',
  config: Closed({
    workflowId: WorkerIdField({ description: 'The child' }),
    waitForCompletion: May(
      Type.Literal(true, {
        description: 'A parent always waits',
        'x-must-be': 'true, or left out: false is not supported',
      }),
    ),
    onChildFailure: May(
      OneOf(['fail-parent', 'absorb'], {
        description: 'Whether this node fails when the child does',
        default: 'fail-parent',
      }),
    ),
    ...TERMS,
  }),
  start: ({ config, inputs }) => ({
    kind: 'waiting',
    wait: { kind: 'handoff', workers: [String(config.workflowId)], policy: 'sequential', inputs },
  }),
  settle: ({ config }, _wait, outcome) => {
    if (outcome.kind !== 'handed') throw new Error(`sub-workflow settled by ${outcome.kind}`)
    const [worker] = outcome.workers
    const { childRunId, status, error, attestation } = present(worker, 'worker of the sub-workflow')
    // Without a child there is nothing to absorb; what a person or a gate did not accept is named as such.
    if (childRunId === undefined)
      return failedStep({ ...present(error, 'reason why there is no child'), retryable: false })
    if (status !== 'completed' && config.onChildFailure !== 'absorb') {
      if (error?.code === 'merge_rejected' || error?.code === 'verification_failed') return failedStep(error)
      const message = `child run ${childRunId} ${status}${error ? `: ${error.message}` : ''}`
      const details = { childRunId, childStatus: status, ...(error ? { childError: error.code } : {}) }
      return failedStep(
        failure(status === 'failed' ? 'child_failed' : 'child_cancelled', message, { retryable: false, details }),
      )
    }
    return completed({ childRunId, childStatus: status, ...(attestation ? { attestation } : {}) })
  },
} as const satisfies NodeType
