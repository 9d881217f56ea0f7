import { describe, expect, test } from 'vitest'
import { checkLog } from './check-log.js'
import type { CheckedEvent } from './checked.js'
import { identityOf } from './effects.js'
import { graphOf } from './graph.js'
import { fromRows, fromWire } from './read-log.js'
import { fromSeed } from './testing/choice.js'
import { legalLog } from './testing/legal-log.js'

const rulesOf = (input: Parameters<typeof checkLog>[0]) => checkLog(input).map(finding => finding.rule)

const doc = (sequence: number, type: string, payload: unknown, more: object = {}) => ({
  eventId: `ev-${sequence}`,
  runId: 'r1',
  type,
  payload,
  sequence,
  timestamp: new Date(sequence * 1000).toISOString(),
  ...more,
})

const noop = [
  doc(0, 'run.started', { workflowId: 'w' }),
  doc(1, 'node.started', { nodeId: 'a', typeId: 'core.noop' }, { nodeId: 'a', causationId: 'ev-0' }),
  doc(2, 'node.completed', { nodeId: 'a', durationMs: 3 }, { nodeId: 'a' }),
  doc(3, 'acme.canvas.published', {}),
  doc(4, 'run.completed', { durationMs: 9 }),
]

describe('logs of another host, as the wire shows them', () => {
  test('a legal one has no findings in the openwop dialect', () => {
    expect(checkLog({ ...fromWire(noop), dialect: 'openwop' })).toEqual([])
    expect(checkLog({ ...fromWire({ events: noop }), dialect: 'openwop' })).toEqual([])
  })

  test('L31, L31a, L31c: what only Assay promises is asked of Assay only', () => {
    expect(new Set(rulesOf(fromWire(noop)))).toEqual(new Set(['L31', 'L31a', 'L31c']))
  })

  test('L1, L8, L31, L31a: an envelope without its fields is a finding, not a crash', () => {
    expect(new Set(rulesOf({ ...fromWire([{}]), dialect: 'openwop' }))).toEqual(
      new Set(['L1', 'L5a', 'L8', 'L31', 'L31a']),
    )
    expect(() => fromWire({ hello: 1 })).toThrow('a log is a list of events')
    expect(checkLog({ ...fromWire([null, 3]), dialect: 'openwop' })).not.toEqual([])
  })

  test('L7: a suspended node resumes and completes', () => {
    const events = [
      doc(0, 'run.started', { workflowId: 'w' }),
      doc(1, 'node.started', { nodeId: 'a', typeId: 'core.approvalGate' }, { nodeId: 'a' }),
      doc(2, 'node.suspended', { nodeId: 'a', interruptId: 'i' }, { nodeId: 'a' }),
      doc(3, 'node.resumed', { nodeId: 'a', interruptId: 'i' }, { nodeId: 'a' }),
      doc(4, 'node.completed', { nodeId: 'a' }, { nodeId: 'a' }),
      doc(5, 'run.completed', {}),
    ]
    expect(checkLog({ ...fromWire(events), dialect: 'openwop' })).toEqual([])
  })
})

test('rows of a store become events; text that is not JSON is a finding', () => {
  const row = { sequence: 0, type: 'run.resumed', nodeId: null, payload: '{}', secret: null, cause: null, at: 1 }
  expect(fromRows('r', [row, { ...row, sequence: 1, cause: 0, epoch: 2 }])).toEqual([
    { sequence: 0, eventId: 'r:0', type: 'run.resumed', nodeId: null, payload: {}, causationId: null, at: 1 },
    {
      sequence: 1,
      eventId: 'r:1',
      type: 'run.resumed',
      nodeId: null,
      payload: {},
      causationId: 'r:0',
      at: 1,
      epoch: 2,
    },
  ])
  expect(rulesOf({ runs: [{ runId: 'r', events: fromRows('r', [{ ...row, payload: '{' }]) }] })).toContain('L31a')
})

test('L30a: the identity of an effect is the contract’s', () => {
  const call = { nodeId: 'n1', ordinal: 0, provider: 'openai:chat' }
  expect(identityOf('t1', 'run_1', call)).toBe('AXuHlDgJZTCEL8wRpZmUdVOt_iVjgwVg_Q1qsbIGT-4')
})

test('L7d: the inner of two nested loops is entered by a forward edge and left by another', () => {
  const edge = (sourceNodeId: string, targetNodeId: string) => ({ sourceNodeId, targetNodeId })
  const nodes = ['outer', 'a', 'inner', 'b', 'c', 'after'].map(id => ({ id, typeId: 'core.noop' }))
  const edges = [
    edge('outer', 'a'),
    edge('a', 'inner'),
    edge('inner', 'b'),
    edge('b', 'inner'),
    edge('inner', 'c'),
    edge('c', 'outer'),
    edge('outer', 'after'),
  ]
  const graph = graphOf({ nodes, edges })
  const inbound = (id: string) => graph?.nodes.get(id)?.inbound.map(({ source, inStep }) => ({ source, inStep }))
  expect(inbound('outer')).toEqual([])
  expect(inbound('inner')).toEqual([{ source: 'a', inStep: false }])
  expect(inbound('b')).toEqual([{ source: 'inner', inStep: true }])
  expect(inbound('c')).toEqual([{ source: 'inner', inStep: false }])
  expect(inbound('after')).toEqual([{ source: 'outer', inStep: false }])
  expect([...(graph?.nodes.values() ?? [])].filter(node => node.repeats).map(node => node.id)).toEqual([
    'outer',
    'a',
    'inner',
    'b',
    'c',
  ])
})

test('names such as __proto__ and constructor are data', () => {
  const payload = JSON.parse('{"name":"__proto__","next":{"admin":true},"nodeId":"constructor"}')
  const log = legalLog('linear', fromSeed(1))
  const run = log.runs[0]
  const before = (run?.events ?? []).slice(0, 1)
  const event: CheckedEvent = { sequence: 1, type: 'variable.changed', nodeId: 'constructor', payload, at: 9e12 }
  expect(rulesOf({ runs: [{ runId: 'r', ...run, row: { status: 'running' }, events: [...before, event] }] })).toContain(
    'L7a',
  )
  expect(({} as { admin?: boolean }).admin).toBeUndefined()
})

test('a log of 200,000 events is checked in linear time', () => {
  const long = (rounds: number) => {
    const events: CheckedEvent[] = []
    const emit = (type: string, nodeId: string | null, payload: object) =>
      events.push({
        sequence: events.length,
        type,
        nodeId,
        payload,
        at: events.length,
        causationId: events.length === 0 ? null : `r:${events.length - 1}`,
      })
    emit('run.started', null, { workflowId: 'w' })
    for (let i = 0; i < rounds; i++) {
      emit('node.started', 'a', { nodeId: 'a', typeId: 't', attempt: 0 })
      emit('node.completed', 'a', { nodeId: 'a', outputs: {} })
    }
    emit('run.completed', null, { outputs: {} })
    return { runs: [{ runId: 'r', events }], dialect: 'openwop' as const }
  }
  expect(checkLog(long(100_000))).toEqual([])
})
