import { LONGEST_TTL_SECONDS } from '../../../journal/entry-rules.js'
import { isObject } from '../../../json.js'
import { failure } from '../../../problem.js'
import { Closed, ListOf, May, Text, Whole } from '../../../schema/kinds.js'
import { Anything } from '../../fields.js'
import { completed, failedStep, type NodeType } from '../../node-type.js'

export const memoryPutNode = {
  typeId: 'core.memoryPut',
  about:
    'Writes an entry into the memory of the run: its input `content`, else config.content; a value that is no text as JSON. Later nodes see it, and whoever shares the scope once no gate holds it.',
  config: Closed({
    memoryRef: Text(256, { description: 'The reference under which entries belong together' }),
    memoryId: May(Text(1500, { description: 'The entry that is written, or written over; a new one where left out' })),
    content: May(Anything({ description: 'The content, where no port `content` brings one' })),
    tags: May(ListOf(Text(256), 0, 32, { description: 'What it can be found by' })),
    ttlSeconds: May(Whole(1, LONGEST_TTL_SECONDS, { description: 'How long it is there, counted from the write' })),
  }),
  journals: true,
  check: ({ config, inputs }) =>
    'content' in inputs || 'content' in config
      ? []
      : ['config.content is missing; give the content as inputs.content or config.content'],
  start: ({ config, inputs, ordinal }) => {
    const value = inputs.content ?? config.content
    if (value === undefined)
      return failedStep(failure('input_missing', 'inputs.content has no value to write', { retryable: false }))
    const { memoryRef, memoryId, tags, ttlSeconds } = config
    const use = {
      act: 'put' as const,
      ref: String(memoryRef),
      ...(memoryId === undefined ? {} : { id: String(memoryId) }),
      content: typeof value === 'string' ? value : JSON.stringify(value),
      tags: Array.isArray(tags) ? tags.map(String) : [],
      ...(typeof ttlSeconds === 'number' ? { ttlSeconds } : {}),
    }
    return { kind: 'waiting', wait: { kind: 'journal', use, ordinal } }
  },
  settle: (_ctx, _wait, outcome) =>
    completed(outcome.kind === 'answer' && isObject(outcome.output) ? outcome.output : {}),
} as const satisfies NodeType
