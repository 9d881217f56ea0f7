import { describe, expect, test } from 'vitest'
import type { Json } from '../core/json.js'
import type { Inspector, PredicateWanted } from '../engine/ports/verification.js'
import { ManualClock, settled } from '../testing/manual-clock.js'
import { inspectorDouble } from '../testing/verification.js'
import { createPredicates } from './predicates.js'

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
const HTTP = { type: 'http', url: 'https://example.com/released' }
const MAKE = { type: 'command', command: ['make', 'test'] }

function rig(inspect: Inspector['inspect'] = async () => []) {
  const clock = new ManualClock()
  return { clock, predicates: createPredicates({ inspector: inspectorDouble(inspect), clock, log: silent }) }
}

const asked = (signal = new AbortController().signal, predicate: Json = { probes: [HTTP] }) => ({
  tenant: 't1',
  stream: 'schedule-1',
  predicate,
  maxRuntimeMs: 5_000,
  signal,
})

const finding =
  (...outcomes: readonly ('held' | 'failed' | 'unavailable')[]): Inspector['inspect'] =>
  async () =>
    outcomes.map((outcome, i) => ({ probeId: `probe-${i}`, dimension: 'world', outcome, evidence: [] }))

describe('a predicate', () => {
  test.each([
    ['all hold', ['held', 'held'], { status: 'ok', holds: true }],
    ['one does not', ['unavailable', 'failed'], { status: 'ok', holds: false }],
    ['one could not be found out', ['held', 'unavailable'], { status: 'error', holds: null }],
  ] as const)('%s', async (_, outcomes, answer) => {
    expect(await rig(finding(...outcomes)).predicates.ask(asked())).toEqual(answer)
  })

  test('R-ARM-2: over its time it is stopped and has no answer, also where it does not listen', async () => {
    let stopped = false
    const { clock, predicates } = rig(({ signal }) => {
      signal.addEventListener('abort', () => {
        stopped = true
      })
      return new Promise(() => undefined)
    })
    const answer = predicates.ask(asked())
    await clock.advance(4_999)
    expect(stopped).toBe(false)
    await clock.advance(1)
    expect([await answer, stopped]).toEqual([{ status: 'timeout', holds: null }, true])
  })

  test('is stopped when nobody waits for it any more', async () => {
    const { predicates } = rig(() => new Promise(() => undefined))
    const abort = new AbortController()
    const answer = predicates.ask(asked(abort.signal))
    await settled()
    abort.abort()
    expect(await answer).toEqual({ status: 'timeout', holds: null })
    expect(await predicates.ask(asked(abort.signal))).toEqual({ status: 'timeout', holds: null })
  })

  test('that cannot be read is an error', async () => {
    const { predicates } = rig(finding('held'))
    expect(await predicates.ask(asked(undefined, { probes: [{ type: 'spell' }] }))).toEqual({
      status: 'error',
      holds: null,
    })
  })
})

describe('a set of probes', () => {
  const { predicates } = rig()
  const home = { what: 'goal', folder: 'goals/' }
  const problemsOf = (document: Json, more: Partial<PredicateWanted> = {}) => {
    const read = predicates.complete(document, { field: 'judge', over: 'result', origin: 'api', home, ...more })
    return read.ok ? [] : read.problems
  }

  test('has what was left out filled in, and names for its probes', () => {
    const read = predicates.complete(
      { probes: [HTTP, { ...MAKE, probe_id: 'tests' }] },
      {
        field: 'judge',
        over: 'world',
        origin: 'project',
        home,
      },
    )
    expect(read).toEqual({
      ok: true,
      value: [
        { probe_id: 'probe-1', ...HTTP, status: [200] },
        { probe_id: 'tests', ...MAKE, exit_code: 0, timeout_ms: 30_000 },
      ],
    })
  })

  test.each<[string, Json, Partial<PredicateWanted>, string]>([
    ['nothing', {}, {}, 'judge.probes is required'],
    ['no probe', { probes: [] }, {}, 'judge.probes must be a list of 1 to 20 items'],
    [
      'a name twice',
      {
        probes: [
          { ...HTTP, probe_id: 'a' },
          { ...HTTP, probe_id: 'a' },
        ],
      },
      {},
      'has "a" twice',
    ],
    ['a command of a key', { probes: [MAKE] }, {}, 'put the goal into goals/ there'],
    ['a file of all tenants', { probes: [{ type: 'file', file: 'a.md' }] }, {}, 'put the goal into goals/ there'],
    [
      'a result where there is none',
      { probes: [{ type: 'equals', value: 1 }] },
      { over: 'world' },
      'judge.probes[0] looks at what a run has brought',
    ],
    [
      'addresses in it',
      { probes: [{ type: 'http', path: '/a' }] },
      { over: 'world' },
      'judge.probes[0] looks at what a run has brought',
    ],
    [
      'a workspace of nobody',
      { probes: [{ type: 'file', file: 'a.md', in: 'workspace' }] },
      { over: 'world' },
      'judge.probes[0].in is workspace',
    ],
  ])('%s is refused', (_, document, more, problem) => {
    expect(problemsOf(document, more)[0]).toContain(problem)
  })

  test('of the project may run commands and look at its files', () => {
    expect(
      problemsOf({ probes: [MAKE, { type: 'file', file: 'a.md' }] }, { origin: 'project', over: 'world' }),
    ).toEqual([])
  })
})
