import { ANSWER, document, eventOf, LOG, polled } from './hostile-peer.js'
import {
  type Ending,
  type Case,
  HUGE,
  says,
  text,
  doc,
  brings,
  status,
  pours,
  JSON_TYPE,
  drips,
  redirects,
  deep,
  lost,
  merged,
  EMPTY,
} from './lie-kit.js'

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
  { name: '410 of a run that it has made', lies: { read: status(410) }, ending: lost('refused') },
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

export const DOCUMENT_CASES: readonly Case[] = [...DOCUMENT, ...COST]
