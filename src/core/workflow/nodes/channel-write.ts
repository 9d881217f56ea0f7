import type { Json } from '../../json.js'
import { failure } from '../../problem.js'
import { Closed, Matching, May, Milliseconds } from '../../schema/kinds.js'
import { Anything, PartField, REDUCER, YEAR_MS } from '../fields.js'
import { completed, failedStep, type NodeContext, type NodeStep, type NodeType } from '../node-type.js'

export const channelWriteNode = {
  typeId: 'core.channelWrite',
  about: 'Writes its input `value`, else config.value, to a channel; the reducer of the channel folds it in.',
  config: Closed({
    channelName: PartField('the name of a channel', { description: 'Which channel is written to' }),
    value: May(Anything({ description: 'The value, where no port `value` brings one' })),
    reducer: May(
      Matching(REDUCER, 'the name of a reducer', {
        description: 'For a channel that the workflow does not declare; a declared one has its own',
      }),
    ),
    ttlMs: May(Milliseconds(1, YEAR_MS, { description: 'How long the entry stays in the channel' })),
  }),
  check: ({ config, inputs }) =>
    'value' in inputs || 'value' in config
      ? []
      : ['config.value is missing; give the value as inputs.value or config.value'],
  start: ctx => {
    const value = ctx.inputs.value ?? ctx.config.value
    if (value === undefined)
      return failedStep(failure('input_missing', 'inputs.value has no value to write', { retryable: false }))
    const schema = ctx.channelSchema(String(ctx.config.channelName))
    return schema ? { kind: 'waiting', wait: { kind: 'check', schema, value } } : write(ctx, value)
  },
  settle: (ctx, wait) => {
    if (wait.kind !== 'check') throw new Error(`channel write settled while waiting for ${wait.kind}`)
    return write(ctx, wait.value)
  },
} as const satisfies NodeType

function write({ config }: NodeContext, value: Json): NodeStep {
  const channel = String(config.channelName)
  const reducer = typeof config.reducer === 'string' ? { reducer: config.reducer } : {}
  const ttlMs = typeof config.ttlMs === 'number' ? { ttlMs: config.ttlMs } : {}
  return completed({ channel }, [{ kind: 'channel', channel, value, ...reducer, ...ttlMs }])
}
