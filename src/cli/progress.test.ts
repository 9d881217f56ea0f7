import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { RunEventDoc } from '../client/wire-shapes.js'
import { clip, runView } from './live-view.js'
import { advance, eventLine, frame, mayWait, noProgress } from './progress.js'
import { printable, printTable, type Terminal } from './terminal.js'

let sequence = 0
const event = (type: string, nodeId?: string, payload: object = {}): RunEventDoc => ({
  eventId: `r:${sequence}`,
  runId: 'r',
  type,
  payload,
  timestamp: new Date(1_767_225_600_000 + sequence * 500).toISOString(),
  sequence: sequence++,
  schemaVersion: 1,
  engineVersion: '1',
  ...(nodeId !== undefined && { nodeId }),
})

const plain = (lines: readonly string[]) => lines.map(stripVTControlCharacters)

const terminal = (isLive: boolean) => {
  const said: string[] = []
  const double: Terminal = {
    out: line => void said.push(line),
    note: line => void said.push(line),
    draw: text => void said.push(text),
    isLive,
    columns: 40,
    readStdin: async () => '',
  }
  return { double, said }
}

describe('progress', () => {
  test('shows each node once, with its state, its retries and why', () => {
    sequence = 0
    const events = [
      event('run.started'),
      event('node.started', 'a'),
      event('node.retried', 'a', { attempt: 1, delayMs: 50, lastError: { code: 'x', message: 'not yet' } }),
      event('node.started', 'a'),
      event('node.completed', 'a'),
      event('node.skipped', 'b', { reason: 'condition' }),
      event('node.started', 'c'),
    ]
    const half = events.reduce(advance, noProgress('hello r'))
    expect(plain(frame(half, 0))).toEqual(['⠋ hello r running', '  ✓ a ×2  500 ms', '  – b  0 ms  condition', '  ⠋ c'])
    const failed = [
      event('node.failed', 'c', { error: { code: 'boom', message: 'it broke' } }),
      event('run.failed', undefined, { error: { code: 'boom', message: 'it broke' } }),
    ].reduce(advance, half)
    expect(plain(frame(failed, 0)).at(0)).toBe('✗ hello r failed  4.0 s')
    expect(plain(frame(failed, 0)).at(-1)).toBe('  ✗ c  500 ms  boom: it broke')
    expect(failed.error).toEqual({ code: 'boom', message: 'it broke' })
  })

  test('stays within its rows however many nodes there are', () => {
    const many = Array.from({ length: 500 }, (_, i) => event('node.completed', `n${i}`)).reduce(
      advance,
      noProgress('t'),
    )
    expect(frame(many, 0, 10)).toHaveLength(12)
    expect(plain(frame(many, 0, 10))[1]).toBe('  … 490 more')
  })

  test('shows who is waited for, and when the run may need someone', () => {
    const events = [
      event('run.started'),
      event('node.started', 'gate'),
      event('node.started', 'other'),
      event('interrupt.requested', 'gate', { kind: 'approval', data: { title: 'Publish?' } }),
      event('node.suspended', 'gate', { kind: 'approval' }),
    ]
    const waiting = events.reduce(advance, noProgress('t'))
    expect(plain(frame(waiting, 0))).toEqual(['◷ t waiting', '  ◷ gate  approval: Publish?', '  ⠋ other'])
    expect(events.map(mayWait)).toEqual([false, false, false, false, true])
    const vote = event('assay.interrupt.voted', 'gate', { voter: 'ada', action: 'accept' })
    expect(plain(frame(advance(waiting, vote), 0))[1]).toBe('  ◷ gate  ada accept')
    const resumed = advance(waiting, event('node.resumed', 'gate'))
    expect(plain(frame(resumed, 0))).toEqual(['⠋ t running', '  ⠋ gate', '  ⠋ other'])
  })

  test('a child that waits makes its parent wait', () => {
    const child = event('assay.child.status', 'sub', { childRunId: 'c', status: 'waiting-approval' })
    const waiting = [event('run.started'), event('node.started', 'sub'), child].reduce(advance, noProgress('t'))
    expect(mayWait(child)).toBe(true)
    expect(plain(frame(waiting, 0))).toEqual(['◷ t waiting', '  ◷ sub  child run c waiting-approval'])
    const again = event('assay.child.status', 'sub', { childRunId: 'c', status: 'running' })
    expect(mayWait(again)).toBe(false)
  })

  test('one event is one line, and its content cannot steer the terminal', () => {
    sequence = 7
    const line = eventLine(event('variable.changed', 'a', { name: 'x', next: 'two\nlines' }))
    expect(line).toBe('2026-01-01T00:00:03.500Z    7 variable.changed a  x = "two\\nlines"')
    expect(eventLine(event('node.skipped', 'a', { reason: '\u001b[2Jgone' }))).toContain('\\x1b[2Jgone')
    expect(printable('a\u009bb\r\n')).toBe('a\\x9bb\\x0d\\x0a')
  })
})

describe('the view of a run', () => {
  test('is plain lines without a screen, and silent when asked', () => {
    const { double, said } = terminal(false)
    const view = runView(double, 't', false)
    view.show(event('run.completed', undefined, { outputs: { a: 1 } }))
    expect(view.end().outputs).toEqual({ a: 1 })
    expect(said).toHaveLength(1)
    expect(said[0]).toContain('run.completed  {"a":1}')
    runView(double, 't', true).show(event('run.started'))
    expect(said).toHaveLength(1)
  })

  test('is redrawn in place on a screen', () => {
    const { double, said } = terminal(true)
    const view = runView(double, 'hello', false)
    view.show(event('run.started'))
    view.show(event('node.completed', 'a'))
    view.end()
    expect(said.at(-1)).toContain('\u001b[J')
    view.end()
    expect(said.at(-1)).toContain('\u001b[2A')
  })

  test('rests while something else is written, and goes on below it', () => {
    const { double, said } = terminal(true)
    const view = runView(double, 'hello', false)
    view.show(event('run.started'))
    view.rest()
    const before = said.length
    view.end()
    expect(said).toHaveLength(before)
    view.show(event('node.completed', 'a'))
    view.end()
    expect(said.at(-1)?.startsWith('\u001b[J')).toBe(true)
  })

  test('lines are cut to the screen, colours kept whole', () => {
    expect(clip('\u001b[31mabcdef\u001b[39m', 4)).toBe('\u001b[31mabc\u001b[39m')
  })
})

test('tables line up', () => {
  const { double, said } = terminal(false)
  printTable(
    double,
    ['A', 'BB'],
    [
      ['long', 'x'],
      ['s', 'y'],
    ],
  )
  expect(plain(said)).toEqual(['A     BB', 'long  x', 's     y'])
})
