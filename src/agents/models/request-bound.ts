import type { Usage } from '../../core/invocation/brief.js'
import type { ThinkAsk } from '../../engine/ports/agents.js'
import { tokenBound } from '../token-bound.js'
import { conversationOf, type Message } from './conversation.js'

/** What a request that was begun has cost at most: providers bill what they have read and written, also unseen. */
export const worstCase = (ask: ThinkAsk): Usage => ({
  inputTokens: tokenBound(
    ...conversationOf(ask).flatMap(textsOf),
    ...ask.brief.tools.map(tool => `${tool.name}${tool.description}${JSON.stringify(tool.inputSchema)}`),
    ask.brief.returnSchema === undefined ? '' : JSON.stringify(ask.brief.returnSchema),
  ),
  outputTokens: ask.maxOutputTokens,
})

function textsOf(message: Message): readonly string[] {
  if (message.role === 'tool') return message.results.map(({ id, name, text }) => `${id}${name}${text}`)
  if (message.role !== 'assistant') return [message.text]
  const { text, calls, carry } = message
  const called = calls.map(({ id, name, args }) => `${id}${name}${JSON.stringify(args)}`)
  return [text, ...called, carry === undefined ? '' : JSON.stringify(carry)]
}
