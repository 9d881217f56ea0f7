import type { Redactor } from '../../../secrets/secrets.js'
import { fence } from '../fence.js'
import { LONGEST_SECRET, withoutControls } from '../plain-text.js'

/** The last words of a tool server that runs as a child, for whoever looks into why it does not work. */
export type StderrTail = {
  heard(chunk: Buffer): void
  /** Redacted and fenced; undefined while there is none. */
  shown(): { readonly bytes: number; readonly tail: string } | undefined
}

const SHOWN_BYTES = 4 * 1024

/**
 * No secret that this host knows is in what is shown, nor a part of one: what could be the end of a secret whose beginning was
 * forgotten is left out, and so is a last line that is not finished.
 */
export function stderrTail(name: string, redact: Redactor): StderrTail {
  let kept = Buffer.alloc(0)
  let bytes = 0
  return {
    heard(chunk) {
      bytes += chunk.length
      kept = Buffer.concat([kept, chunk.subarray(-(SHOWN_BYTES + LONGEST_SECRET))])
      if (kept.length > SHOWN_BYTES + LONGEST_SECRET) kept = Buffer.from(kept.subarray(-(SHOWN_BYTES + LONGEST_SECRET)))
    },
    shown() {
      if (bytes === 0) return undefined
      const clean = Buffer.from(redact.text(withoutControls(kept.toString('utf8'))))
      const whole = clean.subarray(bytes > kept.length ? LONGEST_SECRET : 0).toString('utf8')
      const lines = whole.slice(0, whole.lastIndexOf('\n') + 1)
      return { bytes, tail: fence(`mcp:${name}`, Buffer.from(lines).subarray(-SHOWN_BYTES).toString('utf8')) }
    },
  }
}
