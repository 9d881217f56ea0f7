import { isObject, type Json } from '../json.js'

/** One string of a JSON text, and whether it names a field; or one number. */
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g
/** More digits than a number keeps, or an exponent: the value would not say what the text says. */
const MOST_DIGITS = 15
/** What is nested deeper is no data that anybody checks, and may be meant to exhaust whoever walks it. */
const DEEPEST = 64

/**
 * What is judged of a tool's words: the value, where they are JSON and say nothing that the value does not, so that
 * checks can point into it; else the words. A field that is named twice has one value for whoever parses it, and two for
 * a model that reads it.
 */
export function toolValue(text: string): Json {
  const value = parsed(text)
  if (typeof value !== 'object' || value === null) return text
  let fields = 0
  for (const [token, isName] of text.matchAll(TOKEN)) {
    if (isName !== undefined) fields += 1
    else if (!token.startsWith('"') && (/[eE]/.test(token) || token.replace(/\D/g, '').length > MOST_DIGITS))
      return text
  }
  return fields === countOf(value) ? value : text
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Fields, at any depth; undefined where there is no end to it. */
function countOf(value: Json): number | undefined {
  let fields = 0
  let level: readonly Json[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return undefined
    for (const item of level) if (isObject(item)) fields += Object.keys(item).length
    level = level.flatMap((item): readonly Json[] =>
      Array.isArray(item) ? item : isObject(item) ? Object.values(item) : [],
    )
  }
  return fields
}
