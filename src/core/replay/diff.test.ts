import { describe, expect, test } from 'vitest'
import { type ComparedEvent, diffStates, LogComparison, type LogDiff } from './diff.js'

const log = (...words: string[]): ComparedEvent[] =>
  words.map((word, sequence) => ({ sequence, type: 'log.appended', nodeId: 'n', payload: { message: word } }))
const ended = (...words: string[]) => ({ events: log(...words), ended: true })
const open = (...words: string[]) => ({ events: log(...words), ended: false })

type Log = { readonly events: readonly ComparedEvent[]; readonly ended: boolean }

function diffLogs(a: Log, b: Log, most: number): LogDiff<ComparedEvent> {
  const [ours, theirs] = [a, b].map(({ events, ended }) => ({ length: events.length, ended })) as [never, never]
  const comparison = new LogComparison<ComparedEvent>(ours, theirs, (_diff, listed) => listed < most)
  for (let seq = 0; seq < comparison.length; seq += 1) if (!comparison.compare(seq, a.events[seq], b.events[seq])) break
  return comparison.found
}

describe('two logs', () => {
  test('R-REST-13: that say the same do not differ, whatever their clocks and ids', () => {
    const said = (runId: string) => [{ sequence: 0, type: 'x', payload: { runId, requestedAt: runId, kind: 'k' } }]
    const diff = diffLogs({ events: said('r1'), ended: true }, { events: said('r2'), ended: true }, 10)
    expect(diff).toEqual({ divergedAtSeq: null, eventDiffs: [], truncated: false })
  })

  test('R-REST-13: differ by sequence: changed, removed, added', () => {
    const ops = (a: string[], b: string[]) =>
      diffLogs(ended(...a), ended(...b), 10).eventDiffs.map(({ seq, op }) => [seq, op])
    expect(ops(['a', 'b', 'c'], ['a', 'x', 'c'])).toEqual([[1, 'changed']])
    expect(ops(['a', 'b'], ['a'])).toEqual([[1, 'removed']])
    expect(ops(['a'], ['a', 'b'])).toEqual([[1, 'added']])
    expect(diffLogs(ended('a', 'b'), ended('a'), 10).divergedAtSeq).toBe(1)
  })

  test('R-REST-13: what an unfinished log does not have yet is no difference, and the answer says it is a prefix', () => {
    expect(diffLogs(open('a'), ended('a', 'b'), 10)).toEqual({ divergedAtSeq: null, eventDiffs: [], truncated: true })
    expect(diffLogs(open('a', 'b'), ended('a'), 10).eventDiffs).toHaveLength(1)
    expect(diffLogs(open('a', 'b'), open('a'), 10).eventDiffs).toEqual([])
  })

  test('too many differences are cut off, and the answer says so', () => {
    const diff = diffLogs(ended('a', 'b', 'c'), ended('x', 'y', 'z'), 2)
    expect([diff.eventDiffs.length, diff.truncated, diff.divergedAtSeq]).toEqual([2, true, 0])
    expect(diffLogs(ended('a', 'b'), ended('x', 'y'), 2).truncated).toBe(false)
  })
})

test('two states differ by status and by single values', () => {
  const a = { status: 'completed', variables: { same: 1, other: 1, gone: 1 } }
  const b = { status: 'failed', variables: { same: 1, other: 2, fresh: null }, channels: { c: [1] } }
  expect(diffStates(a, b)).toEqual({
    status: { a: 'completed', b: 'failed' },
    variables: { other: { a: 1, b: 2 }, gone: { a: 1 }, fresh: { b: null } },
    channels: { c: { b: [1] } },
  })
  expect(diffStates(a, a)).toEqual({})
})
