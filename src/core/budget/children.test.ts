import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentNode, answered, briefs, eventsOf, says, story } from '../../testing/invocations.js'
import { begins, ends, next, payloads, scripted, terminate } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import type { Spend } from './budget.js'

const spend = (more: Partial<Spend>): Spend => ({ tokens: 0, costNano: 0, toolCalls: 0, retries: 0, ...more })

const loop = (workers: readonly string[], dispatch = {}, budget: JsonObject = { maxTokens: 1_000, maxRetries: 3 }) =>
  given(scripted([next(...workers), terminate], { dispatch })).start({}, { budget })

const grants = (run: Scenario) =>
  eventsOf(run, 'core.workflowChain.event').flatMap(({ secret }) => (secret && 'grant' in secret ? [secret.grant] : []))

const owedGrants = (run: Scenario) => run.owed.flatMap(owed => (owed.kind === 'start-child' ? [owed.grant] : []))

const ended = (run: Scenario, childRunId: string, spent: Partial<Spend>, more: object = {}) =>
  ends(run, childRunId, {}, { spent: spend(spent), ...more } as never)

describe('what workers may spend', () => {
  it('R-BUDGET-7: one after the other, each gets all that is left', () => {
    const run = loop(['x', 'y'])
    expect(owedGrants(run)).toEqual([{ maxTokens: 1_000, maxRetries: 3 }])
    begins(run, 'child-0')
    ended(run, 'child-0', { tokens: 300, retries: 1 })
    expect(grants(run)).toEqual([
      { maxTokens: 1_000, maxRetries: 3 },
      { maxTokens: 700, maxRetries: 2 },
    ])
  })

  it('R-BUDGET-7: side by side, they share it, and together never have more than there is', () => {
    const run = loop(
      ['x', 'y', 'z'],
      { fanOutPolicy: 'parallel' },
      { maxTokens: 1_000, maxCostUsd: 0.1, maxRetries: 2 },
    )
    expect(grants(run)).toEqual([
      { maxTokens: 333, maxCostUsd: 0.033_333_333, maxRetries: 0 },
      { maxTokens: 333, maxCostUsd: 0.033_333_333, maxRetries: 1 },
      { maxTokens: 334, maxCostUsd: 0.033_333_334, maxRetries: 1 },
    ])
  })

  it('R-BUDGET-7: where nothing is bounded, nothing is granted', () => {
    const run = given(scripted([next('x'), terminate])).start()
    expect(owedGrants(run)).toEqual([undefined])
  })

  it('R-BUDGET-7: a run that was granted so much says so, and lets its own no more', () => {
    const run = given(scripted([next('x'), terminate]))
    const started = {
      workflowId: 'w',
      workflowDigest: 'digest',
      inputs: {},
      transport: 'rest' as const,
      engineVersion: '1',
      owner: { tenant: 't1' },
      grant: { maxTokens: 200 },
      configurable: { budget: { maxTokens: 500, maxToolCalls: 2 } },
    }
    run.when({ type: 'StartRun', runId: 'run-1', started })
    expect(payloads(run, 'budget.reserved')[0]).toMatchObject({
      effectiveBudget: { maxTokens: 200, maxToolCalls: 2 },
    })
    expect(owedGrants(run)).toEqual([{ maxTokens: 200, maxToolCalls: 2 }])
  })
})

