import { describe, expect, test } from 'vitest'
import type { RunEventDoc, RunSnapshot } from '../../client/wire-shapes.js'
import { hasCeilings, invocationRows, loopRows, pricedIn, spendRows, waitingRows, workerRows } from './run-details.js'

const run = (more: Partial<RunSnapshot>): RunSnapshot => ({
  runId: 'r',
  workflowId: 'w',
  status: 'running',
  eventLogSchemaVersion: 2,
  ...more,
})

const decision = { kind: 'next-worker' as const, nextWorkerIds: ['writer', 'critic'], confidence: 0.9 }
const discovery = { limits: { maxNodeExecutions: 1000, maxLoopIterations: 50, maxRunDurationMs: 3_600_000 } }

describe('the loop', () => {
  test('says the turn, the latest decision, who decides and who acts', () => {
    const loop = { iteration: 2, phase: 'dispatching' as const, decision, limit: 10 }
    const agents = { runOrchestrator: { agentId: 'core.chief' }, agent: { agentId: 'vendor.acme.writer' } }
    expect(loopRows(run({ loop, ...agents }), discovery)).toEqual([
      ['turn', '2 of 10, dispatching'],
      ['decision', 'next-worker writer, critic (confidence 0.9)'],
      ['decides', 'core.chief'],
      ['agent', 'vendor.acme.writer'],
      ['bounds', '1000 node executions, 50 turns, 1 h'],
    ])
  })

  test('R-BOUND-1: the lower of what the run asks for and what the host allows bounds it', () => {
    const loop = { iteration: 2, phase: 'deciding' as const, decision, limit: 10_000 }
    const configurable = { recursionLimit: 20, maxLoopIterations: 10_000, runTimeoutMs: 90_000 }
    const rows = Object.fromEntries(loopRows(run({ loop, configurable }), discovery))
    expect(rows).toMatchObject({ turn: '2 of 50, deciding', bounds: '20 node executions, 50 turns, 1 min' })
  })

  test('a host that says nothing of its limits leaves those of the run', () => {
    expect(loopRows(run({ configurable: { recursionLimit: 20 } }), {})).toEqual([['bounds', '20 node executions']])
    const loop = { iteration: 1, phase: 'done' as const, decision: { kind: 'terminate' as const } }
    expect(loopRows(run({ loop }), {})).toEqual([
      ['turn', '1, done'],
      ['decision', 'terminate'],
    ])
  })

  test('a plain run has nothing of it', () => {
    expect([hasCeilings(run({})), loopRows(run({ configurable: { model: 'x' } }), discovery)]).toEqual([false, []])
  })
})

test('workers are listed with their node, their status and their run', () => {
  const nodeStates: RunSnapshot['nodeStates'] = {
    sup: { status: 'completed' },
    hand: {
      status: 'running',
      workers: [
        { workerId: 'writer', status: 'running', childRunId: 'c-1' },
        { workerId: 'critic', status: 'pending' },
      ],
    },
  }
  expect(workerRows(run({ nodeStates }))).toEqual([
    ['hand', 'writer', 'running', 'c-1'],
    ['hand', 'critic', 'pending', ''],
  ])
})

describe('agents', () => {
  test('R-BUDGET-2: what was spent is told against its ceilings', () => {
    const spend = { tokens: 1200, costUsd: 0.0125, toolCalls: 3, retries: 0 }
    expect(spendRows(run({}))).toEqual([])
    expect(spendRows(run({ assay: { spend, budget: { maxTokens: 5000, maxCostUsd: 2 } } }))).toEqual([
      ['tokens', '1200 of 5000'],
      ['cost', '$0.0125 of $2'],
      ['tool calls', '3'],
      ['retries', '0'],
    ])
  })

  test('R-BUDGET-1: tokens without a price have an unknown cost, and not none', () => {
    const spend = { tokens: 1200, costUsd: 0, toolCalls: 0, retries: 0 }
    const costs = (priced?: 'all' | 'not-all') => spendRows(run({ assay: { spend } }), priced)[1]
    expect([costs(), costs('not-all'), costs('all')]).toEqual([
      ['cost', 'none known'],
      ['cost', 'unknown'],
      ['cost', '$0'],
    ])
    const used = (more: object) =>
      ({ type: 'provider.usage', payload: { totalTokens: 7, ...more } }) as unknown as RunEventDoc
    expect(pricedIn([])).toBeUndefined()
    expect(pricedIn([used({ costEstimateUsd: 0 })])).toBe('all')
    expect(pricedIn([used({ costEstimateUsd: 0 }), used({})])).toBe('not-all')
  })

  test('R-BUDGET-3: what nobody knows the cost of is told apart', () => {
    const spend = { tokens: 0, costUsd: 0, toolCalls: 0, retries: 0 }
    const held = { ...spend, tokens: 1100, costUsd: 0.0102 }
    expect(spendRows(run({ assay: { spend, held } }))).toEqual([
      ['tokens', '0'],
      ['cost', '$0'],
      ['tool calls', '0'],
      ['retries', '0'],
      ['held', '1100 tokens, up to $0.0102: cost unknown'],
    ])
  })

  test('those at work are listed with their node, their model and how far they are', () => {
    const invocation = { invocationId: 'i', agentId: 'a', provider: 'openai', model: 'm', modelCalls: 2 }
    const nodeStates: RunSnapshot['nodeStates'] = {
      write: { status: 'running', invocation: { ...invocation, phase: 'thinking' } },
      end: { status: 'pending' },
    }
    expect(invocationRows(run({ nodeStates }))).toEqual([['write', 'a', 'openai:m', 'thinking', '2']])
  })
})

describe('what it waits for', () => {
  test('is said with the command that answers', () => {
    const interrupt: RunSnapshot['interrupt'] = {
      kind: 'low-confidence',
      nodeId: 'sup',
      interruptId: 'i',
      key: 'k',
      data: { agentId: 'core.chief', observed: 0.3, threshold: 0.7 },
      requestedAt: '2026-01-01T00:00:00.000Z',
      expiresAt: '2026-01-02T00:00:00.000Z',
      shownHash: 'h',
    }
    expect(waitingRows(run({ interrupt }))).toEqual([
      ['waits for', 'low-confidence: core.chief is sure to 0.3; 0.7 is needed'],
      ['expires', '2026-01-02T00:00:00.000Z'],
      ['look', 'assay interrupts show r'],
      ['answer', `assay interrupts resolve r sup --value '{"action":"accept"}'`],
    ])
  })

  test('a child that waits is named', () => {
    const childRuns: RunSnapshot['childRuns'] = [
      { runId: 'c-1', status: 'completed' },
      { runId: 'c-2', status: 'waiting-input' },
    ]
    expect(waitingRows(run({ childRuns }))).toEqual([['answer', 'assay interrupts show c-2']])
  })
})
