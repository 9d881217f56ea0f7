import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { toldRuns } from '../testing/stories/tell-story.js'
import { checkLog } from './check-log.js'
import type { CheckedEvent } from './checked.js'
import { graphOf } from './graph.js'
import { identityOf } from './node/effects.js'
import { fromRows, fromWire } from './read-log.js'
import { chained } from './testing/chained.js'
import { fromSeed } from './testing/choice.js'

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

test('L33: rows that carry a hash are checked as a chain, as their store holds the text', () => {
  const row = { sequence: 0, type: 'run.resumed', nodeId: null, payload: '{ }', secret: null, cause: null, at: 1 }
  const hash = createHash('sha256').update('["",0,"run.resumed",null,"{ }",null,null,1,"{}"]').digest('base64url')
  const events = fromRows('r', [{ ...row, input: '{}', hash }])
  const chainRules = (head: string, chain = events) =>
    rulesOf({ runs: [{ runId: 'r', events: chain, row: { status: 'running', head } }] }).filter(id =>
      id.startsWith('L33'),
    )
  expect(events[0]?.link).toEqual({ payload: '{ }', secret: null, cause: null, input: '{}', salt: null, hash })
  expect(chainRules(hash)).toEqual([])
  expect(chainRules('other')).toEqual(['L33a'])
  expect(chainRules(hash, fromRows('r', [{ ...row, payload: '{}', input: '{}', hash }]))).toEqual(['L33'])
})

test('L33: events that are older than the chain have no hash', async () => {
  const { runs } = await toldRuns('line', fromSeed(1))
  const aged = runs.map(run => {
    const events = chained(run.events, 4)
    return { ...run, events, row: { status: 'running', ...run.row, head: events.at(-1)?.link?.hash ?? '' } }
  })
  expect(Math.max(...aged.map(({ events }) => events.length))).toBeGreaterThan(4)
  expect(rulesOf({ runs: aged })).toEqual([])
})

describe('a fork of which nobody says that it is one', () => {
  const started = { nodeId: 'a', typeId: 'core.subWorkflow', attempt: 0 }
  const dispatched = { childRunId: 'c1', childWorkflowId: 'w' }
  const events = [
    doc(0, 'run.started', { workflowId: 'w', parentRunId: 'p', parentNodeId: 'n' }),
    doc(1, 'node.started', started, { nodeId: 'a' }),
    doc(2, 'node.dispatched', dispatched, { nodeId: 'a' }),
    doc(3, 'assay.run.forked', { sourceRunId: 'r0', fromSeq: 3 }),
    doc(4, 'node.dispatched', { ...dispatched, childRunId: 'c2' }, { nodeId: 'a' }),
  ]
  const [run] = fromWire(events).runs
  const source = {
    runId: 'r0',
    events: (run?.events ?? []).slice(0, 3).map(event => ({ ...event, eventId: `x${event.sequence}` })),
  }
  const parent = { runId: 'p', events: [] }

  test('L21a, L29a: its log tells: what comes before the cut is another run’s', () => {
    const found = rulesOf({
      runs: [{ runId: 'r1', ...run }, source].map(one => ({ events: [], ...one })),
      dialect: 'openwop',
    })
    expect(found).toEqual([])
  })

  test('L21a: it is nobody’s child', () => {
    expect(rulesOf({ runs: [{ runId: 'r1', events: run?.events ?? [] }, parent], dialect: 'openwop' })).toEqual([])
  })

  test('L29a: when it is known to be none, it may not say so', () => {
    expect(rulesOf({ runs: [{ runId: 'r1', events: run?.events ?? [], fork: null }] })).toContain('L29a')
  })
})

describe('L28: questions of another host', () => {
  const asked = { nodeId: 'a', interruptId: 'i', kind: 'approval', key: 'k', data: { actions: ['accept'] } }
  const ask = [
    doc(0, 'run.started', { workflowId: 'w' }),
    doc(1, 'node.started', { nodeId: 'a', typeId: 't' }, { nodeId: 'a' }),
    doc(2, 'interrupt.requested', asked, { nodeId: 'a' }),
    doc(3, 'node.suspended', { nodeId: 'a', interruptId: 'i' }, { nodeId: 'a' }),
  ]
  const answer = (value: unknown) =>
    doc(4, 'interrupt.resolved', { nodeId: 'a', interruptId: 'i', resumeValue: value }, { nodeId: 'a' })
  const found = (...more: object[]) => rulesOf({ ...fromWire([...ask, ...more]), dialect: 'openwop' })

  test('are answered with what was offered; behind a mask nobody can tell', () => {
    expect(found(answer({ action: 'accept' }))).toEqual([])
    expect(found(answer('[REDACTED]'))).toEqual([])
    expect(found(answer({ action: 'reject' }))).toContain('L28f')
  })

  test('may fail their node when time is over, and nothing else', () => {
    const error = { code: 'InterruptTimeoutError', message: 'late' }
    expect(found(doc(4, 'node.failed', { nodeId: 'a', error }, { nodeId: 'a' }))).toEqual([])
    expect(found(doc(4, 'node.completed', { nodeId: 'a' }, { nodeId: 'a' }))).toEqual(['L28d'])
  })
})

