import { completed, failedStep, type NodeContext, type NodeType } from '../node-type.js'
import { failure } from '../problem.js'

const MAX_DELAY_MS = 365 * 24 * 3_600_000

const requested = ({ inputs, config }: Pick<NodeContext, 'inputs' | 'config'>) =>
  inputs.delayMs ?? config.delayMs ?? config.ms ?? 0

/** Waits on the host's table of due times: a delay survives any restart. */
export const delayNode: NodeType = {
  typeId: 'core.delay',
  start: ctx => {
    const ms = requested(ctx)
    if (typeof ms !== 'number' || !(ms >= 0 && ms <= MAX_DELAY_MS)) {
      const seen = JSON.stringify(ms)
      return failedStep(
        failure('invalid_input', `delayMs is ${seen}; give a number from 0 to ${MAX_DELAY_MS}`, { retryable: false }),
      )
    }
    return { kind: 'waiting', wait: { kind: 'timer', ms: Math.ceil(ms) } }
  },
  settle: ctx => completed({ delayMs: requested(ctx) }),
}
