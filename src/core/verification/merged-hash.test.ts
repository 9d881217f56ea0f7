import { describe, expect, it } from 'vitest'
import { convenes, faults, gateAt, inspects, judged, poor, subFlow, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, eventsOf, says } from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'

/** What was judged last, as the gate's own events name it. */
const judgedHash = (run: Scenario) => payloads(run, 'dws.verification.started').at(-1)!.resultHash

const harvested = (run: Scenario) =>
  eventsOf(run, 'core.workflowChain.event').find(({ payload }) => payload.phase === 'output.harvested')

describe('the event that merges a result carries the hash that its gates have let pass', () => {
  it('S10: a harvest, where it is not shown', () => {
    const run = judged(works(given(subFlow()).start({}, undefined, [gateAt('a', 'phase_exit')]), 'child-1', { x: 1 }))
    expect(harvested(run)).toMatchObject({ secret: { resultHash: judgedHash(run) } })
    expect(JSON.stringify(harvested(run)!.payload)).not.toContain('resultHash')
  })

  it('S10: a harvest that is told before a person is asked', () => {
    const flow = subFlow({ outputAttestation: { requireApproval: true } })
    const run = judged(works(given(flow).start({}, undefined, [gateAt('a', 'phase_exit')]), 'child-1', { x: 1 }))
    expect(payloads(run, 'variable.changed')).toEqual([])
    expect(harvested(run)).toMatchObject({ secret: { resultHash: judgedHash(run) } })
  })

  it('S10: an agent’s node, the second result where the first was sent back', () => {
    const start = given(agentFlow({})).start({}, undefined, [gateAt('a', 'phase_exit')])
    const run = says(briefs(start), answered('first'))
    judged(run, poor())
    says(briefs(run), answered('second'))
    judged(run)
    const hashes = payloads(run, 'dws.verification.started').map(({ resultHash }) => resultHash)
    expect(new Set(hashes).size).toBe(2)
    expect(eventsOf(run, 'node.completed')).toMatchObject([{ secret: { resultHash: hashes[1] } }])
  })

  it('S10: the end of a run, and nothing else, where the gate stands at the exit', () => {
    const start = given(agentFlow({})).start({}, undefined, [gateAt('a', 'workflow_exit')])
    const run = judged(says(briefs(start), answered('first')))
    expect(eventsOf(run, 'run.completed')).toMatchObject([{ secret: { resultHash: judgedHash(run) } }])
    expect(eventsOf(run, 'node.completed').every(({ secret }) => secret === undefined)).toBe(true)
  })

  it('S10: nothing, where no gate stands', () => {
    const run = says(briefs(given(agentFlow({})).start({})), answered('first'))
    for (const type of ['node.completed', 'run.completed'] as const)
      expect(eventsOf(run, type).map(({ secret }) => secret)).toEqual([undefined])
  })

  it('S10: what a person let pass that nobody could judge', () => {
    const gate = gateAt('a', 'phase_exit', { behaviour: { retries: 0 } })
    const run = inspects(says(briefs(given(agentFlow({})).start({}, undefined, [gate])), answered('first')))
    faults(convenes(run), 0)
    run.when(answer('a', { action: 'accept' }))
    expect(eventsOf(run, 'node.completed')).toMatchObject([{ secret: { resultHash: judgedHash(run) } }])
  })
})
