import { isObject, type Json } from '../../core/json.js'
import type { BrokenRule } from '../../engine/ports/agents.js'
import type { Violation } from '../../engine/ports/schema-checker.js'
import type { Redactor } from '../../secrets/secrets.js'
import { cleanText } from './clean.js'

const MAX_SHOWN = 1_000

/** The rule that `value` breaks, with the part of it that does; `root` is what the whole of it is called. */
export const brokenRule = (
  { steps, rule }: Pick<Violation, 'steps' | 'rule'>,
  value: Json,
  root: string,
): BrokenRule => ({
  field: [root, ...steps].join('.'),
  rule,
  value: JSON.stringify(partOf(value, steps)) ?? 'null',
})

/** As it is kept: redacted as a whole before it is cut, so that no half of a secret is left. */
export function keptRule({ field, rule, value }: BrokenRule, redact: Redactor): BrokenRule {
  const shown = redact.text(cleanText(value))
  return {
    field: redact.text(cleanText(field)),
    rule: redact.text(cleanText(rule)),
    value: shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown,
  }
}

function partOf(value: Json, steps: readonly string[]): Json {
  let part: Json | undefined = value
  for (const step of steps) {
    if (Array.isArray(part)) part = part[Number(step)]
    else if (isObject(part) && Object.hasOwn(part, step)) part = part[step]
    else return null
  }
  return part ?? null
}
