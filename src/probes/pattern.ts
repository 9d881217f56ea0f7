import { RE2JS } from 're2js'
import { partsOf } from '../core/pattern.js'
import type { Clock } from '../engine/ports/clock.js'

/**
 * Patterns of gates, on the engine that expressions use: its time is linear in the text for any pattern. Linear is not
 * short, and the text is a worker's; so what a search may cost is known before it begins.
 */
export type ProbePattern = {
  /** Where it is first found: -1 for nowhere, undefined when it would take too long to find out. */
  find(text: string): number | undefined
  /** What its first group holds, or all of it where it has none, at each place; undefined as for `find`. */
  all(text: string, clock: Ticking): readonly string[] | undefined
}

/** A clock, as far as it is needed to see that time goes by. */
export type Ticking = Pick<Clock, 'monotonic'>

const MAX_LENGTH = 1_000

/** Steps of the engine: a part of the pattern for a character of the text. So many take about a second. */
const MAX_STEPS = 20_000_000

/** More would take longer to read than any search may. */
const MAX_PARTS = 50_000

/** For all places together, each of which may mean a search to the end of the text. */
const MAX_MS = 1_000

/** Undefined when it cannot be read as a pattern. */
export function readPattern(source: string): ProbePattern | undefined {
  const compiled = compile(source)
  if (compiled === undefined) return undefined
  const isAffordable = (text: string) => compiled.programSize() * text.length <= MAX_STEPS
  return {
    find(text) {
      if (!isAffordable(text)) return undefined
      const matcher = compiled.matcher(text)
      return matcher.find() ? matcher.start() : -1
    },
    all(text, clock) {
      if (!isAffordable(text)) return undefined
      const places: string[] = []
      const began = clock.monotonic()
      const matcher = compiled.matcher(text)
      while (matcher.find()) {
        if (clock.monotonic() - began > MAX_MS) return undefined
        places.push(matcher.group(compiled.groupCount() > 0 ? 1 : 0) ?? '')
      }
      return places
    },
  }
}

function compile(source: string): RE2JS | undefined {
  if (source.length > MAX_LENGTH || partsOf(source) > MAX_PARTS) return undefined
  try {
    return RE2JS.compile(source)
  } catch (error) {
    if (error instanceof Error && error.name.startsWith('RE2JS')) return undefined
    throw error
  }
}
