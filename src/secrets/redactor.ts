import { withoutCredentials } from '../core/credentials.js'
import type { Json } from '../core/json.js'
import { MASK } from '../core/run/redaction.js'
import { createNeedles, type Needles } from './needles.js'
import { spellingsOf } from './spellings.js'

/** Takes secrets out of what is told, kept or logged (R-EVENT-6, SR-1). Numbers are no secrets, and stay. */
export type Redactor = {
  text(text: string): string
  /** Names of fields are texts too. */
  json<T extends Json>(value: T): T
}

/** What is looked for, and the name it is shown by. */
export type Spellings = readonly (readonly [spelling: string, name: string])[]

export type SecretRegister = {
  readonly redact: Redactor
  /** All that is known now, for whoever redacts elsewhere. */
  spellings(): Spellings
  /** Whether a secret that is known stands in the text; what only looks like a credential is none. */
  holdsKnown(text: string): boolean
  /** From now on `value` is shown as `[REDACTED:name]`. */
  add(name: string, value: string): void
}

/** What lies deeper is not looked at, so it is not shown. */
const DEEPEST = 200

/** Shorter than any secret, so it cannot contain one. */
const PLAINEST = '***'

export function createSecretRegister(): SecretRegister {
  const values = new Set<string>()
  /** By spelling. */
  const names = new Map<string, string>()
  let made: ReturnType<typeof redactorOf> | undefined
  const known = (): ReturnType<typeof redactorOf> => {
    made ??= redactorOf(names)
    return made
  }
  return {
    redact: { text: text => known().redact.text(text), json: value => known().redact.json(value) },
    spellings: () => [...names],
    holdsKnown: text => known().holdsKnown(text),
    add(name, value) {
      // Asked for before every request, while it hardly ever changes.
      if (values.has(value)) return
      values.add(value)
      for (const spelling of spellingsOf(value)) if (!names.has(spelling)) names.set(spelling, name)
      made = undefined
    },
  }
}

/** Takes out these, by spelling, and what is shaped like a credential. */
export function redactorOf(names: ReadonlyMap<string, string>): Pick<SecretRegister, 'redact' | 'holdsKnown'> {
  let needles: Needles | undefined
  const known = (): Needles => {
    needles ??= createNeedles(names)
    return needles
  }
  const isClean = (text: string): boolean => known().find(text).length === 0
  // A secret may be a part of the mask itself, by accident or by design.
  const mask = (...masks: string[]): string => [...masks, MASK].find(isClean) ?? PLAINEST

  const text = (given: string): string => {
    let rest = ''
    let at = 0
    for (const { start, end, label } of known().find(given)) {
      rest += given.slice(at, start) + mask(`[REDACTED:${label}]`)
      at = end
    }
    const redacted = withoutCredentials(rest + given.slice(at))
    // What was cut apart may make up a secret together with the masks: then nothing of it is shown.
    return redacted === given || isClean(redacted) ? redacted : mask()
  }

  const json = (value: Json, depth: number): Json => {
    if (typeof value === 'string') return text(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > DEEPEST) return mask()
    if (Array.isArray(value)) return value.map(item => json(item, depth + 1))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [text(name), json(item, depth + 1)]))
  }

  return {
    redact: { text, json: <T extends Json>(value: T) => json(value, 0) as T },
    holdsKnown: text => !isClean(text),
  }
}
