import { describe, expect, it } from 'vitest'
import { gateAt, judged, poor, subFlow, verdicts, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentNode, answered, briefs, eventsOf, owedTo, says } from '../../testing/invocations.js'
import { answer, begins, next, payloads, scripted } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import type { JsonObject } from '../json.js'

const end = (met = true): JsonObject => ({ kind: 'terminate', successCriteria: [{ key: 'correctness', met }] })
const once = { behaviour: { max_attempts: 1 } }

const led = (plan: JsonObject[], gate: Parameters<typeof gateAt>[2] = once) =>
  given(scripted(plan, { dispatch: { outputMapping: { got: 'x' } } })).start({}, undefined, [
    gateAt('dispatch', 'phase_exit', gate),
  ])

const brings = (run: Scenario, childRunId: string, worker = 0) =>
  works(run, childRunId, { x: childRunId }, { nodeId: 'dispatch', worker })

/** A worker ends its run, and says itself that it has not reached its goal. */
function givesUp(run: Scenario, childRunId: string, nodeId = 'dispatch'): Scenario {
  begins(run, childRunId, { nodeId })
  const ended = { type: 'ChildEnded', nodeId, childRunId, status: 'completed' } as const
  return run.when({ ...ended, variables: { x: childRunId }, hidden: [], goalSatisfied: false })
}

const refused = (run: Scenario) => eventsOf(run, 'node.completed').filter(({ payload }) => payload.outputs.refused)
const attempts = (run: Scenario) => payloads(run, 'dws.verification.started').map(({ attempt }) => attempt)
const said = (run: Scenario) => verdicts(run).map(({ verdict }) => verdict)
const goal = (run: Scenario) => payloads(run, 'run.completed').map(({ goalSatisfied }) => goalSatisfied)

/** What the worker that was handed work last was told of its work before. */
const toldTo = (run: Scenario, nodeId = 'dispatch') =>
  owedTo(run, 'start-child', nodeId)?.withheld?.verificationFeedback

const failed = { outcome: { status: 'failed', error: { code: 'verification_failed' } } }

describe('a worker that one decision names twice', () => {
  it('R-VERIFY-12 R-VERIFY-21: the pass of one task does not make up for the other', () => {
    const run = led([next('w', 'w'), end(), end()])
    judged(brings(run, 'c1'), poor())
    judged(brings(run, 'c2', 1))
    expect(said(run)).toEqual(['fail', 'pass'])
    expect(refused(run)).toHaveLength(1)
    expect(run.state).toMatchObject(failed)
  })

  it('R-VERIFY-21: in whichever order they end', () => {
    const run = led([next('w', 'w'), end(), end()])
    judged(brings(run, 'c1'))
    judged(brings(run, 'c2', 1), poor())
    expect(run.state).toMatchObject(failed)
  })

  it('R-VERIFY-21: its pass in a later turn does', () => {
    const run = led([next('w', 'w'), next('w'), end()])
    judged(brings(run, 'c1'))
    judged(brings(run, 'c2', 1), poor())
    judged(brings(run, 'c3'))
    expect(goal(run)).toEqual([true])
  })
})

describe('work that the supervisor has done again', () => {
  const asks = { behaviour: { max_attempts: 2, rework: 'supervisor' as const } }

  it('R-DWS-22 R-DWS-19: uses up the attempts of its worker across turns, who is told what was found', () => {
    const run = led([next('w'), next('w'), next('w'), end(false)], asks)
    judged(brings(run, 'c1'), poor())
    expect(toldTo(run)).toMatchObject({ gateId: 'g1', attempt: 1, dimensions: ['correctness'] })
    judged(brings(run, 'c2'), poor())
    expect(attempts(run)).toEqual([1, 2])
    expect(said(run)).toEqual(['revise', 'fail'])
    expect(toldTo(run)).toBeUndefined()
  })

  it('R-DWS-20: another worker is not told of it', () => {
    const run = judged(brings(led([next('w'), next('v'), end(false)], asks), 'c1'), poor())
    expect(owedTo(run, 'start-child', 'dispatch')).toMatchObject({ workflowId: 'v' })
    expect(toldTo(run)).toBeUndefined()
  })
})

