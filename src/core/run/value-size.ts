import type { Json } from '../json.js'

/** The largest value a node may give, or write in one go, as JSON text. */
export const MAX_VALUE_BYTES = 1_048_576

/** The largest that a node may write in one go, all its values and those they replace together. */
export const MAX_STEP_BYTES = 8 * MAX_VALUE_BYTES

/** Whether the value's JSON is longer than `limit`. */
export const isTooLarge = (value: Json, limit: number = MAX_VALUE_BYTES): boolean => sizeUpTo(value, limit) > limit

/** About how long the value's JSON is; looks no further than beyond `limit`, and never recurses. */
export function sizeUpTo(value: Json, limit: number): number {
  let size = 0
  const queue: Json[] = [value]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (typeof next === 'string') size += next.length + 3
    else if (typeof next !== 'object' || next === null) size += 6
    else if (Array.isArray(next)) {
      size += next.length + 2
      for (const item of next) queue.push(item)
    } else {
      for (const [key, item] of Object.entries(next)) {
        size += key.length + 4
        queue.push(item)
      }
    }
    if (size > limit) return size
  }
  return size
}
