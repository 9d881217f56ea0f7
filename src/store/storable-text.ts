import { UnstorableText } from '../engine/ports/event-log.js'

/** Throws UnstorableText where a value to be stored, or looked up, holds a NUL anywhere (S11). */
export function refuseNul(value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw new UnstorableText()
  } else if (typeof value === 'object' && value !== null) {
    for (const name in value) refuseNul((value as Record<string, unknown>)[name])
  }
}

/** What a look-up comes to; nothing where it was by a text that cannot be stored. */
export async function foundBy<T>(lookUp: () => Promise<T>, nothing: T): Promise<T> {
  try {
    return await lookUp()
  } catch (error) {
    if (error instanceof UnstorableText) return nothing
    throw error
  }
}
