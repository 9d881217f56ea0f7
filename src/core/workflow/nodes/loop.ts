import { failure } from '../../problem.js'
import { Closed, May, Whole } from '../../schema/kinds.js'
import { Cel } from '../fields.js'
import { completed, failedStep, type NodeType } from '../node-type.js'

export const loopNode = {
  typeId: 'core.loop',
  about:
    'Runs its body while a condition holds. Its port `body` leads into the body, whose last nodes have an edge back to this node; its port `done` leads on.',
  config: Closed({
    condition: May(Cel('Holds as long as the body is to run again; `iteration` counts the passes already made')),
    maxIterations: May(
      Whole(1, Number.MAX_SAFE_INTEGER, {
        description: 'Passes at most; settings.maxLoopbackIterations of the workflow where absent',
      }),
    ),
  }),
  ports: ['body', 'done'],
  loops: true,
  chosenPort: outputs => (outputs.continue === true ? 'body' : 'done'),
  check: ({ config }) =>
    config.condition === undefined && config.maxIterations === undefined
      ? ['config says nothing of when to end; give config.condition, config.maxIterations or both']
      : [],
  reads: ['iteration'],
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
} as const satisfies NodeType
