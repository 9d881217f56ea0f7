import { MASK } from './run/redaction.js'

/**
 * Texts that are shaped like a credential, wherever they stand. Whoever wrote the text must not be able to make this slow: what
 * repeats is bounded, or cannot begin again within itself.
 */
const SHAPES: readonly string[] = [
  String.raw`\bbearer\s+[A-Za-z0-9._~+/=-]{8,}`,
  // "Basic" is also a plain word: after it, only what has a digit or padding is taken for a credential.
  String.raw`\bbasic\s+(?=[A-Za-z+/]{0,100}[0-9=])[A-Za-z0-9._~+/=-]{8,}`,
  String.raw`(?<=\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?)basic\s+[A-Za-z0-9._~+/=-]{8,}`,
  String.raw`\bask_[A-Za-z0-9_-]{20,}`,
  String.raw`\b(?:hk|sk|pk|rk|whsec|ghp|gho|ghs|ghu|github_pat|glpat|xox[abeprs]|pypi)[-_][A-Za-z0-9_-]{8,}`,
  String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{12,}`,
  String.raw`\bAIza[A-Za-z0-9_-]{20,}`,
  String.raw`(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`,
  String.raw`-----BEGIN [A-Z ]{1,40}-----[\s\S]*?(?:-----END [A-Z ]{1,40}-----|$)`,
  String.raw`(?<=://)[^\s/@]{1,200}:[^\s/@]{1,200}(?=@)`,
]

/** What is named as one, whatever it looks like: also "token: 12", and so not for texts that must stay what they are. */
const NAMED = String.raw`(?<=\b(?:api[-_ ]?key|access[-_ ]?key|token|secret|password|passwd|credential)s?["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',;}]{4,}`

const LOOKS_LIKE_ONE = new RegExp(SHAPES.join('|'), 'gi')
const COULD_BE_ONE = new RegExp([...SHAPES, NAMED].join('|'), 'gi')

/** No credential is shorter. */
const SHORTEST_CREDENTIAL = 10

/** The text without what is shaped like a credential. */
export const withoutCredentials = (text: string): string => masked(text, LOOKS_LIKE_ONE)

/** The same, and without what is only called one: for what leaves the house. */
export const withoutAnyCredential = (text: string): string => masked(text, COULD_BE_ONE)

const masked = (text: string, pattern: RegExp): string =>
  text.length < SHORTEST_CREDENTIAL ? text : text.replace(pattern, MASK)
