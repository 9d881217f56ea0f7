import { SUMMARY_TOKENS } from '../../core/reasoning.js'
import type { ThinkAsk } from '../../engine/ports/agents.js'
import type { Redactor } from '../../secrets/secrets.js'
import { cleanText } from '../answer/clean.js'

/** So much of the end is held back: a secret that is not longer is seen whole before its beginning is told. */
const HELD = 1024
const STEP = 256
const SUMMARY_CHARACTERS = SUMMARY_TOKENS * 4

export type ModelReasoningFeed = { add(delta: string): void; end(): void }

/**
 * Reasoning as it comes, redacted (A4) and cut to what the run's verbosity allows (R-EVENT-5). A cut is made only where
 * it leaves no secret in two halves.
 */
export function reasoningFeed(
  { verbosity, onReasoning }: Pick<ThinkAsk, 'verbosity' | 'onReasoning'>,
  redact: Redactor,
): ModelReasoningFeed {
  if (onReasoning === undefined || verbosity === 'off') return { add: () => undefined, end: () => undefined }
  let held = ''
  let enough = HELD + STEP
  let room = verbosity === 'summary' ? SUMMARY_CHARACTERS : Number.POSITIVE_INFINITY
  const tell = (text: string) => {
    const part = text.slice(0, room)
    room -= part.length
    if (part !== '') onReasoning(part)
  }
  return {
    add(delta) {
      if (room <= 0) return
      held += cleanText(delta)
      if (held.length < enough) return
      const end = wholeCharacters(held, held.length - HELD)
      const [before, after] = [held.slice(0, end), held.slice(end)]
      const told = redact.text(before)
      if (redact.text(held) === told + redact.text(after)) {
        tell(told)
        held = after
        enough = HELD + STEP
      } else {
        // Looked at again when there is much more, so that the work stays in proportion to the text.
        enough = held.length * 2
      }
    },
    end() {
      tell(redact.text(held))
      held = ''
    },
  }
}

const wholeCharacters = (text: string, end: number): number =>
  /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end
