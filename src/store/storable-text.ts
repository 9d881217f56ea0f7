import { UnstorableText } from '../engine/ports/event-log.js'

const C0 = '\\u0000-\\u001f'
const CONTROL = new RegExp(`[${C0}]`)

/**
 * Throws UnstorableText where a value to be stored, or looked up, holds a control character anywhere (S11). Contents are
 * JSON, in which these are escaped, so that one can only stand in a name.
 */
export function refuseControls(value: unknown): void {
  if (typeof value === 'string') {
    if (CONTROL.test(value)) throw new UnstorableText()
  } else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const name in value) refuseControls((value as Record<string, unknown>)[name])
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
