/** What the code around it has made sure of. Throws where that is not so: a bug of the host, never of a caller. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`internal error: no ${what}`)
  return value
}
