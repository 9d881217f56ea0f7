import { failure } from '../../problem.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

/**
 * Runs its body while a condition holds. Its `body` port leads into the body, whose last nodes have an edge back to
 * this node; its `done` port leads on. `iteration` counts the passes already made.
 */
export const loopNode: NodeType = {
  typeId: 'core.loop',
  ports: ['body', 'done'],
  loops: true,
  chosenPort: outputs => (outputs.continue === true ? 'body' : 'done'),
  check: ({ config }) => [
    ...(config.condition === undefined || typeof config.condition === 'string'
      ? []
      : ['config.condition must be a CEL expression']),
    ...(config.maxIterations === undefined ||
    (Number.isInteger(config.maxIterations) && Number(config.maxIterations) >= 1)
      ? []
      : ['config.maxIterations must be a whole number, 1 or more']),
    ...(config.condition === undefined && config.maxIterations === undefined
      ? ['give config.condition, config.maxIterations or both']
      : []),
  ],
  expressions: config => (typeof config.condition === 'string' ? { condition: config.condition } : {}),
  start: ctx => {
    const { config, iteration, maxLoopbackIterations } = ctx
    const limit = typeof config.maxIterations === 'number' ? config.maxIterations : maxLoopbackIterations
    if (typeof config.condition !== 'string') return completed({ iteration, continue: iteration < limit })
    const result = ctx.expression('condition').evaluate(ctx.scope)
    if (!result.ok) return failedStep(result.error)
    if (result.value !== true) return completed({ iteration, continue: false })
    if (iteration < limit) return completed({ iteration, continue: true })
    const message = `the loop's condition still holds after ${limit} passes; raise config.maxIterations or change the condition`
    return {
      kind: 'failed',
      error: failure('loop_limit_exceeded', message, { retryable: false, details: { limit, iteration } }),
      writes: [{ kind: 'loopback-limit', iterations: iteration, limit }],
    }
  },
}
