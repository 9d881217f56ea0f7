import { describe, expect, test } from 'vitest'
import { admits, FLUSHES } from './stream-mode.js'

describe('which modes carry what (contract core §6)', () => {
  test.each([
    'interrupt.requested',
    'interrupt.resolved',
    'approval.requested',
    'approval.received',
    'clarification.requested',
    'clarification.resolved',
    'node.suspended',
    'node.dispatched',
    'runOrchestrator.decided',
    'core.workflowChain.event',
    'core.workflowChain.confidence-escalated',
  ])('R-SSE-3: %s is in updates, moves values, and is in debug', type => {
    expect([admits(['updates'], type), admits(['values'], type), admits(['debug'], type)]).toEqual([true, true, true])
    expect(admits(['messages'], type)).toBe(false)
  })

  test.each([
    'agent.reasoned',
    'agent.decided',
    'replay.diverged',
    'node.resumed',
    'assay.interrupt.voted',
    'assay.interrupt.asked',
    'assay.run.forked',
  ])('R-SSE-3: %s is in debug only', type => {
    expect(admits(['debug'], type)).toBe(true)
    expect(admits(['updates'], type) || admits(['values'], type) || admits(['messages'], type)).toBe(false)
  })

  test('R-SSE-4: a batch does not hold back that somebody is asked', () => {
    expect(FLUSHES.has('node.suspended')).toBe(true)
  })
})
