import { type Refusal, refuse } from '../core/problem.js'
import { MissingContent, StoreUnavailable, UnstorableText } from '../engine/ports/event-log.js'
import { TenantErased } from '../engine/ports/tenants.js'
import type { HttpConfig } from './config.js'
import { Refused } from './http-answer.js'

/** What a thrown value means to a client; undefined for a bug. Nothing of the error's own text gets out. */
export function frameworkRefusal(error: unknown, config: HttpConfig): Refusal | undefined {
  if (error instanceof Refused) return error.refusal
  if (error instanceof StoreUnavailable || nameOf(error) === 'StoreUnavailable') return unavailableAnswer(config)
  if (error instanceof MissingContent)
    return unavailableAnswer(config, 'What had come of the file was deleted meanwhile; send it again.')
  if (error instanceof TenantErased) {
    return refuse('tenant_erased', 'This tenant was erased; nothing more can be made for it. Use another tenant.')
  }
  if (error instanceof UnstorableText) {
    const message =
      'A name in the request holds a control character (U+0000 to U+001F), which no name can; send it without.'
    return refuse('validation_error', message)
  }
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE': {
      const limit = config.limits.maxRequestBodyBytes
      return refuse('payload_too_large', `The request body is over ${limit} bytes; send less.`, { limit })
    }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return refuse('unsupported_media_type', 'Request bodies must be sent as Content-Type: application/json.')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refuse('validation_error', 'Content-Length does not match the body that was sent.')
    case 'FST_ERR_BAD_URL':
      return refuse('validation_error', 'The path is not a valid URL: a percent sign must start a two-digit escape.')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return refuse('not_found', 'A part of the path is longer than any id or token.')
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return refuse('request_timeout', 'The connection closed before the request was complete.')
    default:
      return undefined
  }
}

export const unavailableAnswer = (config: HttpConfig, message = 'The host cannot take this now; try again.'): Refusal =>
  refuse('service_unavailable', message, { retryAfter: config.retryAfterSeconds })

/** Refusals of requests that never became one: Node gives them up while it parses. */
export function connectionRefusal(code: string | undefined): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refuse('headers_too_large', 'The request headers are over the size limit; send fewer or shorter ones.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refuse('request_timeout', 'The request did not arrive in time; send it again.')
    default:
      return refuse('validation_error', 'The bytes received are not a valid HTTP/1.1 request.')
  }
}

const codeOf = (error: unknown): string | undefined => property(error, 'code')
const nameOf = (error: unknown): string | undefined => property(error, 'name')

function property(error: unknown, name: 'code' | 'name'): string | undefined {
  const value = typeof error === 'object' && error !== null ? (error as { [key: string]: unknown })[name] : undefined
  return typeof value === 'string' ? value : undefined
}