describe('a worker that gave up', () => {
  const plain = (plan: JsonObject[]) =>
    given(scripted(plan, { dispatch: { outputMapping: { got: 'x' } } })).start({}, undefined, [])

  it('R-VERIFY-19: its parent has not reached the goal either', () => {
    expect(goal(givesUp(given(subFlow()).start(), 'c1', 'a'))).toEqual([false])
  })

  it('R-VERIFY-12 R-VERIFY-18: a supervisor that claims success all the same is refused', () => {
    const run = givesUp(plain([next('w'), end(), end()]), 'c1')
    expect(refused(run)).toHaveLength(1)
    expect(run.state).toMatchObject(failed)
  })

  it('R-VERIFY-18: a supervisor that says so itself is not', () => {
    expect(goal(givesUp(plain([next('w'), end(false)]), 'c1'))).toEqual([false])
  })

  it('R-VERIFY-19 R-VERIFY-21: until the worker has made up for it', () => {
    const run = givesUp(plain([next('w'), next('w'), end()]), 'c1')
    expect(goal(brings(run, 'c2'))).toEqual([true])
    expect(refused(run)).toEqual([])
  })

  it('R-VERIFY-19: another worker cannot', () => {
    const run = brings(givesUp(plain([next('w'), next('v'), end(), end()]), 'c1'), 'c2')
    expect(refused(run)).toHaveLength(1)
    expect(run.state).toMatchObject(failed)
  })
})

describe('work that is missing where nobody stated criteria', () => {
  it('R-VERIFY-19: a merge that a person refused: nobody knows whether the goal is reached', () => {
    const config = { onChildFailure: 'absorb', outputAttestation: { requireApproval: true } }
    const run = works(given(subFlow(config)).start({}, undefined, [gateAt('a', 'phase_exit')]), 'c1')
    judged(run).when(answer('a', { action: 'reject' }))
    expect(said(run)).toEqual(['pass'])
    expect(goal(run)).toEqual([undefined])
  })

  it('R-VERIFY-19: a failure that was absorbed beside work that passed', () => {
    const worker = (workflowId: string) => ({
      type: 'core.subWorkflow',
      config: { workflowId, onChildFailure: 'absorb', outputMapping: { [workflowId]: 'x' } },
    })
    const run = given({ nodes: { a: worker('w'), b: worker('v') }, edges: ['a > b'] }).start({}, undefined, [
      gateAt('a', 'phase_exit'),
    ])
    judged(works(run, 'c1'))
    begins(run, 'c2', { nodeId: 'b' })
    const error = { code: 'model_failed', message: 'no' }
    const ended = { type: 'ChildEnded', nodeId: 'b', childRunId: 'c2', status: 'failed' } as const
    run.when({ ...ended, variables: {}, hidden: [], error })
    expect(goal(run)).toEqual([undefined])
  })
})

describe('what was found', () => {
  const passes: Sketch = {
    nodes: { l: { type: 'core.loop', config: { maxIterations: 2 } }, a: agentNode(), b: 'core.noop' },
    edges: ['l.body > a', { path: 'a > b', triggerRule: 'all_complete' }, 'b > l'],
  }

  it('R-DWS-19: is forgotten when the node fails: its next pass is other work', () => {
    const run = given(passes).start({}, undefined, [gateAt('a', 'phase_exit')])
    judged(says(briefs(run), answered('x')), poor())
    expect(owedTo(run, 'prepare-agent')!.feedback).toMatchObject({ attempt: 1 })
    judged(says(briefs(run), answered('y')), poor())
    expect(said(run)).toEqual(['revise', 'fail'])
    expect(owedTo(run, 'prepare-agent')).toBeDefined()
    expect(owedTo(run, 'prepare-agent')!.feedback).toBeUndefined()
    judged(says(briefs(run), answered('z')))
    expect(attempts(run)).toEqual([1, 2, 1])
  })

  it('R-DWS-19: is told to the place it is about, whatever the ids are', () => {
    const run = given({
      nodes: {
        a: { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'x' } } },
        'a/0': agentNode(),
      },
    }).start({}, undefined, [gateAt('a', 'phase_exit')])
    judged(works(run, 'c1'), poor())
    expect(toldTo(run, 'a')).toMatchObject({ attempt: 1 })
    expect(owedTo(run, 'prepare-agent', 'a/0')).toBeDefined()
    expect(owedTo(run, 'prepare-agent', 'a/0')!.feedback).toBeUndefined()
  })
})

describe('two gates over one result', () => {
  it('R-DWS-22: what the second sends back uses up no attempt at the first, which had passed it', () => {
    const two = [gateAt('a', 'phase_exit'), gateAt('a', 'phase_exit', { gate_id: 'g2' })]
    const run = given(subFlow()).start({}, undefined, two)
    judged(judged(works(run, 'c1')), poor())
    judged(works(run, 'c2'), poor())
    expect(said(run)).toEqual(['pass', 'revise', 'revise'])
    judged(judged(works(run, 'c3')))
    expect(said(run).slice(3)).toEqual(['pass', 'pass'])
  })
})
