/** What the code around it has made sure of. Throws where that is not so: a bug of the host, never of a caller. */
export function present<T>(value: T | undefined, what: string): T {
  return value === undefined ? absent(what) : value
}

/** The same where it is asked for often: `list[index] ?? absent(…)` says what is missing only when it is. */
export function absent(what: string): never {
  throw new Error(`internal error: no ${what}`)
}
