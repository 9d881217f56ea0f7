import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import type { Json } from '../json.js'
import {
  Above,
  Closed,
  DistinctBy,
  Flag,
  ListOf,
  MapOf,
  Matching,
  May,
  Milliseconds,
  NumberFrom,
  OneOf,
  Text,
  WebAddress,
  Whole,
} from './kinds.js'
import { readAs, schemaProblems } from './problems.js'

const Verifier = Closed({ id: Matching(/^[a-z]+$/, 'a name'), weight: May(Above(0, 10)) })

const Probe = Type.Union([
  Closed({ kind: Type.Literal('regex'), pattern: Text(20) }),
  Closed({ kind: Type.Literal('http'), url: WebAddress(), timeoutMs: May(Milliseconds(1, 60_000)) }),
])

const Gate = Closed({
  id: Matching(/^[a-z]+$/, 'a name'),
  placement: OneOf(['phase_exit', 'workflow_exit']),
  quorum: May(Closed({ threshold: NumberFrom(0, 1), verifiers: ListOf(Verifier, 1, 3) })),
  probes: May(DistinctBy(ListOf(Probe, 0, 5), probe => (probe as { kind: string }).kind)),
  attempts: May(Whole(1, 9, { default: 3 })),
  strict: May(Flag()),
  labels: May(MapOf(/^[a-z]{1,8}$/, 'one to eight small letters', Text(10))),
  password: May(Matching(/^ref:/, 'a reference', { 'x-unquoted': true })),
  either: May(Type.Union([Text(5), ListOf(Text(5), 1, 2)])),
})

const good = { id: 'notes', placement: 'phase_exit' }
const told = (more: Json): string[] => schemaProblems(Gate, { ...good, ...(more as object) } as Json)

