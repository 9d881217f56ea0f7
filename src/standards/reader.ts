import { isObject, type Json, type JsonObject, own } from '../core/json.js'
import { suggestion } from '../core/schema/suggest.js'

/** Takes a value that a person wrote, or says what is wrong with it and takes none. Never throws. */
export type Read<T> = (raw: Json, field: string, problems: string[]) => T | undefined

type Document<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] }

const MAX_BYTES = 64 * 1024
const MAX_DEPTH = 64
/** More than anybody mends in one go. */
const MOST_TOLD = 20
const QUOTED = 64

/** Reads one whole document, within limits that keep every reader's own recursion short. */
export function readWhole<T>(raw: Json, read: Read<T>): Document<T> {
  if (isDeeper(raw, MAX_DEPTH)) return { ok: false, problems: [`the document nests deeper than ${MAX_DEPTH} levels`] }
  const bytes = new TextEncoder().encode(JSON.stringify(raw)).length
  if (bytes > MAX_BYTES)
    return {
      ok: false,
      problems: [`the document takes ${bytes} bytes; at most ${MAX_BYTES} are allowed, so shorten it`],
    }
  const problems: string[] = []
  const value = read(raw, '', problems)
  if (value !== undefined && problems.length === 0) return { ok: true, value }
  return { ok: false, problems: problems.slice(0, MOST_TOLD) }
}

const isDeeper = (value: Json, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some(inner => isDeeper(inner, levels - 1)))

const inside = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`)

/** The value as a message quotes it. */
function shown(raw: Json): string {
  if (Array.isArray(raw)) return `a list of ${raw.length}`
  if (isObject(raw)) return 'an object'
  if (typeof raw === 'string' && raw.length > QUOTED) return `${raw.length} characters`
  return JSON.stringify(raw)
}

function not(raw: Json, field: string, problems: string[], wanted: string): undefined {
  problems.push(`${field === '' ? 'the document' : field} must be ${wanted}; got ${shown(raw)}`)
  return undefined
}

const when =
  <T extends Json>(isIt: (raw: Json) => boolean, wanted: string): Read<T> =>
  (raw, field, problems) =>
    isIt(raw) ? (raw as T) : not(raw, field, problems, wanted)

export const text = (most: number): Read<string> =>
  when(
    raw => typeof raw === 'string' && /\S/.test(raw) && raw.length <= most,
    `text that is not blank, of at most ${most} characters`,
  )

export const matching = (pattern: RegExp, what: string): Read<string> =>
  when(raw => typeof raw === 'string' && pattern.test(raw), `${what} (${pattern.source})`)

export const flag: Read<boolean> = when(raw => typeof raw === 'boolean', 'true or false')

export const anyNumber: Read<number> = when(raw => Number.isFinite(raw), 'a number')

export const between = (min: number, max: number): Read<number> =>
  when(raw => Number.isFinite(raw) && Number(raw) >= min && Number(raw) <= max, `a number from ${min} to ${max}`)

export const positive = (max: number): Read<number> =>
  when(raw => Number.isFinite(raw) && Number(raw) > 0 && Number(raw) <= max, `a number above 0, of at most ${max}`)

export const whole = (min: number, max: number): Read<number> =>
  when(
    raw => Number.isSafeInteger(raw) && Number(raw) >= min && Number(raw) <= max,
    `a whole number from ${min} to ${max}`,
  )

export const oneOf = <const V extends string>(...values: readonly V[]): Read<V> =>
  when(raw => values.some(value => value === raw), values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`)

export const anything: Read<Json> = raw => raw

export const anyObject: Read<JsonObject> = when(isObject, 'an object')

/** An address without user name and password: those would be a secret written down, so it is not repeated either. */
export const webAddress: Read<string> = (raw, field, problems) => {
  if (typeof raw === 'string' && raw.length <= 2048 && URL.canParse(raw)) {
    const { protocol, username, password } = new URL(raw)
    if (/^https?:$/.test(protocol) && username === '' && password === '') return raw
  }
  problems.push(
    `${field} must be an http:// or https:// address of at most 2048 characters, without user name and password`,
  )
  return undefined
}

export const list =
  <T>(read: Read<T>, least: number, most: number): Read<readonly T[]> =>
  (raw, field, problems) => {
    if (!Array.isArray(raw) || raw.length < least || raw.length > most)
      return not(raw as Json, field, problems, `a list of ${least} to ${most} items`)
    const items = raw.flatMap((item: Json, i) => read(item, `${field}[${i}]`, problems) ?? [])
    return items.length === raw.length ? items : undefined
  }

/** A list in which nothing stands twice. `of` says what tells two items apart. */
export const distinct = <T>(read: Read<readonly T[]>, of: (item: T) => string, name?: string): Read<readonly T[]> =>
  refined(read, (items, field, problems) => {
    items.forEach((item, i) => {
      const first = items.findIndex(other => of(other) === of(item))
      const place = name === undefined ? `${field}[${i}]` : `${field}[${i}].${name}`
      if (first < i) problems.push(`${place} ${shown(of(item))} is already at ${field}[${first}]; give each once`)
    })
    return items
  })

/** Reads, then goes on with what was read: further rules, and what follows from several parts together. */
export const refined =
  <A, B>(read: Read<A>, go: (value: A, field: string, problems: string[]) => B | undefined): Read<B> =>
  (raw, field, problems) => {
    const before = problems.length
    const value = read(raw, field, problems)
    if (value === undefined) return undefined
    const refinedValue = go(value, field, problems)
    return problems.length > before ? undefined : refinedValue
  }

type Must<T> = { readonly need: 'must'; readonly read: Read<T> }
type May<T> = { readonly need: 'may'; readonly read: Read<T> }
type Else<T> = { readonly need: 'else'; readonly read: Read<T>; readonly otherwise: T }

export const must = <T>(read: Read<T>): Must<T> => ({ need: 'must', read })
export const may = <T>(read: Read<T>): May<T> => ({ need: 'may', read })
export const orElse = <T>(read: Read<T>, otherwise: T): Else<T> => ({ need: 'else', read, otherwise })

type Field<T = unknown> = Must<T> | May<T> | Else<T>
type Fields = { readonly [name: string]: Field }
type Value<F> = F extends { readonly read: Read<infer T> } ? T : never
type Taken<F extends Fields> = {
  readonly [N in keyof F as F[N] extends { need: 'may' } ? never : N]: Value<F[N]>
} & {
  readonly [N in keyof F as F[N] extends { need: 'may' } ? N : never]?: Value<F[N]>
}

/** An object with these fields and no others. */
export const object =
  <const F extends Fields>(fields: F): Read<Taken<F>> =>
  (raw, field, problems) => {
    if (!isObject(raw)) return not(raw, field, problems, 'an object')
    const before = problems.length
    for (const name of Object.keys(raw))
      if (own(fields, name) === undefined) problems.push(unknownField(field, name, Object.keys(fields)))
    const taken = Object.entries(fields).flatMap(([name, wanted]): [string, unknown][] => {
      const given = own(raw, name)
      if (given !== undefined) return [[name, wanted.read(given, inside(field, name), problems)]]
      if (wanted.need === 'must') problems.push(`${inside(field, name)} is required; add it`)
      return wanted.need === 'else' ? [[name, wanted.otherwise]] : []
    })
    return problems.length > before ? undefined : (Object.fromEntries(taken) as Taken<F>)
  }

function unknownField(field: string, name: string, known: readonly string[]): string {
  const short = name.length > QUOTED ? `${name.slice(0, QUOTED)}…` : name
  return `${inside(field, short)} is not a known field${suggestion(short, known, 'known fields')}`
}
