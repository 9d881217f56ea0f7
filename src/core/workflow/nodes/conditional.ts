import { failure } from '../../problem.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/** Chooses its `true` or `false` port by an expression. */
export const conditionalNode: NodeType = {
  typeId: 'core.conditional',
  ports: ['true', 'false'],
  chosenPort: outputs => String(outputs.branch),
  check: ({ config }) => (typeof config.expression === 'string' ? [] : ['config.expression must be a CEL expression']),
  expressions: config => ({ expression: String(config.expression) }),
  start: ctx => {
    const result = ctx.expression('expression').evaluate(ctx.scope)
    if (!result.ok) return failedStep(result.error)
    if (typeof result.value !== 'boolean')
      return failedStep(failure('expression_error', 'config.expression must give true or false', { retryable: false }))
    return completed({ result: result.value, branch: String(result.value) })
  },
}