describe('what workers have spent', () => {
  it.each(['completed', 'failed', 'cancelled'] as const)(
    'R-BUDGET-7 R-BUDGET-3: is spent here too when the worker has %s, once',
    status => {
      const run = begins(loop(['x']), 'child-0')
      const error = status === 'completed' ? {} : { error: { code: 'e', message: 'm' } }
      ended(run, 'child-0', { tokens: 300, costNano: 5, toolCalls: 2, retries: 1 }, { status, ...error })
      ended(run, 'child-0', { tokens: 300 }, { status })
      expect(payloads(run, 'budget.consumed')).toEqual([
        { dimension: 'tokens', consumed: 300, limit: 1_000, remaining: 700 },
        { dimension: 'retries', consumed: 1, limit: 3, remaining: 2 },
      ])
      expect(run.log.find(({ type }) => type === 'budget.consumed')!.cause).toBe(
        run.log.findIndex(
          event => event.type === 'core.workflowChain.event' && event.payload.phase === `child.${status}`,
        ),
      )
      // Told further up when this run ends.
      expect(run.state.phase === 'ended' && run.state.spend).toEqual({
        tokens: 300,
        costNano: 5,
        toolCalls: 2,
        retries: 1,
      })
    },
  )

  it('R-BUDGET-7: with results to merge, too', () => {
    const run = begins(loop(['x'], { outputMapping: { got: 'v' } }), 'child-0')
    ends(run, 'child-0', { v: 1 }, { spent: spend({ tokens: 10 }) } as never)
    expect(payloads(run, 'budget.consumed')).toHaveLength(1)
    expect(payloads(run, 'output.harvested')).toHaveLength(1)
  })

  it('R-BUDGET-7: of a run that is stopping, too', () => {
    const run = begins(loop(['x']), 'child-0').when({ type: 'CancelRun', by: 'ann' })
    expect(run.told().at(-1)).toBe('assay.stop.requested')
    ended(run, 'child-0', { tokens: 40 }, { status: 'cancelled' })
    expect(run.told().slice(-4)).toEqual([
      'core.workflowChain.event dispatch',
      'budget.consumed',
      'node.cancelled dispatch',
      'run.cancelled',
    ])
    expect(run.state.phase === 'ended' && run.state.spend?.tokens).toBe(40)
  })
})

describe('an agent beside a worker', () => {
  const BESIDE = {
    nodes: {
      f: 'core.parallel',
      a: agentNode(),
      sub: { type: 'core.subWorkflow', config: { workflowId: 'w' } },
    },
    edges: ['f > a', 'f > sub'],
  }
  const beside = (budget: JsonObject, brief = {}) => {
    const run = given(BESIDE).start({}, { budget })
    begins(run, 'child-0', { nodeId: 'sub' })
    return briefs(run, { inputTokens: 100, maxOutputTokens: 500, ...brief })
  }

  it('R-BUDGET-4 R-BUDGET-7: waits while the worker has all there is, and goes on with what it has left', () => {
    const run = beside({ maxTokens: 1_000 })
    expect(payloads(run, 'assay.model.requested')).toEqual([])
    ended(run, 'child-0', { tokens: 300 }, { nodeId: 'sub' })
    expect(payloads(run, 'assay.model.requested')).toMatchObject([{ reservedTokens: 600 }])
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-4 R-BUDGET-7: a retry that the worker has been granted is not taken as well', () => {
    const run = beside({ maxRetries: 1 })
    says(run, { kind: 'unusable', reason: 'parse-error', problem: 'p' })
    expect(payloads(run, 'envelope.retry.attempted')).toEqual([])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'envelope_invalid' } })
  })

  it('R-BUDGET-4: exhausted while a worker is at work: it is waited for, and what it spends is counted', () => {
    const run = beside({ maxRetries: 0 })
    says(run, { kind: 'unusable', reason: 'parse-error', problem: 'p' })
    expect(story(run).slice(-4)).toEqual([
      'budget.exhausted < assay.model.requested',
      'assay.stop.requested',
      'agent.invocation.completed < agent.invocation.started',
      'node.cancelled',
    ])
    ended(run, 'child-0', { tokens: 7 }, { nodeId: 'sub', status: 'cancelled' })
    expect(run.told().slice(-4)).toEqual([
      'core.workflowChain.event sub',
      'node.cancelled sub',
      'cap.breached a',
      'run.failed',
    ])
    expect(run.state.phase === 'ended' && run.state.spend?.tokens).toBe(22)
  })
})
