import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuse } from '../../core/problem.js'
import { NOBODY } from '../auth/authenticator.js'
import type { Edge } from '../deps.js'
import { Refused } from '../http-answer.js'
import type { Upload } from './form-body.js'
import { parseJsonBody } from './json-body.js'
import { UnreadBody } from './raw-body.js'
import { takeTurn } from './turn.js'

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

const wrongType = (message: string) => new Refused(refuse('unsupported_media_type', message))

/** How bodies are read. Every route takes JSON; other types only those that say so, and these are read by the pipeline. */
export function addBodyParsers(app: FastifyInstance, { config, turns }: Edge): void {
  app.decorateRequest('uploads', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      refuseEncoding(request)
      const charset = /charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
      if (charset !== undefined && charset.toLowerCase() !== 'utf-8') throw wrongType('Request bodies must be UTF-8.')
      await takeTurn(turns, (request.caller ?? NOBODY).tenant, bytes.length)
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
    return new UnreadBody(stream, type, limit, isForm && formBytes !== undefined)
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
