import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { fileTooLarge } from '../../core/journal/refusals.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { refused } from '../../engine/journal/desk.js'
import type { ReceivedFile } from '../../engine/journal/upload.js'
import { lacksScope, NOBODY } from '../auth/authenticator.js'
import type { Edge } from '../deps.js'
import { readForm } from './form-body.js'
import { RawBody, type UnreadBody } from './raw-body.js'
import { takeTurn } from './turn.js'

/**
 * Reads a body that is no JSON: its bytes, or a form with files, into `request.body` and `request.uploads`. Of a long file no
 * more than a few pieces are held; they are stored as they come. What is refused is not read on, but let run out, so that
 * whoever sends it gets the answer.
 */
export async function receiveBody(edge: Edge, request: FastifyRequest, body: UnreadBody): Promise<Refusal | undefined> {
  const { isForm, limit, bytes } = body
  const announced = request.headers['content-length']
  const size = announced === undefined ? undefined : Number(announced)
  const tooLarge = isForm ? formTooLarge : fileTooLarge
  const refusal =
    size !== undefined && size > limit
      ? tooLarge(size, limit)
      : await (isForm ? receiveForm : receiveBytes)(edge, request, body, sent =>
          size !== undefined && size !== sent ? WRONG_LENGTH : undefined,
        )
  if (refusal) bytes.resume()
  return refusal
}

/** What was stored of files that nothing was made of goes. */
export async function dropBody({ workspace, log }: Edge, { body, uploads, caller }: FastifyRequest): Promise<void> {
  const files = [...(body instanceof RawBody ? [body] : []), ...(uploads ?? [])].map(({ file }) => file)
  try {
    for (const file of files) await workspace.drop((caller ?? NOBODY).tenant, file)
  } catch (error) {
    log.warn({ err: error }, 'what came of a file that was not written is still stored; it is collected later')
  }
}

type Ended = (sent: number) => Refusal | undefined

async function receiveBytes(
  edge: Edge,
  request: FastifyRequest,
  { bytes, limit, contentType }: UnreadBody,
  ended: Ended,
): Promise<Refusal | undefined> {
  const { tenant } = request.caller ?? NOBODY
  const found = await edge.workspace.receive(tenant, chunksOf(bytes), { maxFileBytes: limit })
  if (!found.ok) return found.refusal
  request.body = new RawBody(found.value, contentType)
  await inTurn(edge, tenant, found.value)
  return ended(found.value.sent)
}

/** Text and JSON are held, as they are in a body that is JSON, and so is what is as short; other files are not. */
async function receiveForm(
  edge: Edge,
  request: FastifyRequest,
  { bytes, limit, contentType }: UnreadBody,
  ended: Ended,
): Promise<Refusal | undefined> {
  const { limits, workspace } = edge.config
  const { tenant, scopes } = request.caller ?? NOBODY
  const notInPieces = (name: string) => {
    if (workspace.enabled) return scopes.has('workspace:write') ? undefined : lacksScope('workspace:write')
    return noPlace(name)
  }
  const { uploads, ...form } = await readForm(chunksOf(bytes), contentType, limits, {
    wrongWith: sent => (sent > limit ? formTooLarge(sent, limit) : undefined),
    ended,
    receive: async (name, file) => {
      const found = await edge.workspace.receive(tenant, chunksOf(file), {
        maxFileBytes: Math.max(workspace.maxFileBytes, limits.maxRequestBodyBytes),
        wholeUpTo: limits.maxRequestBodyBytes,
        notInPieces: notInPieces(name),
      })
      return found.ok ? found : refused(forInput(name, found.refusal))
    },
  })
  request.uploads = uploads
  if ('refusal' in form) return form.refusal
  request.body = form.body
  for (const { file } of uploads) await inTurn(edge, tenant, file)
  return undefined
}

/** It is not destroyed when its reader leaves: that would end the connection. */
const chunksOf = (stream: Readable): AsyncIterable<Buffer> =>
  stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>

/** For what is held; what is in pieces was stored in turns. */
const inTurn = ({ turns }: Edge, tenant: string, { whole }: ReceivedFile) => takeTurn(turns, tenant, whole?.length ?? 0)

/** Which of the files of a form it is that is refused. */
export const forInput = (name: string, refusal: Refusal): Refusal => ({
  ...refusal,
  message: `For input ${JSON.stringify(name.slice(0, 64))}: ${refusal.message}`,
})

export const noPlace = (name: string): Refusal =>
  refuse(
    'capability_not_provided',
    `The file for input ${JSON.stringify(name.slice(0, 64))} is no text, or is too long for a value, and this host has no workspace to keep it in (workspace.enabled); send short text or JSON.`,
    { setting: 'workspace.enabled' },
  )

const formTooLarge = (size: number, limit: number): Refusal =>
  refuse(
    'payload_too_large',
    `The form has ${size} bytes or more; one may have ${limit}, which is what workspace.maxFileBytes and limits.maxRequestBodyBytes come to. Send fewer or smaller files, or put them into the workspace one by one.`,
    { limit, size },
  )

const WRONG_LENGTH = refuse('validation_error', 'Content-Length does not match the body that was sent.')