describe('L20–L22: an orchestrator of another host', () => {
  const decided = (sequence: number, decision: object, more: object = {}) =>
    doc(sequence, 'runOrchestrator.decided', { agentId: 'acme.lead', decision, ...more }, { nodeId: 's' })
  const chain = (sequence: number, phase: string, causationId: string, more: object = {}) =>
    doc(
      sequence,
      'core.workflowChain.event',
      { phase, workerId: 'w1', parentRunId: 'r1', ...more },
      { nodeId: 'd', causationId },
    )
  const node = (sequence: number, what: string, nodeId: string, typeId: string, more: object = {}) =>
    doc(sequence, `node.${what}`, { nodeId, ...(what === 'started' ? { typeId } : {}) }, { nodeId, ...more })
  const child = { childRunId: 'c1' }
  const turn = [
    doc(0, 'run.started', { workflowId: 'w' }),
    node(1, 'started', 's', 'core.orchestrator.supervisor'),
    decided(2, { kind: 'next-worker', nextWorkerIds: ['w1'] }),
    node(3, 'completed', 's', ''),
    node(4, 'started', 'd', 'core.dispatch'),
    chain(5, 'dispatch.began', 'ev-2'),
    doc(
      6,
      'node.dispatched',
      { ...child, childWorkflowId: 'w1', childStatus: 'running' },
      { nodeId: 'd', causationId: 'ev-2' },
    ),
    chain(7, 'dispatch.succeeded', 'ev-5', child),
    chain(8, 'child.completed', 'ev-7', child),
    chain(9, 'output.harvested', 'ev-8', child),
    node(10, 'completed', 'd', '', { causationId: 'ev-2' }),
    node(11, 'started', 's', 'core.orchestrator.supervisor'),
    decided(12, { kind: 'terminate', confidence: 0.2 }),
  ]
  const found = (...events: object[]) => rulesOf({ ...fromWire(events), dialect: 'openwop' })

  test('need not count its turns, name its escalation’s cause, or leave out the status of a child', () => {
    const escalated = { confidence: 0.2, floor: 0.5, escalationKind: 'escalate', parentRunId: 'r1' }
    const asked = { nodeId: 's', interruptId: 'i', kind: 'approval', key: 'k', data: { actions: ['accept'] } }
    const rest = [
      doc(13, 'core.workflowChain.confidence-escalated', escalated, { nodeId: 's' }),
      doc(14, 'interrupt.requested', asked, { nodeId: 's' }),
      doc(15, 'node.suspended', { nodeId: 's', interruptId: 'i' }, { nodeId: 's' }),
    ]
    expect(found(...turn, ...rest)).toEqual([])
    expect(found(...turn, ...rest.slice(1).map((event, i) => ({ ...event, sequence: 13 + i })))).toEqual([
      'L20f',
      'L22',
    ])
  })

  test('is held to what the protocol asks: order, causes, one decision per turn, numbers that count', () => {
    const without = (sequence: number) =>
      turn.filter(event => event.sequence !== sequence).map((event, place) => ({ ...event, sequence: place }))
    expect(found(...without(7))).toContain('L21g')
    expect(found(...turn.slice(0, 5), chain(5, 'dispatch.began', 'ev-4'))).toContain('L21h')
    expect(found(...without(2))).toContain('L20')
    expect(found(...turn.slice(0, 2), decided(2, { kind: 'terminate' }, { iteration: 2 }))).toContain('L20a')
    expect(found(...turn.slice(0, 2), decided(2, { kind: 'vendor.acme.ponder' }))).toEqual([])
    expect(found(...turn.slice(0, 2), decided(2, { kind: 'ponder' }))).toEqual(['L20d'])
  })

  test('may tell no hand-offs at all', () => {
    expect(
      found(
        ...turn
          .filter(event => event.type !== 'core.workflowChain.event')
          .map((event, place) => ({ ...event, sequence: place })),
      ),
    ).toEqual([])
  })
})

test('L7d, L7f: a supervisor leads its loop, wherever the definition lists it; a dispatch without edges returns to it', () => {
  const nodes = [
    { id: 'd', typeId: 'core.dispatch' },
    { id: 's', typeId: 'core.orchestrator.supervisor', agent: { agentId: 'acme.lead' } },
    { id: 'after', typeId: 'core.noop' },
  ]
  const edge = (sourceNodeId: string, targetNodeId: string) => ({ sourceNodeId, targetNodeId })
  for (const back of [[], [edge('d', 's')]]) {
    const graph = graphOf({ nodes, edges: [edge('s', 'd'), edge('s', 'after'), ...back] })
    expect(graph?.nodes.get('s')).toMatchObject({ inbound: [], repeats: true, agentId: 'acme.lead' })
    expect(graph?.nodes.get('d')).toMatchObject({ inbound: [{ source: 's', inStep: true }], loops: new Set(['s']) })
    expect(graph?.nodes.get('after')).toMatchObject({ repeats: false })
  }
})

test('L30a R-EFFECT-1: the identity of an effect is the contract’s', () => {
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

test('names such as __proto__ and constructor are data', async () => {
  const payload = JSON.parse('{"name":"__proto__","next":{"admin":true},"nodeId":"constructor"}')
  const log = await toldRuns('line', fromSeed(1))
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
