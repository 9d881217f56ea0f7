import type { ToolCode } from '../../../core/invocation/tool-codes.js'
import type { EgressAnswer, EgressFailure } from '../../../egress/egress.js'
import type { ToolCall, ToolSaid } from '../host-tool.js'
import { termsOf } from '../terms.js'
import { allowedUrl, readPrefix } from './allowed-url.js'
import type { Builtin } from './builtins.js'

const TOOL_ID = 'assay:http.get'

/** Fetches a page from where the operator allows. A redirect is told, not followed: it may lead anywhere. */
export const httpGet: Builtin = ({ settings, egress }) => {
  const prefixes = settings.httpAllow.map(text => readPrefix(text))
  const allowed = prefixes.filter(prefix => prefix !== undefined)

  async function invoke({ args, traceparent, signal, timeoutMs, maxBytes }: ToolCall): Promise<ToolSaid> {
    const url = allowedUrl(String(args.url), allowed)
    if (url === undefined) return refused('this URL is not one that the operator allows')
    const answer = await egress.send({
      method: 'GET',
      url,
      // Nothing is decompressed, so that a small answer cannot become a large one.
      headers: { accept: 'text/*, application/json, */*;q=0.1', 'accept-encoding': 'identity', traceparent },
      timeoutMs,
      maxResponseBytes: maxBytes,
      signal,
    })
    return saidOf(answer)
  }

  return {
    tool: {
      shown: {
        terms: termsOf(TOOL_ID, 'http', { repeat: 'safe' }, settings.rules),
        title: 'Fetch a URL',
        description:
          'Fetches a text from a URL with an HTTP GET request. Only URLs that the operator allows can be fetched.',
        inputSchema: {
          type: 'object',
          properties: { url: { type: 'string', minLength: 1, maxLength: 2048, description: 'An absolute URL' } },
          required: ['url'],
          additionalProperties: false,
        },
        safetyTier: 'read',
        source: 'host-extension',
      },
      invoke,
    },
    problems: settings.httpAllow
      .filter((_, index) => prefixes[index] === undefined)
      .map(text => `${TOOL_ID}: ${JSON.stringify(text)} is not a URL prefix`),
  }
}

const refused = (text: string): ToolSaid => ({ ok: false, code: 'tool_refused', text })

function saidOf(answer: EgressAnswer): ToolSaid {
  if (!answer.ok) return failureOf(answer)
  const { status, truncated } = answer
  const [type = ''] = one(answer.headers['content-type']).split(';')
  const head = `HTTP ${status}${type === '' ? '' : ` ${type.trim()}`}`
  if (status >= 300 && status < 400) {
    return { ok: false, code: 'tool_failed', text: `${head}, not followed: ${one(answer.headers.location)}` }
  }
  const text = `${head}\n\n${bodyOf(answer.body, type.trim(), one(answer.headers['content-encoding']))}`
  return status >= 200 && status < 300
    ? { ok: true, text, truncated }
    : { ok: false, code: 'tool_failed', text, truncated }
}

const failureOf = ({ code, message }: EgressFailure): ToolSaid => ({ ok: false, code: CODES[code], text: message })

const CODES: { readonly [Code in EgressFailure['code']]: ToolCode } = {
  'malformed-url': 'tool_refused',
  'refused-url': 'tool_refused',
  'blocked-address': 'tool_refused',
  unresolvable: 'tool_unavailable',
  'connect-failed': 'tool_unavailable',
  'tls-failed': 'tool_unavailable',
  timeout: 'tool_timeout',
  aborted: 'tool_cancelled',
  'connection-lost': 'tool_connection_lost',
  'bad-response': 'tool_result_invalid',
  'too-large': 'tool_result_too_large',
}

const TEXTUAL = /^(?:text\/|application\/(?:.+\+)?(?:json|xml|yaml|javascript|x-ndjson)$)/i

/** The text, or a note in its place. */
function bodyOf(body: Buffer, type: string, encoding: string): string {
  const plain = encoding === '' || encoding.toLowerCase() === 'identity'
  const textual = type === '' || TEXTUAL.test(type)
  if (!plain || !textual || body.includes(0)) return `[${type === '' ? 'binary' : type}, ${body.length} bytes]`
  return body.toString()
}

const one = (header: string | readonly string[] | undefined): string =>
  typeof header === 'string' ? header : (header?.[0] ?? '')
