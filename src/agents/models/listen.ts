import type { LanguageModelV3StreamPart, LanguageModelV3Usage, SharedV3ProviderMetadata } from '@ai-sdk/provider'
import type { Usage } from '../../core/invocation/brief.js'
import type { Json } from '../../core/json.js'
import type { Spoken, SpokenCall } from '../answer/spoken.js'
import type { ModelReasoningFeed } from './reasoning-feed.js'
import { refusalInChunk, type SafetyRefusal, safetyRefusalOf } from './safety.js'

/** What a model says in one reply at most, in characters: text, reasoning and arguments together. */
const MOST = 1024 * 1024

export type HeardReply =
  | { readonly ok: true; readonly spoken: Spoken }
  /** `too-large`: it said too much. `broke-off`: there is no proper end to it. */
  | { readonly ok: false; readonly why: 'too-large' | 'broke-off' }

/**
 * A whole reply from its stream; `bound` stands in for what a provider does not say about usage. Rejects when the stream
 * does. What is read is let go at the first sign that it is of no use.
 */
export async function listen(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  bound: Usage,
  feed: ModelReasoningFeed,
): Promise<HeardReply> {
  let text = ''
  let size = 0
  let refusal: SafetyRefusal | undefined
  const reasoning: Block[] = []
  const calls: (SpokenCall & { readonly marks: Json })[] = []
  for await (const part of stream) {
    if ('delta' in part) size += part.delta.length
    if (size > MOST) return { ok: false, why: 'too-large' }
    switch (part.type) {
      case 'text-delta':
        text += part.delta
        break
      case 'reasoning-start':
        reasoning.push({ text: '', marks: marksOf(part.providerMetadata) })
        break
      case 'reasoning-delta':
      case 'reasoning-end': {
        const block = reasoning.at(-1)
        if (block === undefined) break
        if (part.type === 'reasoning-delta') {
          block.text += part.delta
          feed.add(part.delta)
        }
        block.marks = marksOf(part.providerMetadata) ?? block.marks
        break
      }
      case 'tool-call':
        // Not every provider sends arguments piece by piece.
        if (part.input.length > MOST) return { ok: false, why: 'too-large' }
        calls.push({
          id: part.toolCallId,
          name: part.toolName,
          input: part.input,
          marks: marksOf(part.providerMetadata),
        })
        break
      case 'raw':
        refusal ??= refusalInChunk(part.rawValue)
        break
      case 'error':
        return refusal === undefined ? { ok: false, why: 'broke-off' } : refused(refusal, bound)
      case 'finish': {
        feed.end()
        const { unified, raw } = part.finishReason
        if (unified === 'content-filter') refusal ??= safetyRefusalOf(raw ?? '')
        // Without a reason to end, the connection did; a reply in the middle of a word is not an answer.
        if (refusal === undefined && (raw === undefined || unified === 'error')) return { ok: false, why: 'broke-off' }
        return {
          ok: true,
          spoken: {
            text,
            reasoning: reasoning.map(block => block.text).join('\n\n'),
            calls: calls.map(({ id, name, input }) => ({ id, name, input })),
            finish: refusal === undefined ? finishOf(unified, raw) : { kind: 'refused', ...refusal },
            usage: usageOf(part.usage, bound, size > 0 || calls.length > 0),
            ...carried(reasoning, calls),
          },
        }
      }
    }
  }
  return { ok: false, why: 'broke-off' }
}

type Block = { text: string; marks: Json }

const refused = (refusal: SafetyRefusal, usage: Usage): HeardReply => ({
  ok: true,
  spoken: { text: '', reasoning: '', calls: [], finish: { kind: 'refused', ...refusal }, usage },
})

function finishOf(unified: string, raw: string | undefined): Spoken['finish'] {
  if (unified === 'stop' || unified === 'tool-calls') return { kind: 'done' }
  if (unified !== 'length') return { kind: 'truncated', stopReason: 'unknown' }
  return { kind: 'truncated', stopReason: raw?.toLowerCase() === 'max_tokens' ? 'max_tokens' : 'length' }
}

/**
 * Counts are a provider's word; what is no count is replaced by what it can be at most. So is nothing where there was
 * something: the libraries make a zero of a count that is missing, and no request is empty.
 */
function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage, bound: Usage, hasSpoken: boolean): Usage {
  const [cacheReadTokens, cacheWriteTokens] = [count(inputTokens.cacheRead), count(inputTokens.cacheWrite)]
  const written = count(outputTokens.total)
  return {
    inputTokens: count(inputTokens.total) || bound.inputTokens,
    outputTokens: (hasSpoken ? written || undefined : written) ?? bound.outputTokens,
    ...(cacheReadTokens ? { cacheReadTokens } : undefined),
    ...(cacheWriteTokens ? { cacheWriteTokens } : undefined),
  }
}

const count = (tokens: number | undefined): number | undefined =>
  Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? tokens : undefined

/** Signatures and the like, which a provider wants back; what has none is not sent again. */
function carried(reasoning: readonly Block[], calls: readonly { readonly marks: Json }[]): { carry?: Json } {
  const blocks = reasoning.flatMap(({ text, marks }) => (marks === null ? [] : [{ text, options: marks }]))
  const marks = calls.map(call => call.marks)
  return blocks.length === 0 && marks.every(one => one === null) ? {} : { carry: { reasoning: blocks, calls: marks } }
}

/** Through JSON, so that what is kept is what will be read back. */
const marksOf = (metadata: SharedV3ProviderMetadata | undefined): Json =>
  metadata === undefined ? null : (JSON.parse(JSON.stringify(metadata)) as Json)
