import { RE2JS } from 're2js'
import type { Meter } from './meter.js'

/**
 * Patterns, on an engine whose time is linear in the text for any of them. Linear is not short: a search takes as many
 * steps as the pattern has parts, times the characters of the text, and to read a pattern takes steps for every part, too.
 * Both are charged before they are begun.
 */
export type Pattern = {
  /** Parts that the engine may look at for each character. */
  readonly size: number
  /** Whether it is found in the text. */
  isIn(text: string): boolean
}

const MAX_PATTERN_LENGTH = 1_000

/** What it takes to read one part of a pattern. */
const STEPS_PER_PART = 200

/** What a search of such a text takes, at most. */
const patternSteps = ({ size }: Pick<Pattern, 'size'>, text: string): number => size * (text.length + 1)

/** True when `pattern` is found in `text`; what that may take is charged before. */
export function matchesPattern(text: string, pattern: string, meter: Meter): boolean {
  if (pattern.length > MAX_PATTERN_LENGTH) return false
  const compiled = readWith(meter, pattern)
  meter.charge(patternSteps(compiled, text))
  return compiled.isIn(text)
}

/** Whoever pays for reading a pattern has it for as long as the meter runs, so that one in a loop is read once. */
function readWith(meter: Meter, source: string): Pattern {
  const known = paid.get(meter) ?? new Map<string, Pattern>()
  paid.set(meter, known)
  const before = known.get(source)
  if (before) return before
  meter.charge(partsOf(source) * STEPS_PER_PART)
  const pattern = compiledPattern(source)
  known.set(source, pattern)
  return pattern
}

const paid = new WeakMap<Meter, Map<string, Pattern>>()

/** Throws when it cannot be read as a pattern. */
function compiledPattern(source: string): Pattern {
  const known = patterns.get(source)
  if (known) return known
  const compiled = RE2JS.compile(source)
  const pattern: Pattern = { size: compiled.programSize(), isIn: text => compiled.test(text) }
  if (patterns.size >= MAX_PATTERNS) patterns.clear()
  patterns.set(source, pattern)
  return pattern
}

/** A cache: what is charged does not depend on it. */
const patterns = new Map<string, Pattern>()
const MAX_PATTERNS = 200

/**
 * About how many parts the pattern will have: a character is one, and what is repeated a counted number of times is there
 * that often. Knows no more of patterns than that, and is never far below what they come to.
 */
export function partsOf(source: string): number {
  /** Parts of the groups that are open, and of what stands last in each. */
  const groups = [{ before: 0, last: 0 }]
  for (let i = 0; i < source.length; i += 1) {
    const group = groups.at(-1)!
    const char = source[i]
    const repeat = char === '{' ? COUNTED.exec(source.slice(i, i + 24)) : null
    if (repeat) {
      group.last *= 2 * Math.max(1, Number(repeat[1]), Number(repeat[2] ?? 0))
      i += repeat[0].length - 1
    } else if (char === '(') groups.push({ before: 0, last: 0 })
    else if (char === ')' && groups.length > 1) {
      const { before, last } = groups.pop()!
      append(groups.at(-1)!, before + last + 2)
    } else if (char === '[') {
      i = endOfClass(source, i)
      append(group, 1)
    } else {
      if (char === '\\') i += 1
      append(group, 1)
    }
  }
  return groups.reduce((sum, { before, last }) => sum + before + last, 2)
}

const COUNTED = /^\{(\d{1,9})(?:,(\d{1,9})?)?\}/

function append(group: { before: number; last: number }, parts: number): void {
  group.before += group.last
  group.last = parts
}

/** Where a class ends; at the end of the pattern, if it is not closed. */
function endOfClass(source: string, start: number): number {
  let i = start + 1
  if (source[i] === '^') i += 1
  if (source[i] === ']') i += 1
  while (i < source.length && source[i] !== ']') i += source[i] === '\\' ? 2 : 1
  return i
}
