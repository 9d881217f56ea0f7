import { failure } from '../../problem.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

export const setVariableNode: NodeType = {
  typeId: 'core.setVariable',
  check: ({ config, inputs }) => [
    ...(typeof config.name === 'string' && config.name.length > 0 ? [] : ['config.name must name the variable to set']),
    ...('value' in inputs || 'value' in config ? [] : ['give the value as inputs.value or config.value']),
  ],
  start: ({ config, inputs }) => {
    const value = inputs.value ?? config.value
    if (value === undefined)
      return failedStep(failure('input_missing', 'inputs.value has no value to set', { retryable: false }))
    return completed({ name: String(config.name) }, [{ kind: 'variable', name: String(config.name), value }])
  },
}
