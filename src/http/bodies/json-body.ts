import { isUtf8 } from 'node:buffer'
import { type Refusal, refuse } from '../../core/problem.js'
import { inspectJson, measureJson } from '../../core/untrusted-json.js'
import type { HttpLimits } from '../config.js'

export type ParsedBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly refusal: Refusal }

const bad = (message: string, details?: Refusal['details']): ParsedBody => ({
  ok: false,
  refusal: refuse('validation_error', message, details),
})

/**
 * Parses a JSON body and refuses what later code would have to be careful with: depth that overflows recursion,
 * repeated keys that two readers understand differently, keys that reach a prototype, text that is not Unicode.
 */
export function parseJsonBody(bytes: Buffer, limits: Pick<HttpLimits, 'maxJsonDepth' | 'maxJsonMembers'>): ParsedBody {
  if (bytes.length === 0) return { ok: true, value: undefined }
  if (!isUtf8(bytes)) return bad('The request body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  const { depth, members } = measureJson(text, limits.maxJsonDepth)
  if (depth > limits.maxJsonDepth) {
    const limit = limits.maxJsonDepth
    return bad(`The request body nests deeper than ${limit} levels; flatten it.`, { field: 'body', limit })
  }
  if (members > limits.maxJsonMembers) {
    const limit = limits.maxJsonMembers
    return bad(`The request body has more than ${limit} object members; send less.`, { field: 'body', limit })
  }
  const parsed = parse(text)
  if (!parsed.ok) return parsed
  // Raw lone surrogates are not UTF-8; only an escape can bring one in.
  const found = inspectJson(parsed.value, /\\u[dD]/.test(text))
  if (found.fault !== undefined) return bad(`The request body ${found.fault}.`, { field: 'body' })
  if (found.members !== members) return bad('The request body repeats a key within one object; send each key once.')
  return parsed
}

function parse(text: string): ParsedBody {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return bad('The request body is not valid JSON.')
  }
}
