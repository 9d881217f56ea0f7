import { isObject, type Json, own } from '../core/json.js'
import { suggestion } from '../core/schema/suggest.js'
import type { Kind } from './settings.js'

/** Settings that have parts: each reader takes one value, or says what is wrong with it and takes none. */
export type Read<T> = (raw: Json, setting: string, to: Reading) => T | undefined

export type Reading = {
  /** The file that is read, for messages. */
  readonly file: string
  /** The folder that relative paths start from. */
  readonly folder: string
  readonly problems: string[]
}

const QUOTED = 80

/** `hide` keeps the value out of the message: it may be, or hold, a secret. */
export const refuseValue = (raw: Json, setting: string, to: Reading, allowed: string, hide = false): undefined => {
  const text = JSON.stringify(raw)
  const shown = hide ? 'the value' : text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text
  to.problems.push(`${setting}: ${shown} (from ${to.file}) is not allowed; use ${allowed}`)
  return undefined
}

/** One value, as a flat setting would be read. */
export const one =
  <T>({ parse, allowed }: Kind, hide = false): Read<T> =>
  (raw, setting, to) =>
    (parse(raw) as T | undefined) ?? refuseValue(raw, setting, to, allowed, hide)

type Parts = { readonly [name: string]: Read<unknown> }
type Taken<P extends Parts> = { readonly [Name in keyof P]?: Exclude<ReturnType<P[Name]>, undefined> }

/** An object with these parts and no others, each of which may be left out. */
export const parts =
  <const P extends Parts>(known: P): Read<Taken<P>> =>
  (raw, setting, to) => {
    if (!isObject(raw)) return noObject(setting, to)
    const taken = Object.entries(raw).flatMap(([name, value]): [string, unknown][] => {
      const read = own(known, name)
      if (read === undefined) {
        const full = (part: string) => `${setting}.${part}`
        const hint = suggestion(full(name), Object.keys(known).map(full), 'settings')
        to.problems.push(`${full(name)}: (from ${to.file}) is not a setting${hint}`)
        return []
      }
      const item = read(value, `${setting}.${name}`, to)
      return item === undefined ? [] : [[name, item]]
    })
    return Object.fromEntries(taken) as Taken<P>
  }

/** An object whose names the operator chose. `read` is told the name too. */
export const named =
  <T>(
    pattern: RegExp,
    allowed: string,
    read: (raw: Json, setting: string, to: Reading, name: string) => T | undefined,
  ): Read<{ readonly [name: string]: T }> =>
  (raw, setting, to) => {
    if (!isObject(raw)) return noObject(setting, to)
    const taken = Object.entries(raw).flatMap(([name, value]): [string, T][] => {
      if (!pattern.test(name)) {
        to.problems.push(
          `${setting}: the name ${JSON.stringify(name)} (from ${to.file}) is not allowed; use ${allowed}`,
        )
        return []
      }
      const item = read(value, `${setting}.${name}`, to, name)
      return item === undefined ? [] : [[name, item]]
    })
    return Object.fromEntries(taken)
  }

const MOST_ITEMS = 1000

export const list =
  <T>(read: Read<T>): Read<readonly T[]> =>
  (raw, setting, to) => {
    if (!Array.isArray(raw) || raw.length > MOST_ITEMS)
      return refuseValue(raw, setting, to, `a list of at most ${MOST_ITEMS} items`, true)
    return raw.flatMap((item: Json, i) => {
      const value = read(item, `${setting}[${i}]`, to)
      return value === undefined ? [] : [value]
    })
  }

function noObject(setting: string, { file, problems }: Reading): undefined {
  problems.push(`${setting}: (from ${file}) must be an object of settings`)
  return undefined
}
