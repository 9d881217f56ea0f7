import type { Json, JsonObject } from '../../core/json.js'
import { sha256OfJson } from '../../digest.js'
import type { ModelCallRequest } from '../../engine/ports/agents.js'
import { answerShape } from './answer-shape.js'
import { conversationOf, type Message } from './conversation.js'

/** A request by what it means, without anything that only concerns its transport (contract core §8.6). */
export type SemanticRequest = {
  readonly provider: string
  readonly model: string
  readonly messages: readonly JsonObject[]
  readonly tools?: readonly (JsonObject & { readonly name: string })[]
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly maxOutputTokens?: number
  readonly seed?: number
  readonly stop?: readonly string[]
  readonly responseFormat?: JsonObject
  readonly safetySettings?: Json
  /** By `vendor.<provider>.<option>`. */
  readonly providerOptions?: JsonObject
}

/** R-REPLAY-16: both recipes. The key is no security boundary; whoever stores by it keeps tenants apart (R-REPLAY-17). */
export function cacheKey(request: SemanticRequest, recipe: 'v1' | 'v2'): string {
  return sha256OfJson(present(recipe === 'v1' ? recipeV1(request) : recipeV2(request)))
}

const recipeV1 = ({ provider, model, messages, tools, temperature, topP, topK, responseFormat }: SemanticRequest) => ({
  provider: provider.toLowerCase(),
  model,
  messages,
  tools: sorted(tools),
  temperature,
  topP,
  topK,
  responseFormat,
})

function recipeV2({ provider, model, providerOptions, tools, ...request }: SemanticRequest) {
  return {
    recipe: 'openwop-semantic-request-v2',
    provider: provider.toLowerCase(),
    model,
    request: present({ ...request, tools: sorted(tools) }),
    providerOptions,
  }
}

/** By name in UTF-16 code units, which is how `<` compares. No tools are no tools, however that was said. */
const sorted = (tools: SemanticRequest['tools']) =>
  tools === undefined || tools.length === 0 ? undefined : [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))

const present = (value: { readonly [name: string]: Json | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, item]])))

/** R-REPLAY-18: the concrete provider and model are part of it. */
export function semanticRequest(ask: ModelCallRequest): SemanticRequest {
  const { brief, provider, model, maxOutputTokens } = ask
  const shape = answerShape(brief)
  return {
    provider,
    model,
    messages: conversationOf(ask).flatMap(plain),
    tools: brief.tools.map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema })),
    ...(brief.temperature === undefined ? undefined : { temperature: brief.temperature }),
    maxOutputTokens,
    ...(shape === undefined ? undefined : { responseFormat: { type: 'json', schema: shape } }),
  }
}

function plain(message: Message): readonly JsonObject[] {
  if (message.role === 'tool') {
    return message.results.map(({ id, name, text }) => ({ role: 'tool', content: text, name, toolCallId: id }))
  }
  const { role, text } = message
  if (role !== 'assistant' || message.calls.length === 0) return [{ role, content: text }]
  const calls = message.calls.map(({ id, name, args }) => ({
    type: 'tool-call',
    toolCallId: id,
    name,
    arguments: args,
  }))
  return [{ role, content: [{ type: 'text', text }, ...calls] }]
}
