import { memoryProblems, termProblems } from '../../handoff/mapping.js'
import { isWorkId, WORK_ID_RULE } from '../../names.js'
import { present } from '../../present.js'
import { failure } from '../../problem.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/** Runs another workflow as a child with a log of its own (contract core §9.2): a hand-off to one worker. */
export const subWorkflowNode: NodeType = {
  typeId: 'core.subWorkflow',
  hands: true,
  check: ({ config }, permit) => [
    ...(typeof config.workflowId === 'string' && isWorkId(config.workflowId)
      ? []
      : [`config.workflowId must name the child: ${WORK_ID_RULE}; it is ${JSON.stringify(config.workflowId ?? null)}`]),
    ...(config.waitForCompletion === undefined || config.waitForCompletion === true
      ? []
      : ['config.waitForCompletion: false is not supported; leave it out']),
    ...(config.onChildFailure === undefined ||
    config.onChildFailure === 'fail-parent' ||
    config.onChildFailure === 'absorb'
      ? []
      : ['config.onChildFailure must be "fail-parent" or "absorb"']),
    ...termProblems(config),
    ...memoryProblems(config, permit),
  ],
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
}
