import type { Readable } from 'node:stream'
import { type Refusal, refuse } from '../../core/problem.js'
import { Refused } from '../http-answer.js'

/** A body that is no JSON: bytes of whatever type the sender says. */
export class RawBody {
  constructor(
    readonly bytes: Buffer,
    readonly contentType: string,
  ) {}
}

/** What a route says of a body that is too large; `size` is as much as is known of it. */
export type TooLarge = (size: number, limit: number) => Refusal

/** All of it, unless it is more than `limit`: then it is refused as soon as that is known, and no more is kept. */
export async function readBytes(
  stream: Readable,
  declared: string | undefined,
  limit: number,
  tooLarge: TooLarge,
): Promise<Buffer> {
  const announced = Number(declared ?? 0)
  if (announced > limit) throw new Refused(tooLarge(announced, limit))
  // Where its length is known there is one place for all of it, of which no more is taken than comes.
  const whole = declared === undefined ? undefined : Buffer.allocUnsafeSlow(announced)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (size + chunk.length > (whole?.length ?? limit)) {
      if (whole !== undefined) throw new Refused(WRONG_LENGTH)
      throw new Refused(tooLarge(size + chunk.length, limit))
    }
    if (whole !== undefined) chunk.copy(whole, size)
    else chunks.push(chunk)
    size += chunk.length
  }
  if (whole === undefined) return Buffer.concat(chunks, size)
  if (size !== announced) throw new Refused(WRONG_LENGTH)
  return whole
}

const WRONG_LENGTH = refuse('validation_error', 'Content-Length does not match the body that was sent.')
