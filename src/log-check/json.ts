import type { Fields } from './checked.js'

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fields = (value: unknown): Fields => (isFields(value) ? value : {})

/** Own properties only: user-chosen names such as `constructor` are data. */
export const get = (value: unknown, key: string): unknown =>
  isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

/** Structural equality; a property that is undefined equals one that is absent, as it does once written as JSON. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b) || a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]))
  if (!isFields(a) || !isFields(b)) return false
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every(key => same(get(a, key), get(b, key)))
}

export const show = (value: unknown): string => {
  const rendered = JSON.stringify(value) ?? 'nothing'
  return rendered.length > 120 ? `${rendered.slice(0, 117)}…` : rendered
}
