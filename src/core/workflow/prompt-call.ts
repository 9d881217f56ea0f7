import { isObject, type Json, type JsonObject } from '../json.js'
import type { Invoking } from '../run/events.js'
import { inlineOf, needsOf, PROMPT_FIELDS, picked } from './model-fields.js'
import type { NodeContext } from './node-type.js'

/** A node that asks a model by itself: the same work as an agent's, in the node's own name. */
export function promptCall(
  { node, config, inputs, runInputs, ordinal }: NodeContext,
  { returnSchema, needs = [] }: { readonly returnSchema?: JsonObject; readonly needs?: readonly string[] } = {},
): Invoking {
  const { systemPrompt, prompt } = config
  return {
    kind: 'agent',
    agent: { agentId: `host:prompt:${node.id}`, inline: inlineOf(config), ...needsOf(config, needs) },
    role: 'worker',
    task: taskOf(Object.keys(inputs).length > 0 ? inputs : runInputs),
    ordinal,
    prompts: {
      ...picked(config, ['agentId', ...Object.keys(PROMPT_FIELDS)]),
      ...(typeof systemPrompt === 'string' ? { systemPrompt } : {}),
      ...(typeof prompt === 'string' ? { userPrompt: prompt } : {}),
    },
    envelope: true,
    ...(returnSchema ? { returnSchema } : {}),
  }
}

/** What is asked where no prompt puts it into words: the port `prompt`, or the words of the port `messages`. */
function taskOf(inputs: JsonObject): Json {
  const { messages, prompt } = inputs
  if (typeof prompt === 'string') return prompt
  return Array.isArray(messages) && Object.keys(inputs).length === 1 ? spoken(messages) : inputs
}

/** Who speaks is told where there is more than one voice. A system prompt is the author's to give, not an input's. */
function spoken(messages: readonly Json[]): Json {
  const turns = messages.map(message => (isObject(message) ? message : { content: message }))
  const [only] = turns
  if (turns.length === 1 && only && (only.role ?? 'user') === 'user') return only.content ?? null
  return turns.map(({ role = 'user', content = null }) => `${String(role)}: ${textOf(content)}`).join('\n\n')
}

const textOf = (content: Json): string => (typeof content === 'string' ? content : JSON.stringify(content))
