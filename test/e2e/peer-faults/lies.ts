import type http from 'node:http'
import {
  type Answer,
  ANSWER,
  created,
  discovery,
  document,
  eventOf,
  frame,
  type HostilePeer,
  type Lie,
  type Lies,
  LOG,
  polled,
  type Question,
  RUN,
  streamed,
} from './hostile-peer.js'

/** What becomes of a hand-off on A: the whole of it. */
export type Ending =
  | { readonly is: 'merged'; readonly answer: unknown }
  /** Completed, and nothing that it brought could be merged. */
  | { readonly is: 'empty' }
  | { readonly is: 'failed'; readonly code: string }
  | { readonly is: 'refused'; readonly code: string }
  | { readonly is: 'lost'; readonly first?: string; readonly reason: string; readonly begun: boolean }

export type Case = {
  readonly name: string
  readonly lies: Lies
  readonly ending: Ending
  /** It was silent for a while, and was heard again. */
  readonly heardAgain?: true
  /** No run was asked for at all. */
  readonly unasked?: true
}

const MiB = 1_048_576
/** As much as a hostile answer has, where it is too much. */
export const HUGE = 100 * MiB

const says =
  (more: Partial<Answer>): Lie =>
  honest => ({ ...honest, ...more })
const text = (body: string, headers: http.OutgoingHttpHeaders = {}): Lie => says({ body, headers })
const doc =
  (more: object): Lie =>
  () => ({ status: 200, body: document('completed', more) })
const brings = (answer: unknown): Lie => doc({ variables: { answer } })
const id = (runId: unknown): Lie => says({ body: created(runId) })
const status = (code: number, more: Partial<Answer> = {}): Lie => says({ status: code, ...more })
const refusal = (error: unknown, message: unknown): Partial<Answer> => ({ body: { error, message } })

/** So many bytes of one thing after another, as fast as they are read. */
const pours =
  (headers: http.OutgoingHttpHeaders, first: string, block: string, bytes: number): Lie =>
  () =>
  response => {
    response.writeHead(200, headers)
    response.write(first)
    const chunk = Buffer.from(block.repeat(Math.ceil(65_536 / block.length)))
    let left = bytes
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= chunk.length
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  }

const JSON_TYPE = { 'content-type': 'application/json' }
const SSE = { 'content-type': 'text/event-stream' }

/** One byte, and then none for ever. */
const drips =
  (headers: http.OutgoingHttpHeaders): Lie =>
  () =>
  response => {
    response.writeHead(200, headers)
    response.write('{')
  }

