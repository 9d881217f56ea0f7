import { failure } from '../../problem.js'
import { Closed, May } from '../../schema/kinds.js'
import { Anything, PartField } from '../fields.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

export const setVariableNode = {
  typeId: 'core.setVariable',
  about: 'Sets a variable of the run to its input `value`, else to config.value.',
  config: Closed({
    name: PartField('the name of the variable to set', { description: 'Which variable is set' }),
    value: May(Anything({ description: 'The value, where no port `value` brings one' })),
  }),
  check: ({ config, inputs }) =>
    'value' in inputs || 'value' in config
      ? []
      : ['config.value is missing; give the value as inputs.value or config.value'],
  start: ({ config, inputs }) => {
    const value = inputs.value ?? config.value
    if (value === undefined)
      return failedStep(failure('input_missing', 'inputs.value has no value to set', { retryable: false }))
    return completed({ name: String(config.name) }, [{ kind: 'variable', name: String(config.name), value }])
  },
} as const satisfies NodeType
