import { own } from '../../json.js'
import { failure } from '../../problem.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

export const getVariableNode: NodeType = {
  typeId: 'core.getVariable',
  check: ({ config }) =>
    typeof config.name === 'string' && config.name.length > 0 ? [] : ['config.name must name the variable to read'],
  start: ({ config, variables }) => {
    const name = String(config.name)
    const value = own(variables, name) ?? config.default
    if (value === undefined) {
      const message = `variable "${name}" is not set; set it first or give config.default`
      return failedStep(failure('input_missing', message, { retryable: false }))
    }
    return completed({ value })
  },
}
