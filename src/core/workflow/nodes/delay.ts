import type { Json, JsonObject } from '../../json.js'
import { failure } from '../../problem.js'
import { completed, failedStep, type NodeContext, type NodeType } from '../node-type.js'

const MAX_DELAY_MS = 365 * 24 * 3_600_000

/** One length under three names: the protocol's texts spell it differently. */
const configured = ({ delayMs, durationMs, ms }: JsonObject): Json => delayMs ?? durationMs ?? ms ?? 0

const requested = ({ inputs, config }: Pick<NodeContext, 'inputs' | 'config'>) => inputs.delayMs ?? configured(config)

const isDelay = (ms: Json): ms is number => typeof ms === 'number' && ms >= 0 && ms <= MAX_DELAY_MS

/** Waits on the host's table of due times: a delay survives any restart. */
export const delayNode: NodeType = {
  typeId: 'core.delay',
  check: ({ config }) => {
    const ms = configured(config)
    return isDelay(ms)
      ? []
      : [
          `config.${config.delayMs === undefined && config.durationMs !== undefined ? 'durationMs' : 'delayMs'} must be a number from 0 to ${MAX_DELAY_MS}, not ${JSON.stringify(ms)}`,
        ]
  },
  start: ctx => {
    const ms = requested(ctx)
    if (!isDelay(ms)) {
      const seen = JSON.stringify(ms)
      return failedStep(
        failure('invalid_input', `delayMs is ${seen}; give a number from 0 to ${MAX_DELAY_MS}`, { retryable: false }),
      )
    }
    return { kind: 'waiting', wait: { kind: 'timer', ms: Math.ceil(ms) } }
  },
  settle: ctx => completed({ delayMs: requested(ctx) }),
}
