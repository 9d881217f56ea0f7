import { expect, test } from 'vitest'
import { checkLog } from '../check-log.js'
import type { CheckedEvent, CheckedRun } from '../checked.js'

type Write = { channel: string; value: unknown; reducer: string; at?: number; secret?: unknown }

const CHANNELS = {
  list: { reducer: 'append', default: ['zero'], maxSize: 3 },
  recent: { reducer: 'votes', ttlMs: 100 },
  total: { reducer: 'counter' },
}

function run(writes: Write[], channels: Record<string, unknown>): CheckedRun {
  const start: CheckedEvent = { sequence: 0, type: 'run.started', payload: { workflowId: 'w', inputs: {} }, at: 0 }
  const events = writes.map(
    ({ channel, value, reducer, at = 0, secret }, i): CheckedEvent => ({
      sequence: i + 1,
      type: 'channel.written',
      payload: { channel, value, reducer, writtenAt: new Date(at).toISOString() },
      at,
      ...(secret === undefined ? {} : { secret }),
    }),
  )
  return { runId: 'r', events: [start, ...events], definition: { channels: CHANNELS }, snapshot: { channels } }
}

const L9 = (checked: CheckedRun) =>
  checkLog({ runs: [checked], dialect: 'openwop' }).filter(finding => finding.rule === 'L9')

test('L9: a default counts as the oldest entry and leaves first', () => {
  const writes = ['a', 'b', 'c'].map(value => ({ channel: 'list', value, reducer: 'append' }))
  expect(L9(run(writes, { list: ['a', 'b', 'c'], recent: undefined }))).toEqual([])
  expect(L9(run(writes.slice(0, 2), { list: ['zero', 'a', 'b'] }))).toEqual([])
  expect(L9(run(writes, { list: ['zero', 'a', 'b', 'c'] }))).toHaveLength(1)
})

test('L9: with a time to live entries carry their time, the expired leave at the next write, a new vote replaces the old', () => {
  const vote = (userId: string, vote: number, at: number) => ({
    channel: 'recent',
    value: { userId, vote },
    reducer: 'votes',
    at,
  })
  const entry = (userId: string, vote: number, _ts: number) => ({ value: { userId, vote }, _ts })
  expect(L9(run([vote('a', 1, 0), vote('b', 1, 100)], { recent: [entry('a', 1, 0), entry('b', 1, 100)] }))).toEqual([])
  expect(L9(run([vote('a', 1, 0), vote('b', 1, 101)], { recent: [entry('b', 1, 101)] }))).toEqual([])
  expect(L9(run([vote('a', 1, 0), vote('a', 2, 50)], { recent: [entry('a', 2, 50)] }))).toEqual([])
})

test('L9: the reducer on the event decides, and an unknown one replaces', () => {
  expect(
    L9(
      run(
        [
          { channel: 'total', value: 2, reducer: 'counter' },
          { channel: 'total', value: -5, reducer: 'counter' },
        ],
        { total: -3 },
      ),
    ),
  ).toEqual([])
  expect(
    L9(
      run(
        [
          { channel: 'x', value: 1, reducer: 'vendor.acme.max' },
          { channel: 'x', value: 2, reducer: 'vendor.acme.max' },
        ],
        { x: 2 },
      ),
    ),
  ).toEqual([])
})

test('L9: a snapshot may show the masked value or the real one, nothing else', () => {
  const masked = [{ channel: 'x', value: '***', reducer: 'replace', secret: { value: null } }]
  expect(L9(run(masked, { x: '***' }))).toEqual([])
  expect(L9(run(masked, { x: null }))).toEqual([])
  expect(L9(run(masked, { x: 'leak' }))).toHaveLength(1)
})

test('L9: 50,000 appends fold in linear time', () => {
  const writes = Array.from({ length: 50_000 }, (_, i) => ({ channel: 'log', value: i, reducer: 'append' }))
  expect(L9(run(writes, { log: writes.map(write => write.value) }))).toEqual([])
})
