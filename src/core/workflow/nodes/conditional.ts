import { failure } from '../../problem.js'
import { Closed } from '../../schema/kinds.js'
import { Cel } from '../fields.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

export const conditionalNode = {
  typeId: 'core.conditional',
  about: 'Chooses its port `true` or `false` by an expression.',
  config: Closed({ expression: Cel('Gives true or false') }),
  ports: ['true', 'false'],
  chosenPort: outputs => String(outputs.branch),
  reads: ['iteration'],
  expressions: config => ({ expression: String(config.expression) }),
  start: ctx => {
    const result = ctx.expression('expression').evaluate(ctx.scope)
    if (!result.ok) return failedStep(result.error)
    if (typeof result.value !== 'boolean')
      return failedStep(failure('expression_error', 'config.expression must give true or false', { retryable: false }))
    return completed({ result: result.value, branch: String(result.value) })
  },
} as const satisfies NodeType
