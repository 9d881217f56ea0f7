import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentNode, answered, breaks, briefs, says, tool, wants } from '../../testing/invocations.js'
import { begins, ends, payloads } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import type { Spend } from './budget.js'

const READ = tool('mcp:files.read')
const UNUSABLE = { kind: 'unusable', reason: 'parse-error', problem: 'p' } as const

const FAMILY = {
  nodes: {
    a: agentNode({ settings: { maxRetries: 3, retryDelayMs: 1 } }),
    sub: { type: 'core.subWorkflow', config: { workflowId: 'x' } },
  },
}

/** An agent that has its brief, beside a worker that was granted all there is. */
function beside(budget: JsonObject): Scenario {
  const run = given(FAMILY).start({}, { budget })
  expect(run.owed.flatMap(owed => (owed.kind === 'start-child' ? [owed.grant] : []))).toEqual([budget])
  begins(run, 'c1', { nodeId: 'sub' })
  return briefs(run, { tools: [READ] })
}

const spend = (more: Partial<Spend>): Spend => ({ tokens: 0, costNano: 0, toolCalls: 0, retries: 0, ...more })

const workerEnds = (run: Scenario, spent: Partial<Spend>) =>
  ends(run, 'c1', {}, { nodeId: 'sub', spent: spend(spent) } as never)

const spentBy = ({ state }: Scenario) => (state.phase === 'absent' ? undefined : state.spend)
const heldBy = ({ state }: Scenario) => (state.phase === 'absent' ? undefined : state.held)

describe('what a worker was granted', () => {
  it('R-BUDGET-4 R-BUDGET-7: is not used up: a tool call waits for it, and is made with what the worker leaves', () => {
    const run = says(beside({ maxToolCalls: 10 }), wants(READ.toolId))
    expect(payloads(run, 'agent.toolCalled')).toEqual([])
    expect(payloads(run, 'budget.exhausted')).toEqual([])
    expect(statusOf(run.state)).toBe('running')
    workerEnds(run, { toolCalls: 9 })
    expect(payloads(run, 'agent.toolCalled')).toHaveLength(1)
    expect(spentBy(run)).toMatchObject({ toolCalls: 10 })
  })

  it('R-BUDGET-4 R-BUDGET-7: a tool call that the worker leaves nothing for ends the run', () => {
    const run = workerEnds(says(beside({ maxToolCalls: 10 }), wants(READ.toolId)), { toolCalls: 10 })
    expect(payloads(run, 'agent.toolCalled')).toEqual([])
    expect(payloads(run, 'budget.exhausted')).toEqual([{ dimension: 'toolCalls', consumed: 10, limit: 10 }])
  })

  it('R-BUDGET-4 R-BUDGET-7: nothing is asked again at its cost, and that is no exhaustion', () => {
    const run = says(beside({ maxRetries: 5 }), UNUSABLE)
    expect(payloads(run, 'envelope.retry.attempted')).toEqual([])
    expect(payloads(run, 'budget.exhausted')).toEqual([])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'envelope_invalid' } })
  })

  it('R-BUDGET-4 R-BUDGET-7: no node is tried again at its cost: together they stay beneath the ceiling', () => {
    const run = breaks(beside({ maxRetries: 1 }))
    expect(payloads(run, 'node.retried')).toEqual([])
    workerEnds(run, { retries: 1 })
    expect(spentBy(run)).toMatchObject({ retries: 1 })
    expect(payloads(run, 'budget.consumed')).toEqual([{ dimension: 'retries', consumed: 1, limit: 1, remaining: 0 }])
  })

  it('R-BUDGET-4 R-BUDGET-7: what the worker leaves of the retries is there to be used', () => {
    const run = beside({ maxRetries: 1 })
    workerEnds(run, { retries: 0 })
    breaks(run)
    briefs(run.after(1), { tools: [READ] })
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
    expect(spentBy(run)).toMatchObject({ retries: 1 })
  })
})

describe('a worker that outlives its parent', () => {
  it('R-BUDGET-7: may still spend all that it was granted, so all of it is held, and nothing of it is a cost', () => {
    const config = { workflowId: 'x', propagateCancellation: false }
    const run = given({ nodes: { sub: { type: 'core.subWorkflow', config } } })
    run.start({}, { budget: { maxTokens: 1_000, maxCostUsd: 0.5 } })
    begins(run, 'c1', { nodeId: 'sub' })
    expect(heldBy(run)).toBeUndefined()
    run.when({ type: 'CancelRun', by: 'ann' })
    expect(run.told().slice(-2)).toEqual(['node.cancelled sub', 'run.cancelled'])
    expect(heldBy(run)).toEqual(spend({ tokens: 1_000, costNano: 500_000_000 }))
    expect(spentBy(run)).toBeUndefined()
  })
})
