import { isObject, type Json, own } from '../../core/json.js'

/** A provider's own words are free text; a run is told one of these or nothing. */
const CATEGORIES: readonly (readonly [category: string, sign: RegExp])[] = [
  ['child-safety', /minor|csam|csae|child/i],
  ['self-harm', /self.?harm|suicide/i],
  ['sexual', /sexual/i],
  ['hate', /hate/i],
  ['harassment', /harassment/i],
  ['violence', /violence/i],
  ['weapons', /weapon|cbrn|chemical|biological|nuclear/i],
  ['cyber', /cyber|malware/i],
  ['jailbreak', /jailbreak|prompt.?injection/i],
  ['privacy', /spii|pii|privacy/i],
  ['copyright', /recitation|copyright|protected_material/i],
  ['dangerous', /dangerous|prohibited|blocklist/i],
]

export type SafetyRefusal = { readonly safetyCategory?: string }

/** The word for what a provider says, if it is one that is known. */
export function safetyRefusalOf(words: string): SafetyRefusal {
  const safetyCategory = CATEGORIES.find(([, sign]) => sign.test(words))?.[0]
  return safetyCategory === undefined ? {} : { safetyCategory }
}

/** Error codes with which providers say that it is the content they will not have. */
const REFUSING = /content.?filter|content.?policy|safety|responsible.?ai|moderation/i

/** An error body that says no to the content, and not to the request. */
export function refusalInError(body: unknown): SafetyRefusal | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : body
  if (!isObject(error)) return undefined
  const inner = isObject(error.innererror) ? error.innererror : {}
  const words = [error.code, error.type, error.status, inner.code].filter(one => typeof one === 'string').join(' ')
  if (!REFUSING.test(words)) return undefined
  return safetyRefusalOf(filtered(inner.content_filter_result ?? error.content_filter_result ?? null) || words)
}

/** A piece of a streamed answer that says no, where the libraries do not look: refusals, filters, blocked prompts. */
export function refusalInChunk(chunk: unknown): SafetyRefusal | undefined {
  if (!isObject(chunk)) return undefined
  const choice = first(chunk.choices)
  const delta = own(choice, 'delta')
  if (isObject(delta) && typeof delta.refusal === 'string' && delta.refusal !== '') return {}
  if (choice.finish_reason === 'content_filter') return safetyRefusalOf(filtered(choice.content_filter_results ?? null))
  const feedback = chunk.promptFeedback
  if (isObject(feedback) && typeof feedback.blockReason === 'string') {
    return safetyRefusalOf(`${blocked(feedback.safetyRatings ?? null)} ${feedback.blockReason}`)
  }
  const candidate = first(chunk.candidates)
  const reason = candidate.finishReason
  if (typeof reason === 'string' && BLOCKING.has(reason)) {
    return safetyRefusalOf(`${blocked(candidate.safetyRatings ?? null)} ${reason}`)
  }
  return undefined
}

const BLOCKING: ReadonlySet<string> = new Set(['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'])

const first = (list: Json | undefined) => {
  const item: Json | undefined = Array.isArray(list) ? list[0] : undefined
  return isObject(item) ? item : {}
}

/** Names of the filters that held something back. */
const filtered = (results: Json): string =>
  isObject(results)
    ? Object.keys(results)
        .filter(name => isObject(results[name]) && (results[name] as { filtered?: Json }).filtered === true)
        .join(' ')
    : ''

const blocked = (ratings: Json): string =>
  Array.isArray(ratings)
    ? ratings.flatMap(rating => (isObject(rating) && rating.blocked === true ? String(rating.category) : [])).join(' ')
    : ''
