import { expect, test } from 'vitest'
import type { RunRow, RunSnapshot } from '../../client/wire-shapes.js'
import { runRow } from './run-table.js'

const NOW = Date.UTC(2026, 0, 1, 12)
const row: RunRow = {
  runId: 'r',
  workflowId: 'w',
  status: 'running',
  tags: [],
  startedAt: '2026-01-01T11:58:00.000Z',
  updatedAt: '2026-01-01T11:58:00.000Z',
  eventCount: 1,
}
const cells = (more: Partial<RunRow>, run: object) => runRow({ ...row, ...more }, run as RunSnapshot, NOW).slice(4)

test('one that goes on: so far; one that has ended: how long it took', () => {
  expect(cells({}, {})[0]).toBe('2 min so far')
  expect(cells({ completedAt: '2026-01-01T11:58:07.000Z' }, {})[0]).toBe('7 s')
})

test('what it cost is shown where it is known to have cost something', () => {
  const spent = (costUsd: number) => ({ assay: { spend: { tokens: 100, costUsd } } })
  expect(cells({}, spent(0.0125))[1]).toBe('$0.0125')
  expect(cells({}, spent(0))[1]).toBe('')
  expect(cells({}, {})[1]).toBe('')
})

test('what it waits for: its own question before that of a child', () => {
  const childRuns = [
    { runId: 'done', status: 'completed' },
    { runId: 'asks', status: 'waiting-approval' },
  ]
  const interrupt = { kind: 'approval', data: { title: 'Send it?' } }
  expect(cells({}, { interrupt, childRuns })[2]).toBe('approval: Send it?')
  expect(cells({}, { childRuns })[2]).toBe('its child asks')
  expect(cells({}, { childRuns: childRuns.slice(0, 1) })[2]).toBe('')
})
