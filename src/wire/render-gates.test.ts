import { describe, expect, test } from 'vitest'
import type { Ended } from '../core/run/state.js'
import type { OrchestratorDecision } from '../core/supervisor/decision.js'
import type { Gated, Slot } from '../core/verification/state.js'
import { ledgersOf, renderConvergence, renderGates } from './render-gates.js'

const slot = (more: Partial<Slot> = {}): Slot => ({
  gateId: 'quality',
  nodeId: 'hand',
  workerId: 'writer',
  target: 'child-1',
  verdict: 'pass',
  since: 0,
  criteria: ['grounded'],
  attempts: [],
  ...more,
})

/** What a run knows whose gates have said this. */
const held = (slots: Gated['slots'], costs: Gated['costs'] = {}): Gated => ({
  gates: [],
  slots,
  reworks: 0,
  feedback: {},
  costs,
})

/** A run that has ended like this. */
const ended = (more: Partial<Ended> = {}, decision?: OrchestratorDecision): Ended =>
  ({
    phase: 'ended',
    outcome: { status: 'completed', outputs: {} },
    hidden: { variables: [], channels: [] },
    variables: {},
    channels: {},
    ...(decision && { orchestrator: { decision } }),
    ...more,
  }) as unknown as Ended

const terminate = (...met: boolean[]): OrchestratorDecision => ({
  kind: 'terminate',
  successCriteria: met.map((one, i) => ({ key: `k${i}`, met: one })),
})

const goal = (state: Ended) => renderConvergence(state).convergence?.goalSatisfied

describe('R-VERIFY-19: whether a run reached its goal', () => {
  test('is said only where criteria were named, or results judged', () => {
    expect(renderConvergence(ended())).toEqual({})
    expect(renderConvergence(ended({}, { kind: 'terminate', reason: 'done' }))).toEqual({})
    expect(renderConvergence(ended({ gated: held({ a: slot({ verdict: undefined as never }) }) }))).toEqual({})
    expect(renderConvergence(ended({}, { kind: 'next-worker', nextWorkerIds: ['a'] }))).toEqual({})
  })

  test('R-VERIFY-18: is told with the criteria and the verdicts, each pass with what may be said of its result', () => {
    const gated = held({ a: slot({ label: 'verified' }), b: slot({ target: 'child-2', verdict: 'fail' }) })
    expect(renderConvergence(ended({ gated }, terminate(true, false)))).toEqual({
      convergence: {
        successCriteria: [
          { key: 'k0', met: true },
          { key: 'k1', met: false },
        ],
        verdicts: [
          { target: 'child-1', verdict: 'pass', label: 'verified' },
          { target: 'child-2', verdict: 'fail' },
        ],
      },
    })
  })

  test('nobody has said so before the run has completed, and where its end does not', () => {
    expect(goal(ended({ phase: 'active' } as never, terminate(true)))).toBeUndefined()
    const failed = { status: 'failed', error: { code: 'x', message: '', retryable: false } }
    expect(goal(ended({ outcome: failed as never }, terminate(true)))).toBeUndefined()
    expect(goal(ended({ gated: held({ a: slot() }) }))).toBeUndefined()
  })

  test('what stands against it is told with it', () => {
    const against = [{ what: 'forced' as const, nodeId: 'a', gateId: 'g' }]
    const outcome = { status: 'completed' as const, outputs: {}, goalSatisfied: false, against }
    expect(renderConvergence(ended({ outcome }))).toEqual({
      convergence: { goalSatisfied: false, verdicts: [], against },
    })
  })

  test('is what the end of the log says, where it says it', () => {
    const outcome = (goalSatisfied: boolean) => ({ status: 'completed' as const, outputs: {}, goalSatisfied })
    expect(renderConvergence(ended({ outcome: outcome(false) }))).toEqual({
      convergence: { goalSatisfied: false, verdicts: [] },
    })
    expect(goal(ended({ outcome: outcome(true), gated: held({ a: slot({ verdict: 'fail' }) }) }))).toBe(true)
  })

  test('R-SEC-1: a criterion that quotes what the run keeps secret is masked', () => {
    const hidden = { variables: ['token'], channels: [] }
    const state = ended(
      { hidden, variables: { token: 'CNRY-1234' } },
      { kind: 'terminate', successCriteria: [{ key: 'has CNRY-1234', met: true }] },
    )
    expect(JSON.stringify(renderConvergence(state))).not.toContain('CNRY')
  })
})

describe('gates of a snapshot', () => {
  const tokens = (count: number) => ({ tokens: count, costNano: count * 1_000_000_000, toolCalls: 0, retries: 0 })
  const shown = (count: number) => ({ tokens: count, costUsd: count, toolCalls: 0, retries: 0 })

  test('R-DWS-27: each piece of work with its verdict, its attempts, what is still wrong, and what it has cost', () => {
    const attempts = [2, 1].map((blocking, i) => ({
      attempt: i + 1,
      blocking,
      score: 0,
      resultHash: '',
      failed: [],
      cost: { execution: tokens(i + 1), verification: tokens(10) },
    }))
    const place = JSON.stringify(['hand', 'writer', 0])
    const key = JSON.stringify(['quality', place])
    const total = { execution: tokens(3), verification: tokens(20) }
    const work = { execution: tokens(2), verification: tokens(0) }
    const { verdict: _, ...open } = slot({ gateId: 'tone', nodeId: 'write', attempts: [] })
    expect(
      renderGates({
        gated: held({ [key]: slot({ verdict: 'revise', attempts }), '["tone"]': open }, { [place]: { work, total } }),
      }),
    ).toEqual([
      {
        gateId: 'quality',
        nodeId: 'hand',
        workerId: 'writer',
        target: 'child-1',
        verdict: 'revise',
        attempts: 2,
        blocking: 1,
        cost: { execution: shown(3), verification: shown(20) },
        attemptCosts: [
          { execution: shown(1), verification: shown(10) },
          { execution: shown(2), verification: shown(10) },
        ],
      },
      {
        gateId: 'tone',
        nodeId: 'write',
        workerId: 'writer',
        target: 'child-1',
        attempts: 0,
        cost: { execution: shown(0), verification: shown(0) },
        attemptCosts: [],
      },
    ])
    expect(renderGates({})).toEqual([])
  })

  test('R-DWS-28: what verifiers spent is told apart, and both add up', () => {
    const spend = { tokens: 10, costNano: 3_000_000_000, toolCalls: 4, retries: 1 }
    expect(ledgersOf(spend, {})).toEqual({ tokens: 10, costUsd: 3, toolCalls: 4, retries: 1 })
    const verification = { tokens: 4, costNano: 1_000_000_000, toolCalls: 1, retries: 0 }
    expect(ledgersOf(spend, { verification })).toEqual({
      tokens: 10,
      costUsd: 3,
      toolCalls: 4,
      retries: 1,
      execution: { tokens: 6, costUsd: 2, toolCalls: 3, retries: 1 },
      verification: { tokens: 4, costUsd: 1, toolCalls: 1, retries: 0 },
    })
  })
})
