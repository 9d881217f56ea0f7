import { sha256 } from '../digest.js'

/**
 * The W3C trace context that an effect is sent under (R-XHOST-8). It is made of the effect's identity alone, so a
 * repetition after a crash is seen as part of the same trace, and nothing of tenant or run can be read from it.
 */
export function traceparentOf(effectId: string): string {
  const hash = sha256(effectId)
  return `00-${hash.slice(0, 32)}-${hash.slice(32, 48)}-01`
}
