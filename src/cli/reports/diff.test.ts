import { expect, test } from 'vitest'
import type { EventDiff, RunDiff } from '../../client/wire-shapes.js'
import { diffLines, eventPair, firstDifference, isEqual, isPersonsStop, isSameStory } from './diff.js'

const event = (type: string, payload: object, nodeId?: string) => ({
  eventId: 'r:1',
  runId: 'r',
  type,
  payload,
  timestamp: '2026-01-01T00:00:00.000Z',
  sequence: 1,
  schemaVersion: 1,
  engineVersion: '1',
  ...(nodeId !== undefined && { nodeId }),
})

const diff = (eventDiffs: EventDiff[], stateDiff: RunDiff['stateDiff'] = {}): RunDiff => ({
  a: 'one',
  b: 'two',
  divergedAtSeq: eventDiffs[0]?.seq ?? null,
  eventDiffs,
  stateDiff,
})

test.each([
  [{ a: 1 }, { a: 1 }, undefined],
  [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }, 'a.b[1]'],
  [{ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, 'a[0].b'],
  [{ a: [1] }, { a: [1, 2] }, 'a[1]'],
  [{ a: 1 }, {}, 'a'],
  [{ runId: 'x', requestedAt: 1, z: 1 }, { runId: 'y', requestedAt: 2, z: 2 }, 'z'],
  [{ data: { runId: 'x' } }, { data: { runId: 'y' } }, 'data.runId'],
])('%j and %j first part at %s', (a, b, path) => {
  expect(firstDifference(a, b)).toBe(path)
})

test('a pair of events shows both and the first field that differs', () => {
  const a = event('node.completed', { nodeId: 'n', outputs: { sum: 3 } }, 'n')
  const b = event('node.completed', { nodeId: 'n', outputs: { sum: 4 } }, 'n')
  expect(eventPair(a, b, ['source', 'replay'])).toEqual([
    '  source  node.completed n  {"nodeId":"n","outputs":{"sum":3}}',
    '  replay  node.completed n  {"nodeId":"n","outputs":{"sum":4}}',
    '  first difference: payload.outputs.sum, 3 and 4',
  ])
  expect(eventPair(a, event('node.failed', {}, 'n'), ['a', 'b']).at(-1)).toBe(
    '  first difference: type, node.completed and node.failed',
  )
  expect(eventPair(a, { ...a, nodeId: 'm' }, ['a', 'b']).at(-1)).toBe('  first difference: nodeId, n and m')
  expect(eventPair(a, undefined, ['a', 'b'])).toHaveLength(2)
  expect(eventPair(undefined, a, ['a', 'b'])[0]).toBe('  a  (no event)')
})

test('a comparison is the first difference in full, the others by name, and the states', () => {
  const lines = diffLines({
    ...diff(
      [
        { seq: 1, op: 'changed', aEvent: event('run.completed', {}), bEvent: event('run.failed', {}) },
        { seq: 2, op: 'added', bEvent: event('node.started', {}, 'x\u001b') },
        ...Array.from({ length: 30 }, (_, i): EventDiff => ({ seq: i + 3, op: 'removed', aEvent: event('log', {}) })),
      ],
      { status: { a: 'completed', b: 'failed' }, variables: { n: { a: 1 } } },
    ),
    truncated: true,
  })
  expect(lines[0]).toBe('first difference at event 1:')
  expect(lines[4]).toBe('     2 only b  node.started x\\x1b')
  expect(lines[5]).toBe('     3 only a  log')
  expect(lines.slice(-5)).toEqual([
    '… 11 more differences; --json shows all',
    'status: "completed" and "failed"',
    'variables.n: 1 and nothing',
    'compared in part: a run still goes on, or there are too many differences',
    'a is one, b is two',
  ])
})

test('equal runs tell the same story and end in the same state', () => {
  expect(isEqual(diff([]))).toBe(true)
  expect(diffLines(diff([]))[0]).toBe('the events are equal')
  const otherState = diff([], { status: { a: 'running', b: 'failed' } })
  expect([isEqual(otherState), isSameStory(otherState)]).toEqual([false, true])
  expect(isSameStory(diff([{ seq: 0, op: 'removed', aEvent: event('x', {}) }]))).toBe(false)
})

test('a stop by a person is told from other ends', () => {
  expect(isPersonsStop(event('run.cancelled', {}))).toBe(true)
  expect(isPersonsStop(event('assay.stop.requested', { outcome: 'cancelled' }))).toBe(true)
  expect(isPersonsStop(event('assay.stop.requested', { outcome: 'failed' }))).toBe(false)
  expect(isPersonsStop(event('run.failed', {}))).toBe(false)
})
