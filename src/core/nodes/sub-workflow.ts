import { isObject, type JsonObject, own } from '../json.js'
import { completed, failedStep, type NodeType, type Write } from '../node-type.js'
import { failure } from '../problem.js'

const mapping = (value: unknown): [string, string][] =>
  isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    : []

const isMapping = (value: unknown): boolean =>
  value === undefined || (isObject(value) && Object.values(value).every(name => typeof name === 'string'))

/** Runs another workflow as a child with a log of its own (contract core §9.2). */
export const subWorkflowNode: NodeType = {
  typeId: 'core.subWorkflow',
  check: ({ config }) => [
    ...(typeof config.workflowId === 'string' && config.workflowId.length > 0
      ? []
      : ['config.workflowId must name the child workflow']),
    ...(config.waitForCompletion === undefined || config.waitForCompletion === true
      ? []
      : ['config.waitForCompletion: false is not supported; leave it out']),
    ...(config.onChildFailure === undefined ||
    config.onChildFailure === 'fail-parent' ||
    config.onChildFailure === 'absorb'
      ? []
      : ['config.onChildFailure must be "fail-parent" or "absorb"']),
    ...(isMapping(config.inputMapping) ? [] : ['config.inputMapping must map child variables to parent variables']),
    ...(isMapping(config.outputMapping) ? [] : ['config.outputMapping must map parent variables to child variables']),
  ],
  /** Inputs are mapped once, here: a later change of the parent's variables does not reach the child. */
  start: ({ config, variables, inputs }) => {
    const mapped: [string, JsonObject[string]][] = []
    const unset: string[] = []
    for (const [child, parent] of mapping(config.inputMapping)) {
      const value = own(variables, parent)
      if (value === undefined) unset.push(child)
      else mapped.push([child, value])
    }
    return {
      kind: 'waiting',
      wait: {
        kind: 'child',
        workflowId: String(config.workflowId),
        inputs: { ...inputs, ...Object.fromEntries(mapped) },
        unset,
        propagateCancellation: config.propagateCancellation !== false,
      },
    }
  },
  settle: ({ config }, _wait, outcome) => {
    if (outcome.kind !== 'child') throw new Error(`sub-workflow settled by ${outcome.kind}`)
    const { childRunId, status } = outcome
    if (status !== 'completed' && config.onChildFailure !== 'absorb') {
      const message = `child run ${childRunId} ${status}${outcome.error ? `: ${outcome.error.message}` : ''}`
      const details = { childRunId, childStatus: status, ...(outcome.error ? { childError: outcome.error.code } : {}) }
      return failedStep(
        failure(status === 'failed' ? 'child_failed' : 'child_cancelled', message, { retryable: false, details }),
      )
    }
    const writes: Write[] = []
    for (const [parent, child] of status === 'completed' ? mapping(config.outputMapping) : []) {
      const value = own(outcome.variables, child)
      if (value === undefined) continue
      const sensitive = outcome.hidden.includes(child)
      writes.push({ kind: 'variable', name: parent, value, ...(sensitive ? { sensitive } : {}) })
    }
    return completed({ childRunId, childStatus: status }, writes)
  },
}
