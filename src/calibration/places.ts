import { isObject, type Json, withKey } from '../core/json.js'

/** Where a value stands in a document: the keys and indices that lead to it. */
export type Path = readonly (string | number)[]
export type ValuePlace = { readonly path: Path; readonly value: Json }

/** Every value of a document, itself first. */
export function placesOf(value: Json, path: Path = []): ValuePlace[] {
  const inner = Array.isArray(value)
    ? value.flatMap((item, i) => placesOf(item, [...path, i]))
    : isObject(value)
      ? Object.entries(value).flatMap(([key, item]) => placesOf(item, [...path, key]))
      : []
  return [{ path, value }, ...inner]
}

/** The document with something else in that place. */
export function putAt(document: Json, [step, ...rest]: Path, value: Json): Json {
  if (step === undefined) return value
  if (Array.isArray(document)) return document.with(Number(step), putAt(document[Number(step)] as Json, rest, value))
  if (isObject(document)) return withKey(document, `${step}`, putAt(document[step] as Json, rest, value))
  return document
}

/** The document without what stands there; the whole of it cannot be taken away. */
export function withoutAt(document: Json, [step, ...rest]: Path): Json {
  if (step === undefined) return document
  const isLast = rest.length === 0
  if (Array.isArray(document)) {
    const index = Number(step)
    return isLast ? document.toSpliced(index, 1) : document.with(index, withoutAt(document[index] as Json, rest))
  }
  if (!isObject(document)) return document
  if (!isLast) return withKey(document, `${step}`, withoutAt(document[step] as Json, rest))
  return Object.fromEntries(Object.entries(document).filter(([key]) => key !== step))
}

/** As a JSON pointer. */
export const pointerOf = (path: Path): string =>
  path.map(step => `/${`${step}`.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('') || 'the whole output'
