import { own } from '../../json.js'
import { failure } from '../../problem.js'
import { Closed, May } from '../../schema/kinds.js'
import { Anything, PartField } from '../fields.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

export const getVariableNode = {
  typeId: 'core.getVariable',
  about: 'Gives a variable of the run as its output `value`.',
  config: Closed({
    name: PartField('the name of the variable to read', { description: 'Which variable is read' }),
    default: May(Anything({ description: 'Stands in for a variable that is not set; without it the node fails' })),
  }),
  start: ({ config, variables }) => {
    const name = String(config.name)
    const value = own(variables, name) ?? config.default
    if (value === undefined) {
      const message = `variable "${name}" is not set; set it first or give config.default`
      return failedStep(failure('input_missing', message, { retryable: false }))
    }
    return completed({ value })
  },
} as const satisfies NodeType
