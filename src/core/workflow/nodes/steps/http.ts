import { isObject } from '../../../json.js'
import { Closed, May, Milliseconds, OneOf, WebAddress } from '../../../schema/kinds.js'
import { completed, type NodeType } from '../../node-type.js'
import { LinesOrSecrets, ofProjectOnly } from '../../own-effects.js'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const READING: readonly unknown[] = ['GET', 'HEAD']

/** Made by the host for each request. */
const OWN_HEADERS: readonly string[] = [
  'connection',
  'content-length',
  'host',
  'idempotency-key',
  'traceparent',
  'transfer-encoding',
]

export const httpNode = {
  typeId: 'core.http',
  about:
    'Makes one HTTP request, its input `body` as its body: text as it is, anything else as JSON. The outputs are `status`, `contentType` and `body`, which is JSON where the answer says so, and `truncated` where the answer was longer than 256 KiB. The request carries an `Idempotency-Key` that is the same however often it is sent. Redirects are not followed, and an answer that is no 2xx fails the node; what a server may do better later (408, 425, 429, 5xx, no answer) is tried again as `settings.maxRetries` says.',
  config: Closed({
    method: OneOf(METHODS, { description: 'What to do' }),
    url: WebAddress({
      description: 'With whom: an https:// address on the public internet, unless `steps.allowPrivate` says otherwise',
    }),
    headers: May(
      LinesOrSecrets(
        /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/,
        'the name of a header',
        'Headers by name: a line of text, or, in workflows of the project, where a secret is',
      ),
    ),
    repeat: May(
      OneOf(['safe', 'keyed', 'never'], {
        description:
          'What becomes of a request of which nobody knows what came: `never` is not sent again and fails the node; `keyed` is, for a receiver that knows an Idempotency-Key. GET and HEAD are `safe`, all others `keyed`, where nothing is said',
      }),
    ),
    timeoutMs: May(Milliseconds(1, 600_000, { description: 'How long the answer may take', default: 30_000 })),
  }),
  check({ config: { headers, method }, inputs }, permit) {
    const given = isObject(headers) ? headers : {}
    const own = Object.keys(given).filter(name => OWN_HEADERS.includes(name.toLowerCase()))
    return [
      ...own.map(name => `config.headers.${name} is set by the host for each request; leave it out`),
      ...(Object.values(given).some(isObject) ? ofProjectOnly(permit, 'a secret in config.headers') : []),
      ...(READING.includes(method) && 'body' in inputs ? [`inputs.body is not sent with ${String(method)}`] : []),
    ]
  },
  start: ({ config: { method, url, headers, repeat, timeoutMs }, inputs, ordinal }) => ({
    kind: 'waiting',
    wait: {
      kind: 'effect',
      provider: 'core.http',
      input: {
        method: method ?? 'GET',
        url: url ?? '',
        headers: headers ?? {},
        timeoutMs: timeoutMs ?? 30_000,
        ...(inputs.body === undefined ? {} : { body: inputs.body }),
      },
      ordinal,
      repeat:
        repeat === 'safe' || repeat === 'keyed' || repeat === 'never'
          ? repeat
          : READING.includes(method)
            ? 'safe'
            : 'keyed',
    },
  }),
  settle: (_ctx, _wait, outcome) =>
    completed(outcome.kind === 'answer' && isObject(outcome.output) ? outcome.output : {}),
} as const satisfies NodeType
