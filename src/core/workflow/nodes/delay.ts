import type { Json, JsonObject } from '../../json.js'
import { failure } from '../../problem.js'
import { Closed, May, NumberFrom } from '../../schema/kinds.js'
import { YEAR_MS } from '../fields.js'
import { completed, failedStep, type NodeContext, type NodeType } from '../node-type.js'

/** One length under three names: the protocol's texts spell it differently. */
const configured = ({ delayMs, durationMs, ms }: JsonObject): Json => delayMs ?? durationMs ?? ms ?? 0

const requested = ({ inputs, config }: Pick<NodeContext, 'inputs' | 'config'>) => inputs.delayMs ?? configured(config)

const isDelay = (ms: Json): ms is number => typeof ms === 'number' && ms >= 0 && ms <= YEAR_MS

const Delay = (description: string) =>
  May(
    NumberFrom(0, YEAR_MS, {
      description,
      'x-must-be': `a number of milliseconds from 0 to ${YEAR_MS}`,
      'x-unit': 'ms',
    }),
  )

/** On the host's table of due times. */
export const delayNode = {
  typeId: 'core.delay',
  about: 'Waits for its input `delayMs`, else for as long as its configuration says. A delay survives any restart.',
  config: Closed({
    delayMs: Delay('How long, in milliseconds'),
    durationMs: Delay('The same under another name'),
    ms: Delay('The same under a third'),
  }),
  start: ctx => {
    const ms = requested(ctx)
    if (!isDelay(ms)) {
      const seen = JSON.stringify(ms)
      return failedStep(
        failure('invalid_input', `delayMs is ${seen}; give a number from 0 to ${YEAR_MS}`, { retryable: false }),
      )
    }
    return { kind: 'waiting', wait: { kind: 'timer', ms: Math.ceil(ms) } }
  },
  settle: ctx => completed({ delayMs: requested(ctx) }),
} as const satisfies NodeType
