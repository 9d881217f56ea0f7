import {
  created,
  discovery,
  frame,
  type HostilePeer,
  type Lie,
  LOG,
  type Question,
  RUN,
  streamed,
} from './hostile-peer.js'
import {
  type Case,
  HUGE,
  says,
  text,
  id,
  status,
  refusal,
  pours,
  JSON_TYPE,
  SSE,
  drips,
  redirects,
  hangsUp,
  unbegun,
  merged,
} from './lie-kit.js'

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

export const EARLY_CASES: readonly Case[] = [...DISCOVERY, ...CREATION, ...STREAM]
