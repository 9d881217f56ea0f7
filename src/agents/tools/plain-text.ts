import type { Redactor } from '../../secrets/secrets.js'

/** No secret is longer; a key file in PEM is about 3 kB. Tools read so much more than is told, to be looked at here. */
export const LONGEST_SECRET = 16 * 1024

/**
 * What of a tool's words is told: no control characters, no secret that this host knows, and no more than `maxBytes`,
 * with a note at the end when something is missing.
 */
export function plainText(
  said: string,
  { maxBytes, redact, truncated = false }: { maxBytes: number; redact: Redactor; truncated?: boolean },
): string {
  // A result may be far larger than what is kept of it; only what can matter is looked at.
  const window = said.slice(0, maxBytes + LONGEST_SECRET)
  const unfinished = truncated || window.length < said.length
  const clean = redact.text(withoutControls(window))
  // Where the end is missing, the last thing that is there may be the beginning of a secret, which nobody recognises.
  const known = unfinished ? firstBytes(clean, Buffer.byteLength(clean) - LONGEST_SECRET) : clean
  if (!unfinished && Buffer.byteLength(known) <= maxBytes) return wellFormed(known)
  const note = `\n[cut: the result was longer than the ${maxBytes} bytes that are shown]`
  return `${firstBytes(known, maxBytes - note.length)}${note}`
}

/** All but line breaks and tabs: what moves cursors, rings bells or hides text from people. */
export const withoutControls = (text: string): string => text.replace(/\r\n/g, '\n').replace(/[^\P{Cc}\t\n]/gu, '')

/** Halves of surrogate pairs have no bytes of their own. */
const wellFormed = (text: string): string => Buffer.from(text).toString()

function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text)
  let end = Math.max(0, Math.min(limit, bytes.length))
  // Not in the middle of a character: those bytes begin with the bits 10.
  while (end > 0 && end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString()
}
