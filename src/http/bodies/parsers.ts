import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fileTooLarge } from '../../core/journal/refusals.js'
import { refuse } from '../../core/problem.js'
import { NOBODY } from '../auth/authenticator.js'
import type { Edge } from '../deps.js'
import { Refused } from '../http-answer.js'
import { parseForm, type Upload } from './form-body.js'
import { parseJsonBody } from './json-body.js'
import { RawBody, readBytes } from './raw-body.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Files that came with the body; null where none did. */
    uploads: readonly Upload[] | null
  }
  interface FastifyContextConfig {
    /** Bytes of a body that is neither JSON nor a form; none is taken when absent. */
    rawBytes?: number
    /** Bytes of a form with files; none is taken when absent. */
    formBytes?: number
  }
}

/** What it takes to read a byte of a body and to look at what it says, in steps. */
const STEPS_PER_BYTE = 1.5
/** Shorter bodies are read at once. */
const SHORT_BODY = 16 * 1024

const wrongType = (message: string) => new Refused(refuse('unsupported_media_type', message))

/** How bodies are read. Every route takes JSON; other types only those that say so. */
export function addBodyParsers(app: FastifyInstance, { config, turns }: Edge): void {
  const takeTurn = async ({ caller }: FastifyRequest, { length }: Buffer) => {
    if (length < SHORT_BODY) return
    const { tenant } = caller ?? NOBODY
    await turns.room(tenant)
    turns.spent(tenant, length * STEPS_PER_BYTE)
  }
  app.decorateRequest('uploads', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      refuseEncoding(request)
      const charset = /charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
      if (charset !== undefined && charset.toLowerCase() !== 'utf-8') throw wrongType('Request bodies must be UTF-8.')
      await takeTurn(request, bytes)
      const parsed = parseJsonBody(bytes, config.limits)
      if (!parsed.ok) throw new Refused(parsed.refusal)
      return parsed.value
    },
  )
  app.addContentTypeParser('*', async (request: FastifyRequest, stream: FastifyRequest['raw']) => {
    const { rawBytes, formBytes } = request.routeOptions.config
    const type = request.headers['content-type'] ?? 'application/octet-stream'
    const isForm = /^multipart\/form-data\b/i.test(type)
    const limit = isForm ? (formBytes ?? rawBytes) : rawBytes
    if (limit === undefined) throw wrongType(formBytes === undefined ? JSON_ONLY : JSON_OR_FORM)
    refuseEncoding(request)
    const bytes = await readBytes(stream, request.headers['content-length'], limit, (size, most) =>
      isForm && formBytes !== undefined ? formTooLarge(size, most) : fileTooLarge(size, most),
    )
    await takeTurn(request, bytes)
    if (!isForm || formBytes === undefined) return new RawBody(bytes, type)
    const { body, uploads } = await parseForm(bytes, type, config.limits)
    request.uploads = uploads
    return body
  })
}

const JSON_ONLY = 'Request bodies must be sent as Content-Type: application/json.'
const JSON_OR_FORM =
  'Request bodies must be sent as Content-Type: application/json, or as multipart/form-data where files come along.'

function refuseEncoding({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    throw wrongType('Request bodies must not be compressed; leave out Content-Encoding.')
}

const formTooLarge = (size: number, limit: number) =>
  refuse(
    'payload_too_large',
    `The form has ${size} bytes or more; one may have ${limit}, which is what workspace.maxFileBytes and limits.maxRequestBodyBytes come to. Send fewer or smaller files, or put them into the workspace one by one.`,
    { limit, size },
  )