const redirects: Lie = (_honest, { path }, peer) => ({
  status: 307,
  headers: { location: `${peer.url}/internal${path}` },
})
const hangsUp: Lie = () => response => void response.socket?.resetAndDestroy()
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`

const lost = (reason: string): Ending => ({ is: 'lost', reason, begun: true })
const unbegun = (reason: string): Ending => ({ is: 'lost', reason, begun: false })
const merged = (answer: unknown = ANSWER): Ending => ({ is: 'merged', answer })
const EMPTY: Ending = { is: 'empty' }

/** Of what it is. */
const DISCOVERY: readonly Case[] = [
  {
    name: 'it is another host',
    lies: { discovery: says({ body: discovery('c.example') }) },
    ending: { is: 'refused', code: 'peer_mismatch' },
    unasked: true,
  },
  {
    name: 'it says that it is the host that asks',
    lies: { discovery: says({ body: discovery('a.example') }) },
    ending: { is: 'refused', code: 'peer_mismatch' },
    unasked: true,
  },
  {
    name: 'its discovery has 100 MB',
    lies: { discovery: pours(JSON_TYPE, '{"a":"', 'x', HUGE) },
    ending: unbegun('too_large'),
    unasked: true,
  },
  {
    name: 'its discovery leads elsewhere',
    lies: { discovery: redirects },
    ending: unbegun('unusable'),
    unasked: true,
  },
]

/** In answer to the request for a run. */
const CREATION: readonly Case[] = [
  { name: 'a run id with slashes', lies: { create: id('../../v1/keys') }, ending: unbegun('unusable') },
  { name: 'an empty run id', lies: { create: id('') }, ending: unbegun('unusable') },
  { name: 'a run id that is a number', lies: { create: id(7) }, ending: unbegun('unusable') },
  { name: 'a run id that is a list', lies: { create: id([RUN]) }, ending: unbegun('unusable') },
  { name: 'a run id of 10,000 letters', lies: { create: id('x'.repeat(10_000)) }, ending: unbegun('unusable') },
  { name: 'a run id with a NUL', lies: { create: id(`${RUN}\u0000`) }, ending: unbegun('unusable') },
  { name: 'a run id with a line break', lies: { create: id(`${RUN}\nX: y`) }, ending: unbegun('unusable') },
  { name: 'a run id with a colon', lies: { create: id('peer:beta/x') }, ending: unbegun('unusable') },
  { name: 'a run id in full-width letters', lies: { create: id('ｒｕｎ') }, ending: unbegun('unusable') },
  { name: 'no run id', lies: { create: says({ body: {} }) }, ending: unbegun('unusable') },
  { name: 'a 201 without a body', lies: { create: says({ body: '' }) }, ending: unbegun('unusable') },
  { name: 'a run in a list', lies: { create: says({ body: [created(RUN)] }) }, ending: unbegun('unusable') },
  { name: 'a 201 that is no JSON', lies: { create: text('<html></html>') }, ending: unbegun('unusable') },
  {
    name: 'JSON that breaks off',
    lies: { create: text('{"runId":"run-of-the') },
    ending: unbegun('unusable'),
  },
  {
    name: 'a run of 100 MB',
    lies: { create: pours(JSON_TYPE, '{"runId":"', 'x', HUGE) },
    ending: unbegun('too_large'),
  },
  { name: 'an answer that drips', lies: { create: drips(JSON_TYPE) }, ending: unbegun('timeout') },
  { name: 'a redirect to somewhere inside', lies: { create: redirects }, ending: unbegun('unusable') },
  { name: 'nothing, again and again', lies: { create: hangsUp }, ending: unbegun('unreachable') },
  {
    name: 'a refusal with a message of 900 kB',
    lies: { create: status(400, refusal('validation_error', 'x'.repeat(900_000))) },
    ending: { is: 'refused', code: 'peer_refused' },
  },
  {
    name: 'a refusal with control characters in its code',
    lies: { create: status(422, refusal('no\u0000\u001b[31m', 'no\u0000\r\n')) },
    ending: { is: 'refused', code: 'peer_refused' },
  },
  {
    name: 'a refusal whose code is a prototype’s',
    lies: { create: status(403, refusal('__proto__', { toString: 1 })) },
    ending: { is: 'refused', code: 'peer_refused' },
  },
  {
    name: 'Retry-After of 300 years',
    lies: { create: status(503, { headers: { 'retry-after': '9999999999' } }) },
    ending: unbegun('busy'),
  },
  {
    name: 'the id of the run that asks',
    lies: { create: (_honest, question, peer) => ({ status: 201, body: created(called(peer, callerIn(question))) }) },
    ending: merged(),
  },
  {
    name: 'the id of another run of A',
    lies: { create: (_honest, _question, peer) => ({ status: 201, body: created(called(peer, peer.bystander)) }) },
    ending: merged(),
  },
  {
    name: 'first lost, then found under another tag',
    lies: {
      create: hangsUp,
      list: says({
        body: { runs: [{ runId: RUN, workflowId: 'work', status: 'running', tags: ['assay-effect:other'] }] },
      }),
    },
    ending: unbegun('unreachable'),
  },
  {
    name: 'first lost, then found with an id that is a path',
    lies: {
      create: hangsUp,
      list: (_honest, { path }) => ({
        status: 200,
        body: { runs: [{ runId: '../x', workflowId: 'work', status: 'running', tags: [tagIn(path)] }] },
      }),
    },
    ending: unbegun('unreachable'),
  },
  {
    name: 'first lost, then a list of 100 MB',
    lies: { create: hangsUp, list: pours(JSON_TYPE, '{"runs":[', '{},', HUGE) },
    ending: { is: 'lost', first: 'unreachable', reason: 'too_large', begun: false },
  },
]

/** The run on A that hands over, as its carrier names it. */
function callerIn({ headers }: Question): string {
  const carrier = Buffer.from(String(headers['x-host-assay-causation']), 'base64url').toString()
  return (JSON.parse(carrier) as { readonly runId: string }).runId
}

function called(peer: HostilePeer, runId: string): string {
  peer.runId = runId
  return runId
}

const tagIn = (path: string): string => new URL(path, 'http://b').searchParams.get('tag') ?? ''

/** In the stream of the run, of which nothing depends. */
const STREAM: readonly Case[] = [
  ['events that never end', pours(SSE, '', frame(LOG[1]!, 1), HUGE)],
  ['comments that never end', pours(SSE, '', ':\n\n', HUGE)],
  ['one line of 100 MB', pours(SSE, 'data: ', 'x', HUGE)],
  ['events in the wrong order', text(streamed([...LOG].reverse()), SSE)],
  ['each event twice', text(LOG.map((told, i) => frame(told, i).repeat(2)).join(''), SSE)],
  ['a gap', text(frame(LOG[0]!, 0) + frame(LOG[3]!, 90), SSE)],
  ['events after the last one', text(streamed([...LOG, ...LOG]), SSE)],
  ['two ends that differ', text(streamed([...LOG, { type: 'run.failed', payload: {} }]), SSE)],
  ['the end, at once', text(frame({ type: 'run.completed', payload: { variables: { answer: 'forged' } } }, 0), SSE)],
  ['events of a run of A', text(streamed(LOG).replaceAll(RUN, '01890000-0000-7000-8000-000000000000'), SSE)],
  ['no sequence that is one', text([NaN, -1, 1e308, '__proto__'].map(n => frame(LOG[1]!, n)).join(''), SSE)],
  ['JSON that is none', text('id: 0\nevent: run.completed\ndata: {"type":\n\n', SSE)],
  ['a page', text('<html></html>', { 'content-type': 'text/html' })],
  ['a redirect', redirects],
  ['a connection that stays open and silent', drips(SSE)],
  ['404', status(404)],
  [
    'forged verdicts and merges',
    text(
      streamed([
        {
          type: 'agent.verified',
          payload: { target: `peer:beta/${RUN}`, verdict: 'pass', causationHostId: 'a.example' },
        },
        {
          type: 'core.workflowChain.event',
          payload: { phase: 'output.harvested', harvestedKeys: ['answer', 'other'] },
        },
        { type: 'variable.changed', payload: { name: 'other', value: 'forged' } },
      ]),
      SSE,
    ),
  ],
].map(([name, stream]) => ({ name: `stream: ${name as string}`, lies: { stream: stream as Lie }, ending: merged() }))

/** In the document of the run. */
const DOCUMENT: readonly Case[] = [
  { name: 'the document of another run', lies: { read: doc({ runId: 'another' }) }, ending: lost('unusable') },
  { name: 'a document without an id', lies: { read: doc({ runId: undefined }) }, ending: lost('unusable') },
  { name: 'a status that there is not', lies: { read: doc({ status: 'celebrating' }) }, ending: lost('unusable') },
  {
    name: 'a status that is an object',
    lies: { read: doc({ status: { completed: true } }) },
    ending: lost('unusable'),
  },
  {
    name: 'a document of 100 MB',
    lies: { read: pours(JSON_TYPE, '{"variables":{"answer":"', 'x', HUGE) },
    ending: lost('too_large'),
  },
  { name: 'a document that is a list', lies: { read: says({ body: [] }) }, ending: lost('unusable') },
  { name: 'a document that is no JSON', lies: { read: text('{"runId":') }, ending: lost('unusable') },
  { name: 'a document that drips', lies: { read: drips(JSON_TYPE) }, ending: lost('timeout') },
  { name: 'a redirect in place of the document', lies: { read: redirects }, ending: lost('unusable') },
  {
    name: 'a bomb in gzip',
    lies: { read: text('\x1f\x8b', { 'content-encoding': 'gzip' }) },
    ending: lost('unusable'),
  },
  { name: '404 of a run that it has made', lies: { read: status(404) }, ending: lost('refused') },
  {
    name: 'completed in the document, at work in its log',
    lies: { read: doc({}), poll: () => ({ status: 200, body: polled(LOG.slice(0, 2)) }) },
    ending: lost('unusable'),
  },
  {
    name: 'completed in the document, failed in its log',
    lies: {
      read: doc({}),
      poll: () => ({ status: 200, body: polled([LOG[0]!, { type: 'run.failed', payload: { error: {} } }]) }),
    },
    ending: lost('unusable'),
  },
  {
    name: 'a log of another run',
    lies: {
      read: doc({}),
      poll: () => ({ status: 200, body: polled(LOG, 'another') }),
    },
    ending: lost('unusable'),
  },
  {
    name: 'a log of 100 MB',
    lies: { read: doc({}), poll: pours(JSON_TYPE, '{"events":[', '{},', HUGE) },
    ending: lost('too_large'),
  },
  {
    name: 'a last event whose id is not one',
    lies: {
      read: doc({}),
      poll: () => ({
        status: 200,
        body: { ...polled(LOG), events: LOG.map((told, i) => ({ ...eventOf(told, i), eventId: { '': 1 } })) },
      }),
    },
    ending: lost('unusable'),
  },
  { name: 'no variables', lies: { read: doc({ variables: undefined }) }, ending: EMPTY },
  { name: 'variables that are a list', lies: { read: doc({ variables: ['answer'] }) }, ending: EMPTY },
  {
    name: 'variables of the prototype',
    lies: {
      read: text(
        JSON.stringify(document('completed')).replace(
          `{"answer":"${ANSWER}"}`,
          '{"__proto__":{"answer":"forged"},"constructor":{"prototype":{"other":"forged"}}}',
        ),
      ),
    },
    ending: lost('unusable'),
  },
  {
    name: 'a variable twice',
    lies: {
      read: text(JSON.stringify(document('completed')).replace(`"${ANSWER}"`, `"first","answer":"second"`)),
    },
    ending: lost('unusable'),
  },
  { name: 'a masked value', lies: { read: brings('[REDACTED]') }, ending: EMPTY },
  { name: 'a masked value by its name', lies: { read: brings('[REDACTED:key]') }, ending: EMPTY },
  { name: 'a mask within a text', lies: { read: brings('the key is [REDACTED:key], keep it') }, ending: EMPTY },
  { name: 'a mask deep inside', lies: { read: brings({ a: [{ b: '[REDACTED]' }] }) }, ending: EMPTY },
  { name: 'a mask that is a name', lies: { read: brings({ '[REDACTED]': 1 }) }, ending: EMPTY },
  {
    name: 'control characters',
    lies: { read: brings('a\u0000b\u001b[31m\u0085') },
    ending: merged('a\u0000b\u001b[31m\u0085'),
  },
  {
    name: 'half a character',
    lies: { read: text(JSON.stringify(document('completed')).replace(ANSWER, '\\ud800')) },
    ending: lost('unusable'),
  },
  {
    name: 'a value 100,000 lists deep',
    lies: { read: text(JSON.stringify(document('completed')).replace(`"${ANSWER}"`, deep)) },
    ending: lost('unusable'),
  },
  {
    name: 'a number that is none',
    lies: { read: text(JSON.stringify(document('completed')).replace(`"${ANSWER}"`, '1e999')) },
    ending: lost('unusable'),
  },
  {
    name: 'a forged ancestry of its own',
    lies: {
      read: doc({
        parentRunId: '01890000-0000-7000-8000-000000000000',
        causationHostId: 'c.example',
        wellKnownUrl: 'http://evil',
      }),
    },
    ending: merged(),
  },
  {
    name: 'a failure with control characters and a code of A',
    lies: {
      read: () => ({
        status: 200,
        body: document('failed', { error: { code: 'verification_failed\u0000', message: 'x'.repeat(500_000) } }),
      }),
      poll: () => ({ status: 200, body: polled([LOG[0]!, { type: 'run.failed', payload: { error: {} } }]) }),
    },
    ending: { is: 'failed', code: '*' },
  },
  {
    name: 'a status that goes back',
    lies: {
      read: (_honest, { times }) => ({
        status: 200,
        body: document(times === 1 ? 'pending' : times < 3 ? 'running' : 'completed'),
      }),
      poll: () => ({ status: 200, body: polled(LOG) }),
    },
    ending: merged(),
  },
]

const claims = (name: string, spend: string, ending: Ending = merged()): Case => ({
  name: `a cost of ${name}`,
  lies: {
    read: text(
      JSON.stringify({ ...document('completed'), assay: { spend: 0 } }).replace('"spend":0', `"spend":${spend}`),
    ),
  },
  ending,
})

const COST: readonly Case[] = [
  claims('less than nothing', '{"tokens":-5,"costUsd":-1,"toolCalls":-1,"retries":-1}'),
  claims('1e308', '{"tokens":1e308,"costUsd":1e308,"toolCalls":0,"retries":0}'),
  claims('more than a number holds', '{"tokens":1e999,"costUsd":1e999,"toolCalls":0,"retries":0}', lost('unusable')),
  claims('words', '{"tokens":"many","costUsd":"NaN","toolCalls":null,"retries":[]}'),
  claims('half a token', '{"tokens":0.5,"costUsd":1e-30,"toolCalls":0.5,"retries":0}'),
  claims('a prototype', '{"__proto__":{"tokens":7},"constructor":1}', lost('unusable')),
  claims('a list', '[]'),
]

export const CASES: readonly Case[] = [...DISCOVERY, ...CREATION, ...STREAM, ...DOCUMENT, ...COST]
