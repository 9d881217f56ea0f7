/** JSON values, and the two ways user-named keys may be touched without ever reaching a prototype. */

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
/** An object of JSON. */
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value stored under a user-chosen key; inherited names such as `constructor` are absent. */
export const own = <T>(record: { readonly [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** A copy of `record` with one user-chosen key set as plain data. */
export const withKey = <T>(
  record: { readonly [key: string]: T },
  key: string,
  value: T,
): { readonly [key: string]: T } =>
  Object.defineProperty({ ...record }, key, { value, enumerable: true, configurable: true, writable: true })

/** Structural equality of JSON values. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
}

/**
 * The value with the keys of every object in UTF-16 order, as RFC 8785 wants it: equal values give equal text. What
 * is undefined is left out, as JSON does. Half a surrogate pair is escaped and not refused.
 */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  // Written out, because an object of sorted entries would put names that look like numbers first.
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`).join(',')}}`
}

/** Follows a dotted path (`output.items.0.name`) through own properties only. */
export function at(value: Json | undefined, path: string): Json | undefined {
  let current: Json | undefined = value
  for (const step of path.split('.')) {
    if (Array.isArray(current)) current = current[Number(step)]
    else if (isObject(current)) current = own(current, step)
    else return undefined
  }
  return current
}

/** How many bytes the text takes in UTF-8. */
export const utf8Length = (text: string): number =>
  text
    .replace(/[\u0080-\u07ff]/g, 'aa')
    .replace(/[\ud800-\udbff][\udc00-\udfff]/g, 'aaaa')
    .replace(/[\u0800-\uffff]/g, 'aaa').length
