import { jsonrepair } from 'jsonrepair'
import type { Json } from '../../core/json.js'
import { hasRepeatedKey } from '../../core/repeated-key.js'
import { objectsIn } from './brace-walker.js'
import { cleanJson } from './clean.js'

export type FoundJson =
  /** The value is clean. */
  | { readonly ok: true; readonly value: Json; readonly recovery?: 'markdown-fence' | 'jsonrepair' | 'brace-walker' }
  /** Says what to mend, to the model. */
  | { readonly ok: false; readonly problem: string }

/**
 * The one JSON value that a text is or holds (contract agents §17, `envelope.recovery.applied`). Where several could be
 * meant none is taken, be they values or a key that is given twice: to choose would be to answer in the model's place.
 */
export function findJson(text: string): FoundJson {
  const trimmed = text.trim()
  if (trimmed === '') return no('The answer was empty')
  const whole = parsed(trimmed)
  if (whole !== undefined) return found(whole)
  const fenced = fencedParts(trimmed)
  const inFences = fenced.flatMap(part => parsed(part) ?? [])
  if (inFences.length > 1) return no('The answer has more than one block of JSON')
  if (inFences[0] !== undefined) return found(inFences[0], 'markdown-fence')
  const repaired = [trimmed, ...(fenced.length === 1 ? fenced : [])].flatMap(part => repair(part) ?? [])[0]
  if (repaired !== undefined) return found(repaired, 'jsonrepair')
  const objects = objectsIn(trimmed).flatMap(part => parsed(part) ?? [])
  if (objects.length > 1) return no('The answer has more than one JSON object')
  if (objects[0] !== undefined) return found(objects[0], 'brace-walker')
  return no('The answer is not JSON')
}

const no = (problem: string): FoundJson => ({ ok: false, problem })

/** With the text it stands in. */
type Parsed = { readonly text: string; readonly value: Json }

function found(parsed: Parsed, recovery?: 'markdown-fence' | 'jsonrepair' | 'brace-walker'): FoundJson {
  if (isDeeperThan(parsed.value, MAX_DEPTH)) return no('The answer is nested too deeply')
  const value = cleanJson(parsed.value)
  // After the cleaning, which could make one name of two.
  if (hasRepeatedKey(parsed.text, value)) return no('The answer gives a key twice within one object')
  return { ok: true, value, ...(recovery === undefined ? undefined : { recovery }) }
}

/** What has more levels breaks whoever walks it by recursion. */
const MAX_DEPTH = 64

function parsed(text: string): Parsed | undefined {
  try {
    return { text, value: JSON.parse(text) as Json }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Contents of code blocks, without the line that names their language. */
const fencedParts = (text: string): readonly string[] =>
  text
    .split('```')
    .filter((_, i) => i % 2 === 1)
    .map(part => part.slice(part.indexOf('\n') + 1).trim())

/** Repairing takes quadratic time where quotes do not pair up, and a model may have been talked into writing those. */
const REPAIRABLE_LENGTH = 64 * 1024
const REPAIRABLE_QUOTES = 4_000
/** All that the library takes for quotes. */
const QUOTES = /["'`\u00b4\u2018-\u201f]/g

/** Only what begins like a structure: of prose the library would make a JSON text, which nobody has said. */
function repair(text: string): Parsed | undefined {
  if (!/^[{[]/.test(text) || text.length > REPAIRABLE_LENGTH) return undefined
  if ((text.match(QUOTES)?.length ?? 0) > REPAIRABLE_QUOTES) return undefined
  try {
    return parsed(jsonrepair(text))
  } catch (error) {
    // It throws errors of its own class, and RangeError on deep nesting: what cannot be repaired is not.
    if (error instanceof Error) return undefined
    throw error
  }
}

export function isDeeperThan(value: Json, limit: number): boolean {
  let level: readonly Json[] = [value]
  for (let depth = 0; depth <= limit; depth += 1) {
    level = level.flatMap(item => (typeof item === 'object' && item !== null ? Object.values(item) : []))
    if (level.length === 0) return false
  }
  return true
}
