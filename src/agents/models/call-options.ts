import type { LanguageModelV3CallOptions, LanguageModelV3Message, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { isObject, type Json } from '../../core/json.js'
import type { ModelCallRequest } from '../../engine/ports/agents.js'
import { answerShape } from './answer-shape.js'
import { conversationOf, type Message } from './conversation.js'
import type { LiveKind } from './provider.js'

/** A request in the words of the language-model interface that all providers' libraries share. */
export function callOptions(ask: ModelCallRequest, kind: LiveKind, signal: AbortSignal): LanguageModelV3CallOptions {
  const { brief, id, traceparent, maxOutputTokens } = ask
  return {
    prompt: conversationOf(ask).map(said),
    maxOutputTokens,
    ...(brief.temperature === undefined ? undefined : { temperature: brief.temperature }),
    ...(brief.tools.length === 0 ? undefined : { tools: brief.tools.map(toolOf) }),
    ...(wantsJsonMode(ask, kind) ? { responseFormat: { type: 'json' as const } } : undefined),
    // The same on every try, so that a provider can drop a repetition (R-XHOST-8 for the trace).
    headers: { 'idempotency-key': id, traceparent },
    // Some signs of a refusal are not in what the libraries make of an answer.
    includeRawChunks: true,
    abortSignal: signal,
  }
}

/**
 * Only as a help to the model, and only without a schema: providers refuse most schemas that users write in their
 * strict modes, and the answer is checked here anyway. Google has no such mode beside tools, Anthropic none at all.
 */
function wantsJsonMode({ brief }: ModelCallRequest, kind: LiveKind): boolean {
  if (kind === 'anthropic' || (kind === 'google' && brief.tools.length > 0)) return false
  return answerShape(brief)?.type === 'object'
}

const toolOf = ({ name, description, inputSchema }: ModelCallRequest['brief']['tools'][number]) => ({
  type: 'function' as const,
  name,
  description,
  inputSchema,
})

function said(message: Message): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text }
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.text }] }
    case 'tool':
      return {
        role: 'tool',
        content: message.results.map(({ id, name, text, isError }) => ({
          type: 'tool-result',
          toolCallId: id,
          toolName: name,
          output: { type: isError ? 'error-text' : 'text', value: text },
        })),
      }
    case 'assistant':
      return assistant(message)
  }
}

/** What a provider wants to see again with the next request: `reasoning` blocks and marks on `calls`, by position. */
export type Carry = {
  readonly reasoning: readonly { readonly text: string; readonly options: Json }[]
  readonly calls: readonly Json[]
}

function assistant({ text, calls, carry }: Extract<Message, { role: 'assistant' }>): LanguageModelV3Message {
  const kept = isObject(carry) ? (carry as unknown as Carry) : { reasoning: [], calls: [] }
  const reasoning = kept.reasoning.map(block => ({
    type: 'reasoning' as const,
    text: block.text,
    providerOptions: block.options as SharedV3ProviderOptions,
  }))
  return {
    role: 'assistant',
    content: [
      ...reasoning,
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...calls.map(({ id, name, args }, i) => {
        const marks = kept.calls[i]
        return {
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: name,
          input: args,
          ...(isObject(marks) ? { providerOptions: marks as SharedV3ProviderOptions } : undefined),
        }
      }),
    ],
  }
}
