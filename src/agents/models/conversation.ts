import type { Json } from '../../core/json.js'
import type { ModelCallContents, ModelCallRequest, Round } from '../../engine/ports/agents.js'
import { fence } from '../tools/fence.js'

/** What a model sees, in no provider's own words. */
export type Message =
  | { readonly role: 'system' | 'user'; readonly text: string }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: ModelCallContents['calls']
      readonly carry?: Json
    }
  | { readonly role: 'tool'; readonly results: readonly ConversationToolResult[] }

export type ConversationToolResult = {
  readonly id: string
  readonly name: string
  /** Fenced. */
  readonly text: string
  readonly isError: boolean
}

export const conversationOf = ({ brief, rounds }: Pick<ModelCallRequest, 'brief' | 'rounds'>): readonly Message[] => [
  { role: 'system', text: brief.system },
  { role: 'user', text: brief.user },
  ...rounds.flatMap(messagesOf),
]

function messagesOf({ thought, results, correction }: Round): readonly Message[] {
  const { text, calls, carry } = thought
  // A reply that was cut off and is asked for anew is not shown: there is nothing to say to it.
  if (calls.length === 0 && correction === undefined) return []
  const said: Message = { role: 'assistant', text, calls, ...(carry === undefined ? undefined : { carry }) }
  return [
    // Providers take no message without contents.
    ...(text === '' && calls.length === 0 ? [] : [said]),
    ...(calls.length === 0
      ? []
      : [{ role: 'tool' as const, results: calls.map((call, i) => resultOf(call, results[i])) }]),
    ...(correction === undefined ? [] : [{ role: 'user' as const, text: correction }]),
  ]
}

/** R-TOOL-9. Providers want a result for every call, also for those that nobody made. */
function resultOf(
  call: ModelCallContents['calls'][number],
  result: Round['results'][number] | undefined,
): ConversationToolResult {
  const { text, isError } = result ?? { text: 'not called', isError: true }
  return { id: call.id, name: call.name, text: fence(call.toolId ?? call.name, text), isError }
}
