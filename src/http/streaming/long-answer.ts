import { finished, Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { isObject, type Json } from '../../core/json.js'
import type { TurnTaking } from '../../timing/turns.js'
import type { Edge } from '../deps.js'
import { type HttpAnswer, json } from '../http-answer.js'

/**
 * Answers of any length: rendered as their reader takes them, a part of about `maxTurnBytes` in each turn of the tenant's.
 * None of it waits in memory but the part that is being sent, and what it is rendered from.
 */

/** A document as JSON, whatever its size; what is short is rendered at once, as ever. */
export function longJson(
  { turns, config }: Pick<Edge, 'turns' | 'config'>,
  tenant: string,
  document: object,
  headers?: HttpAnswer['headers'],
): HttpAnswer {
  const most = config.limits.maxTurnBytes
  if (!isLong(document, most)) return json(200, document, headers)
  const pieces = inTurns(jsonPieces(document as Json, most), most, turns, tenant)
  return { status: 200, body: '', pieces, ...(headers && { headers }) }
}

/** Whether a document is about as long as that, or longer. Unlike a value of a run, it may have members that are undefined. */
export function isLong(document: object, most: number): boolean {
  let size = 0
  const queue: unknown[] = [document]
  while (queue.length > 0 && size <= most) {
    const next = queue.pop()
    if (typeof next === 'string') size += next.length + 3
    else if (typeof next !== 'object' || next === null) size += 6
    else if (Array.isArray(next)) {
      size += next.length + 2
      for (const item of next) queue.push(item)
    } else {
      for (const [name, member] of Object.entries(next)) {
        size += name.length + 4
        queue.push(member)
      }
    }
  }
  return size > most
}

/** The text that `JSON.stringify` gives, in pieces: none is much longer than `most`, but for a single text in it. */
export function* jsonPieces(value: Json, most: number): Generator<string> {
  if (typeof value !== 'object' || value === null || !isLong(value, most)) {
    yield JSON.stringify(value)
    return
  }
  let before = ''
  if (isObject(value)) {
    yield '{'
    for (const [name, member] of Object.entries(value)) {
      // What is undefined is not there in JSON.
      if (member === undefined) continue
      yield `${before}${JSON.stringify(name)}:`
      yield* jsonPieces(member, most)
      before = ','
    }
    yield '}'
    return
  }
  yield '['
  for (const item of value) {
    yield before
    yield* jsonPieces(item ?? null, most)
    before = ','
  }
  yield ']'
}

/** The same text in parts of `most` or a little more; between two of them comes everybody else's turn. */
export async function* inTurns(
  pieces: Iterable<string> | AsyncIterable<string>,
  most: number,
  turns: TurnTaking,
  tenant: string,
): AsyncGenerator<string> {
  let part = ''
  for await (const piece of pieces) {
    part += piece
    if (part.length < most) continue
    yield part
    part = ''
    await turns.next(tenant)
  }
  if (part !== '') yield part
}

/** Sends what comes, as fast as it is taken; resolves when it is over, or the reader has left, or was cut off. */
export function sendPieces(reply: FastifyReply, pieces: AsyncIterable<string>, stallMs: number): Promise<void> {
  const { raw } = reply
  raw.setTimeout(stallMs, () => raw.destroy())
  reply.send(Readable.from(pieces, { highWaterMark: 1 }))
  return new Promise(over => finished(raw, () => over()))
}
