import { describe, expect, it } from 'vitest'
import { convenes, faults, gateAt, inspects, judged } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, eventsOf, says } from '../../testing/invocations.js'
import { begins, ends } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import { branchOff } from '../replay/fork.js'

const SPENT = { tokens: 40, costNano: 0, toolCalls: 0, retries: 0 }
const BOUNDED = { budget: { maxTokens: 10_000 } }

const sub: Sketch = {
  nodes: { a: { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'x' } } } },
}

/** The types of the events that say what was spent, of a branch that is cut directly after an event. */
function causesInBranch(run: Scenario, after: number): (string | undefined)[] {
  const fromSeq = after + 1
  const fork = { sourceRunId: 'run-1', fromSeq, mode: 'branch' as const, sourceLength: run.log.length }
  const shared = run.log.slice(0, fromSeq)
  const first = branchOff(run.rules, { phase: 'absent', fork }, 'run-2', shared, {}, run.now)
  if (!first.ok) throw new Error(first.refusal.message)
  const log = [...shared, ...first.events]
  return log
    .slice(fromSeq)
    .filter(event => event.type === 'budget.consumed')
    .map(({ cause }) => log[cause ?? -1]?.type)
}

describe('what the log says while a gate is at work', () => {
  it('R-LIVE-16: a run that is cancelled meanwhile ends the invocation whose result is judged', () => {
    const run = says(briefs(given(agentFlow()).start({}, undefined, [gateAt('a', 'phase_exit')])), answered('first'))
    convenes(inspects(run)).when({ type: 'CancelRun', by: 'ann' })
    faults(run, 0, 'cancelled')
    expect(run.told().slice(-4)).toEqual([
      'assay.verifier.ended a',
      'agent.invocation.completed a',
      'node.cancelled a',
      'run.cancelled',
    ])
    expect(eventsOf(run, 'agent.invocation.completed')).toMatchObject([{ payload: { outcome: 'failed' } }])
  })

  it('R-BUDGET-3: what a child spent is due to its end, also in a branch that is cut there', () => {
    const run = begins(given(sub).start({}, BOUNDED), 'child-1', { nodeId: 'a' })
    const ended = { type: 'ChildEnded', nodeId: 'a', childRunId: 'child-1', status: 'completed' } as const
    run.when({ ...ended, variables: { x: 1 }, hidden: [], spent: SPENT })
    const after = run.sequence('budget.consumed') - 1
    expect(run.log[after]).toMatchObject({ payload: { phase: 'child.completed' } })
    expect(causesInBranch(run, after)).toEqual(['core.workflowChain.event'])
  })

  it('R-BUDGET-3: what a verifier spent is due to its end, also in a branch that is cut there', () => {
    const run = says(briefs(given(agentFlow()).start({}, BOUNDED, [gateAt('a', 'phase_exit')])), answered('first'))
    faults(convenes(inspects(run)), 0, 'failed', { spent: SPENT })
    expect(causesInBranch(run, run.sequence('assay.verifier.ended'))).toEqual(['assay.verifier.ended'])
  })

  it('R-VERIFY-19: that work is missing counts also where the node that handed it out waits at the exit', () => {
    const absorbing = { type: 'core.subWorkflow', config: { workflowId: 'w', onChildFailure: 'absorb' } }
    const exit = gateAt('a', 'workflow_exit')
    const run = begins(given({ nodes: { a: absorbing } }).start({}, undefined, [exit]), 'child-1', { nodeId: 'a' })
    ends(run, 'child-1', {}, { nodeId: 'a', status: 'failed', error: { code: 'no', message: 'no' } })
    judged(run)
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
    expect(run.log.at(-1)?.payload).not.toHaveProperty('goalSatisfied')
  })

  it('R-HANDOFF-2: that a child gave up is kept beside the hand-off, whose payload is closed', () => {
    const run = begins(given(sub).start(), 'child-1', { nodeId: 'a' })
    const ended = { type: 'ChildEnded', nodeId: 'a', childRunId: 'child-1', status: 'completed' } as const
    run.when({ ...ended, variables: { x: 1 }, hidden: [], goalSatisfied: false })
    const completed = eventsOf(run, 'core.workflowChain.event').find(
      ({ payload }) => payload.phase === 'child.completed',
    )
    expect(completed?.payload).not.toHaveProperty('goalSatisfied')
    expect(completed?.secret).toMatchObject({ goalSatisfied: false })
  })
})
