import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { Egress, EgressAnswer, EgressCode } from '../egress/egress.js'
import type { Acted, ActingCall, StepActor } from '../engine/ports/performer.js'
import type { Secrets } from '../secrets/secrets.js'
import { cutShort, failedStepWith } from './answers.js'
import { resolvedLines } from './resolved-lines.js'

export type HttpStepDeps = { readonly egress: Pick<Egress, 'send'>; readonly secrets: Secrets }

/** What is beyond is not read. */
const MOST_BYTES = 262_144

/** One request. What is told of the answer has the host's secrets taken out. */
export const createHttpStep = ({ egress, secrets }: HttpStepDeps): StepActor => ({
  async act(call) {
    const { input, id, traceparent, signal } = call
    if (!isObject(input)) return failedStepWith('a request of nothing')
    const { method, url, headers: given = {}, timeoutMs, body } = input
    const named = await resolvedLines(given, 'header', secrets)
    if ('problem' in named) return { ok: false, code: 'secret_missing', message: named.problem, retryable: true }
    const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const answer = await egress.send({
      method: String(method),
      url: String(url),
      headers: {
        accept: 'application/json, text/*, */*;q=0.1',
        ...(body === undefined ? {} : { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' }),
        ...lowerCased(named.lines),
        // Nothing is decompressed, so that a small answer cannot become a large one.
        'accept-encoding': 'identity',
        'idempotency-key': id,
        traceparent,
      },
      ...content,
      timeoutMs: Number(timeoutMs),
      maxResponseBytes: MOST_BYTES,
      signal,
    })
    return toldOf(call, answer, secrets)
  },
})

/** So that what the node says wins over what the host would. */
const lowerCased = (lines: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(lines).map(([name, line]) => [name.toLowerCase(), line]))

/** Nothing was sent, and another try may find it otherwise. */
const NOT_SENT: readonly EgressCode[] = ['unresolvable', 'connect-failed', 'tls-failed']
/** No try would change it. */
const NEVER_SENT: readonly EgressCode[] = ['malformed-url', 'refused-url', 'blocked-address']

/** What a server may do better later. */
const LATER: readonly number[] = [408, 425, 429]

function toldOf(call: ActingCall, answer: EgressAnswer, { redact }: Secrets): Acted {
  if (!answer.ok) {
    const { code, message } = answer
    if (NEVER_SENT.includes(code))
      return failedStepWith(`the request was not sent (${code}): ${message}${ADVICE[code] ?? ''}`)
    if (NOT_SENT.includes(code)) return failedStepWith(`the request was not sent (${code}): ${message}`, true)
    return cutShort(call, `the request was sent and nobody knows what came of it (${code}): ${message}`)
  }
  const { status } = answer
  if (status >= 200 && status < 300) return { ok: true, output: redact.json(outputOf(answer)) }
  if (status >= 300 && status < 400)
    return failedStepWith(`HTTP ${status}: the server sends the request elsewhere, and redirects are not followed`)
  const said = redact.text(excerptOf(answer))
  const message = `HTTP ${status}${said === '' ? '' : `: ${said}`}`
  // The server has answered that it did not do it; 5xx may come after it has.
  if (status >= 500) return cutShort(call, message)
  return failedStepWith(message, LATER.includes(status))
}

const ADVICE: { readonly [Code in EgressCode]?: string } = {
  'blocked-address': '; an operator can allow it with steps.allowPrivate',
  'refused-url': '; for http:// and private addresses an operator can set steps.allowPrivate',
}

type Answered = Extract<EgressAnswer, { ok: true }>

const TEXTUAL = /^(?:text\/|application\/(?:.+\+)?(?:json|xml|yaml|javascript|x-ndjson)$)/i

function outputOf(answer: Answered): JsonObject {
  const { status, truncated } = answer
  const contentType = typeOf(answer)
  const body = bodyOf(answer, contentType)
  return { status, contentType, body, ...(truncated ? { truncated } : {}) }
}

/** JSON as the value, text as it is; what is neither is told by its length. */
function bodyOf({ body, headers, truncated }: Answered, contentType: string): Json {
  if (body.length === 0) return ''
  const encoding = one(headers['content-encoding']).toLowerCase()
  const plain = encoding === '' || encoding === 'identity'
  if (!plain || (contentType !== '' && !TEXTUAL.test(contentType)) || body.includes(0))
    return `[${contentType === '' ? 'binary' : contentType}, ${body.length} bytes]`
  const text = body.toString()
  if (truncated || !/json$/i.test(contentType)) return text
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

const MOST_EXCERPT = 300
const excerptOf = (answer: Answered): string => {
  const body = bodyOf(answer, typeOf(answer))
  const text = (typeof body === 'string' ? body : JSON.stringify(body)).replace(/\s+/g, ' ').trim()
  return text.length > MOST_EXCERPT ? `${text.slice(0, MOST_EXCERPT)}…` : text
}

const typeOf = ({ headers }: Answered): string => (one(headers['content-type']).split(';')[0] as string).trim()

const one = (header: string | readonly string[] | undefined): string =>
  typeof header === 'string' ? header : (header?.[0] ?? '')
