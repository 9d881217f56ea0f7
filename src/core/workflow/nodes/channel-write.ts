import type { Json } from '../../json.js'
import { failure } from '../../problem.js'
import { completed, failedStep, type NodeContext, type NodeStep, type NodeType } from '../node-type.js'

/** Writes one value to a channel; the channel's reducer folds it in. */
export const channelWriteNode: NodeType = {
  typeId: 'core.channelWrite',
  check: ({ config, inputs }) => [
    ...(typeof config.channelName === 'string' && config.channelName.length > 0
      ? []
      : ['config.channelName must name a channel']),
    ...('value' in inputs || 'value' in config ? [] : ['give the value as inputs.value or config.value']),
  ],
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
}

function write({ config }: NodeContext, value: Json): NodeStep {
  const channel = String(config.channelName)
  const reducer = typeof config.reducer === 'string' ? { reducer: config.reducer } : {}
  const ttlMs = typeof config.ttlMs === 'number' ? { ttlMs: config.ttlMs } : {}
  return completed({ channel }, [{ kind: 'channel', channel, value, ...reducer, ...ttlMs }])
}
