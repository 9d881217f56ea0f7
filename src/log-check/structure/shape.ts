import type { Fields } from '../checked.js'
import { isFields } from '../json.js'

/**
 * A payload's fields. `assay` lists optional fields that Assay always writes, `notAssay` those it never does; `closed`
 * admits no others, `assayClosed` not in Assay's own logs.
 */
export type Shape = {
  readonly required?: { readonly [field: string]: Kind }
  readonly optional?: { readonly [field: string]: Kind }
  readonly assay?: readonly string[]
  readonly notAssay?: readonly string[]
  readonly closed?: true
  readonly assayClosed?: true
}

/** What a field's value must be, and the test for it. */
export type Kind = { readonly is: string; readonly holds: (value: unknown) => boolean }

const kind = (is: string, holds: (value: unknown) => boolean): Kind => ({ is, holds })

const isText = (value: unknown): value is string => typeof value === 'string'
const isSha256 = (value: unknown): boolean => isText(value) && /^sha256:[0-9a-f]{64}$/.test(value)
const isWhole = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && Number(value) >= least

export const any = kind('a JSON value', value => value !== undefined)
export const words = kind('a string', isText)
export const filled = kind('a non-empty string', value => isText(value) && value.length > 0)
export const boundedText = (is: string, least: number, most: number): Kind =>
  kind(is, value => isText(value) && value.length >= least && value.length <= most)
export const id = boundedText('a string of 1 to 128 characters', 1, 128)
export const short = boundedText('a string of 1 to 512 characters', 1, 512)
export const name = boundedText('a string of 1 to 256 characters', 1, 256)
export const count = kind('a whole number from 0', value => isWhole(value, 0))
export const positive = kind('a whole number from 1', value => isWhole(value, 1))
export const amount = kind('a number from 0', value => typeof value === 'number' && value >= 0)
export const between = (least: number, most: number): Kind =>
  kind(`a number from ${least} to ${most}`, value => typeof value === 'number' && value >= least && value <= most)
export const share = between(0, 1)
export const boolean = kind('true or false', value => typeof value === 'boolean')
export const object = kind('an object', isFields)
export const texts = kind('a list of strings', value => Array.isArray(value) && value.every(isText))
export const time = kind('an ISO 8601 time', value => isText(value) && Number.isFinite(Date.parse(value)))
export const failure = kind(
  'an error with code and message',
  value => isFields(value) && filled.holds(value.code) && filled.holds(value.message),
)
export const attestation = kind(
  'a SHA-256 checksum with its algorithm, and nothing else',
  value =>
    isFields(value) &&
    value.algorithm === 'sha256' &&
    isText(value.checksum) &&
    /^[0-9a-f]{64}$/.test(value.checksum) &&
    Object.keys(value).length === 2,
)
export const trace = kind(
  'a W3C traceparent of version 00',
  value => isText(value) && /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]$/.test(value),
)
export const hash = kind('64 hexadecimal digits', value => isText(value) && /^[0-9a-f]{64}$/.test(value))
export const sha256 = kind('sha256: and 64 hexadecimal digits', isSha256)
export const hashes = kind(
  'an object of SHA-256 hashes',
  value => isFields(value) && Object.values(value).every(isSha256),
)
export const nothing = kind('null', value => value === null)
export const either = (...kinds: readonly Kind[]): Kind =>
  kind(kinds.map(({ is }) => is).join(' or '), value => kinds.some(({ holds }) => holds(value)))
export const record = (is: string, shape: Shape): Kind =>
  kind(
    is,
    value => isFields(value) && fieldProblems(shape, value, true).length + extraFields(shape, value, true).length === 0,
  )
export const listOf = (items: string, least: number, holds: (item: unknown) => boolean): Kind =>
  kind(`a list of ${items}`, value => Array.isArray(value) && value.length >= least && value.every(holds))
export const optionally =
  (holds: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || holds(value)
export const oneOf = (...values: readonly string[]): Kind =>
  kind(`one of ${values.join(', ')}`, value => isText(value) && values.includes(value))

/** Required fields that are missing and fields of the wrong kind. */
export function fieldProblems(shape: Shape, payload: Fields, assay: boolean): string[] {
  const problems: string[] = []
  const required = shape.required ?? {}
  const promised = assay ? (shape.assay ?? []) : []
  for (const field of [...Object.keys(required), ...promised]) {
    if (!Object.hasOwn(payload, field)) problems.push(`${field} is missing`)
  }
  for (const [field, wanted] of Object.entries({ ...required, ...shape.optional })) {
    if (Object.hasOwn(payload, field) && !wanted.holds(payload[field])) problems.push(`${field} is not ${wanted.is}`)
  }
  return problems
}

export function extraFields(shape: Shape, payload: Fields, assay: boolean): string[] {
  const foreign = assay ? (shape.notAssay ?? []).filter(field => Object.hasOwn(payload, field)) : []
  if (shape.closed !== true && !(assay && shape.assayClosed === true)) return foreign
  const known = new Set([...Object.keys(shape.required ?? {}), ...Object.keys(shape.optional ?? {})])
  return [...foreign, ...Object.keys(payload).filter(field => !known.has(field))]
}
