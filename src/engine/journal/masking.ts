import { isUtf8 } from 'node:buffer'
import { withoutCredentials } from '../../core/credentials.js'
import { type Refusal, refuse } from '../../core/problem.js'

/** Of what is stored in pieces, none is longer. */
export const PIECE_BYTES = 512 * 1024
/** How far is looked beyond the end of a piece, for what begins in it. No secret is as long. */
const AHEAD_BYTES = 128 * 1024
/** Of what is to be masked and cannot be cut. */
const MOST_PIECES_HELD = 4

type Redact = { text(text: string): string }

export const SECRET_INSIDE = refuse(
  'validation_error',
  'The file holds a secret that this host knows, and is no text in which it could be masked; take it out of the file.',
  { field: 'content' },
)

const HALF_TEXT = refuse(
  'validation_error',
  'The file begins as text in which something was to be masked, and goes on as no text; send it as UTF-8, or take out what looks like a credential.',
  { field: 'content' },
)

const ENDLESS = refuse(
  'validation_error',
  `The file holds what looks like a credential and goes on for more than ${PIECE_BYTES * MOST_PIECES_HELD} bytes, such as a BEGIN without its END; end it, or take it out of the file.`,
  { field: 'content' },
)

/**
 * Whether no text holds a known secret. What only looks like a credential is there by chance in enough files, and cannot be
 * masked in them.
 */
export function isSafeAsBytes(redact: Redact, bytes: Buffer): boolean {
  const seen = bytes.toString('latin1')
  return redact.text(seen) === withoutCredentials(seen)
}

/**
 * Takes secrets out of a file that comes bit by bit (R-WS-4), as they would be taken out of the whole of it: text is cut only
 * where masking both sides apart is the same as masking them together, and what is no text is looked at beyond each cut. It holds
 * a piece and what is ahead of it, and where something long is to be masked a few pieces, however long the file is.
 */
export class Masking {
  #held: Buffer[] = []
  #size = 0
  #wanted = PIECE_BYTES + AHEAD_BYTES
  #isText = true
  #hasMasked = false

  constructor(private readonly redact: Redact) {}

  /** Whether all that has come is. */
  get isText(): boolean {
    return this.#isText
  }

  /** What can be told of the file by now, in pieces, or why it cannot be taken. */
  take(bytes: Buffer): readonly Buffer[] | Refusal {
    this.#held.push(bytes)
    this.#size += bytes.length
    const pieces: Buffer[] = []
    while (this.#size >= this.#wanted) {
      const cut = this.#cut()
      if ('code' in cut) return cut
      pieces.push(...cut)
    }
    return pieces
  }

  /** The rest of it. */
  end(): readonly Buffer[] | Refusal {
    const rest = Buffer.concat(this.#held)
    const refusal = this.#lookAt(rest, rest.length)
    if (refusal) return refusal
    return inPieces(this.#isText ? Buffer.from(this.redact.text(rest.toString())) : rest)
  }

  #cut(): readonly Buffer[] | Refusal {
    const window = Buffer.concat(this.#held)
    const whole = endOfText(window, window.length)
    const refusal = this.#lookAt(window, whole)
    if (refusal) return refusal
    if (!this.#isText) return this.#give(window, this.#wanted - AHEAD_BYTES, bytes => bytes)
    const at = endOfText(window, this.#wanted - AHEAD_BYTES)
    const said = window.toString('utf8', 0, whole)
    const masked = this.redact.text(said)
    if (masked === said) return this.#give(window, at, bytes => bytes)
    const [left, right] = [window.toString('utf8', 0, at), window.toString('utf8', at, whole)]
    const first = this.redact.text(left)
    if (first + this.redact.text(right) === masked) {
      this.#hasMasked ||= first !== left
      return this.#give(window, at, () => Buffer.from(first))
    }
    this.#held = [window]
    this.#wanted += PIECE_BYTES
    return this.#wanted > PIECE_BYTES * MOST_PIECES_HELD + AHEAD_BYTES ? ENDLESS : []
  }

  /** Whether it is still text, and if not, whether it can be taken so. */
  #lookAt(window: Buffer, whole: number): Refusal | undefined {
    const text = window.subarray(0, whole)
    if (this.#isText && (text.includes(0) || !isUtf8(text))) {
      this.#isText = false
      if (this.#hasMasked) return HALF_TEXT
    }
    return this.#isText || isSafeAsBytes(this.redact, window) ? undefined : SECRET_INSIDE
  }

  #give(window: Buffer, at: number, said: (bytes: Buffer) => Buffer): readonly Buffer[] {
    // A copy, so that what was given is not held.
    const rest = Buffer.from(window.subarray(at))
    this.#held = [rest]
    this.#size = rest.length
    this.#wanted = PIECE_BYTES + AHEAD_BYTES
    return inPieces(said(window.subarray(0, at)))
  }
}

/** Where the last character before `at` ends that is there as a whole, if it is text. */
function endOfText(bytes: Buffer, at: number): number {
  let start = at
  while (start > 0 && at - start < 4) {
    start -= 1
    const byte = bytes[start] as number
    if ((byte & 0xc0) === 0x80) continue
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    return start + length > at ? start : at
  }
  return at
}

function inPieces(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) pieces.push(bytes.subarray(at, at + PIECE_BYTES))
  return pieces
}
