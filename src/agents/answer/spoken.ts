import type { Usage } from '../../core/invocation/brief.js'
import type { Json } from '../../core/json.js'

/** What a model said, whichever provider it came from, before anybody has judged it. */
export type Spoken = {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly SpokenCall[]
  readonly finish:
    | { readonly kind: 'done' }
    | { readonly kind: 'truncated'; readonly stopReason: 'max_tokens' | 'length' | 'stop_sequence' | 'unknown' }
    | { readonly kind: 'refused'; readonly safetyCategory?: string }
  readonly usage: Usage
  /** See `ThoughtContents`. */
  readonly carry?: Json
}

/** `input` is the text that the model gave as arguments. */
export type SpokenCall = { readonly id: string; readonly name: string; readonly input: string }
