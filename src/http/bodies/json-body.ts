import { isUtf8 } from 'node:buffer'
import { type Refusal, refuse } from '../../core/problem.js'
import { endOfString } from '../../core/repeated-key.js'
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
  const { depth, members } = measure(text, limits.maxJsonDepth)
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
  const found = inspect(parsed.value, /\\u[dD]/.test(text))
  if (found.fault !== undefined) return bad(found.fault, { field: 'body' })
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

/** Nesting depth (no further than just over `maxDepth`) and the number of object members, without parsing. */
function measure(text: string, maxDepth: number): { depth: number; members: number } {
  let depth = 0
  let deepest = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 34: // "
        i = endOfString(text, i)
        break
      case 58: // :
        members++
        break
      case 91: // [
      case 123: // {
        if (++depth > deepest) deepest = depth
        if (deepest > maxDepth) return { depth: deepest, members }
        break
      case 93: // ]
      case 125: // }
        depth--
    }
  }
  return { depth: deepest, members }
}

type Found = { members: number; fault?: string }

/** Counts members as parsed and looks for keys and strings that must not get further. */
function inspect(root: unknown, checkStrings: boolean): Found {
  const found: Found = { members: 0 }
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      if (checkStrings && LONE_SURROGATE.test(value)) found.fault = 'The request body contains a lone surrogate.'
      return
    }
    if (typeof value === 'number' && !Number.isFinite(value))
      found.fault = 'The request body holds a number that is too large; send it as text.'
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const item of value) visit(item)
      return
    }
    for (const key of Object.keys(value)) {
      found.members++
      if (checkStrings) visit(key)
      if (isPoison(key, value)) found.fault = `The request body uses the reserved key ${JSON.stringify(key)}.`
      visit((value as { [key: string]: unknown })[key])
    }
  }
  visit(root)
  return found
}

const LONE_SURROGATE = /\p{Surrogate}/u

function isPoison(key: string, holder: object): boolean {
  if (key === '__proto__') return true
  if (key !== 'constructor') return false
  const value = (holder as { constructor: unknown }).constructor
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