describe('what is wrong with a document', () => {
  test.each<[string, Json, string]>([
    ['a misspelt field', { placment: 1 }, 'placment is not a known field; did you mean placement?'],
    ['another spelling of a field', { probe_s: [] }, 'probe_s is not a known field; did you mean probes?'],
    [
      'a field one level too high',
      { threshold: 1 },
      'threshold is not a known field here; it belongs at quorum.threshold',
    ],
    [
      'a field one level too deep',
      { quorum: { threshold: 1, verifiers: [{ id: 'a' }], strict: true } },
      'quorum.strict is not a known field here; it belongs at strict',
    ],
    [
      'a field that is nowhere',
      { colour: 1 },
      'colour is not a known field; remove it: the known fields are id, placement, quorum',
    ],
    ['a missing part', { quorum: { threshold: 1 } }, 'quorum.verifiers is required: a list of 1 to 3 items; add it'],
    [
      'too much',
      { quorum: { threshold: 7, verifiers: [{ id: 'a' }] } },
      'quorum.threshold must be a number from 0 to 1; got 7',
    ],
    [
      'an item',
      { quorum: { threshold: 1, verifiers: [{ id: 'a', weight: 0 }] } },
      'quorum.verifiers[0].weight must be a number above 0, of at most 10; got 0',
    ],
    [
      'a number in quotes',
      { attempts: '4' },
      'attempts must be a whole number from 1 to 9; got "4"; write 4 without quotes',
    ],
    ['half a number', { attempts: 2.5 }, 'attempts must be a whole number from 1 to 9; got 2.5'],
    [
      'a length of time in words',
      { probes: [{ kind: 'http', url: 'https://a.b/', timeoutMs: '30s' }] },
      'probes[0].timeoutMs must be a whole number of milliseconds from 1 to 60000; got "30s"; write 30000',
    ],
    ['a word for a flag', { strict: 'yes' }, 'strict must be true or false; got "yes"; write true without quotes'],
    [
      'a near miss of a word',
      { placement: 'phase-exit' },
      'placement must be one of phase_exit, workflow_exit; got "phase-exit"; did you mean phase_exit?',
    ],
    ['one in place of a list', { probes: 'x' }, 'probes must be a list of at most 5 items; got "x"; write ["x"]'],
    [
      'an unknown kind',
      { probes: [{ kind: 'regexp', pattern: 'x' }] },
      'probes[0].kind must be one of regex, http; got "regexp"; did you mean regex?',
    ],
    ['no kind', { probes: [{ pattern: 'x' }] }, 'probes[0].kind is required: one of regex, http; add it'],
    [
      'a field of another kind',
      { probes: [{ kind: 'regex', pattern: 'x', url: 'x' }] },
      'probes[0].url is not a known field; remove it: the known fields are kind, pattern',
    ],
    [
      'the same twice',
      {
        probes: [
          { kind: 'regex', pattern: 'x' },
          { kind: 'regex', pattern: 'y' },
        ],
      },
      'probes has "regex" twice; give each once',
    ],
    ['a name of the author', { labels: { TOO: 'x' } }, 'labels has the name "TOO"; use one to eight small letters'],
    [
      'under a name of the author',
      { labels: { a: 5 } },
      'labels.a must be text that is not blank, of at most 10 characters; got 5; write "5" in quotes',
    ],
    [
      'neither of two',
      { either: 5 },
      'either must be text that is not blank, of at most 5 characters, or a list of 1 to 2 items; got 5',
    ],
    [
      'the second of two',
      { either: ['a', 'too long'] },
      'either[1] must be text that is not blank, of at most 5 characters; got "too long"',
    ],
    [
      'letters that count twice',
      { labels: { a: '\u{1f600}'.repeat(8) } },
      'labels.a must be text that is not blank, of at most 10 characters; got "\u{1f600}',
    ],
    ['a long text', { id: 'x'.repeat(70).toUpperCase() }, 'id must be a name (^[a-z]+$); got text of 70 characters'],
  ])('%s', (_, more, problem) => {
    const problems = told(more)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })

  test('what may be a secret is not repeated', () => {
    expect(told({ password: 'hunter2' })).toEqual(['password must be a reference (^ref:)'])
    const [problem] = told({ probes: [{ kind: 'http', url: 'https://me:hunter2@a.b/' }] })
    expect(problem).toContain('without user name and password')
    expect(problem).not.toContain('hunter2')
  })

  test('all of it is told, in the order of the document', () => {
    expect(told({ id: 5, strict: 'maybe', attempts: 0 })).toEqual([
      'id must be a name (^[a-z]+$); got 5; write "5" in quotes',
      'strict must be true or false; got "maybe"',
      'attempts must be a whole number from 1 to 9; got 0',
    ])
  })

  test('no document at all', () => {
    expect(schemaProblems(Gate, 'x')).toEqual(['the document must be an object; got "x"'])
  })
})

describe('reading a document', () => {
  test('fills in what was left out, and leaves what it was given as it is', () => {
    const raw = { ...good }
    expect(readAs(Gate, raw)).toEqual({ ok: true, value: { ...good, attempts: 3 } })
    expect(raw).toEqual(good)
  })

  test('goes on with rules of its own only when the shape is right', () => {
    const rules = () => ['id is taken']
    expect(readAs(Gate, good, rules)).toEqual({ ok: false, problems: ['id is taken'] })
    expect(readAs(Gate, { ...good, id: 5 }, rules)).toMatchObject({
      problems: [expect.stringContaining('id must')],
    })
  })

  test('of more than can be looked at says so', () => {
    const deep = JSON.parse('[['.repeat(40) + ']]'.repeat(40)) as Json
    expect(readAs(Gate, deep)).toEqual({ ok: false, problems: ['the document nests deeper than 64 levels'] })
    const large = readAs(Gate, { ...good, id: 'x'.repeat(70_000) })
    expect(large).toMatchObject({ problems: [expect.stringMatching(/takes 700\d\d bytes; at most 65536 are allowed/)] })
  })
})
