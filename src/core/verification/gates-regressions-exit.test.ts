import { describe, expect, it } from 'vitest'
import { gateAt, inspects, judged, poor, verdicts, wantedOf, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { AGENT, agentFlow, agentNode, answered, briefs, eventsOf, owedTo, says } from '../../testing/invocations.js'
import { answer, next, payloads, scripted, terminate } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import { statusOf } from '../run/state.js'

const exit = (phase: string, more: Parameters<typeof gateAt>[2] = {}) => gateAt(phase, 'workflow_exit', more)
const patient = { behaviour: { max_attempts: 3 } }
const failed = { outcome: { status: 'failed', error: { code: 'verification_failed' } } }

const shownIn = (run: Scenario) => JSON.stringify(run.log.map(({ payload }) => payload))

describe('what a gate at the exit judges', () => {
  it('R-VERIFY-10 §23.2: is those variables, too, that the gate names: a parent takes its results from there', () => {
    const run = given({
      nodes: { a: agentNode({ config: { resultVariable: 'got' } }), n: 'core.noop' },
      edges: ['a > n'],
    }).start({ task: 'the task' }, undefined, [exit('a', { exit_values: ['variables.got'] })])
    says(briefs(run), answered('the work'))
    expect(wantedOf(run)!.result).toEqual({ outputs: {}, variables: { got: 'the work' } })
  })

  it('R-VERIFY-10 §23.2: is what the workers brought, where the last node only says that it is over', () => {
    const flow = scripted([next('w'), terminate], { dispatch: { outputMapping: { got: 'x' } } })
    const run = works(
      given(flow).start({}, undefined, [exit('sup', { exit_values: ['variables.got'] })]),
      'c1',
      { x: 'the work' },
      { nodeId: 'dispatch' },
    )
    expect(wantedOf(run)!.result).toMatchObject({ variables: { got: 'the work' } })
  })

  it('R-VERIFY-10: is the channels, too, for the same reason', () => {
    const run = given({
      nodes: {
        a: agentNode(),
        c: { type: 'core.channelWrite', config: { channelName: 'board', value: 'the work' } },
      },
      edges: ['a > c'],
      channels: { board: { reducer: 'overwrite' } },
    }).start({}, undefined, [exit('a', { exit_values: ['channels.board'] })])
    says(briefs(run), answered('x'))
    expect(wantedOf(run)!.result).toMatchObject({ channels: { board: 'the work' } })
  })

  const secret = 'hunter2-hunter2'
  const hiding: Sketch = agentFlow({}, { variables: [{ name: 'key', type: 'string', sensitive: true }] })
  const keyed = (behaviour = {}) => exit('a', { behaviour, exit_values: ['variables.key'] })
  const hidden = (behaviour = {}) =>
    says(briefs(given(hiding).start({ key: secret }, undefined, [keyed(behaviour)])), answered('fine'))

  it('R-DWS-7 R-DWS-29: hides what is hidden; what nobody could see, a person is asked about', () => {
    const run = hidden()
    expect(wantedOf(run)).toMatchObject({
      result: { variables: { key: '[REDACTED]' } },
      output: { variables: { key: '[REDACTED]' } },
    })
    judged(run)
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { reason: 'unseen' } }])
    expect(shownIn(run)).not.toContain(secret)
    run.when(answer('a', { action: 'accept' }))
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-DWS-29: an output that is declared sensitive is such a part', () => {
    const run = given({ nodes: { a: { ...agentNode(), outputSensitivity: { result: true } } } })
    says(briefs(run.start({}, undefined, [exit('a')])), answered('not to be seen'))
    expect(JSON.stringify(wantedOf(run)!.output)).not.toContain('not to be seen')
    judged(run)
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { reason: 'unseen' } }])
  })

  it('R-DWS-29: allow_hidden lets it pass', () => {
    const run = judged(hidden({ allow_hidden: true }))
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('work that the exit sends back and nobody takes up', () => {
  it('R-DWS-20 R-VERIFY-12: a phase in a loop that is over: the run fails, and the same result is not judged again', () => {
    const run = given({
      nodes: { l: { type: 'core.loop', config: { maxIterations: 1 } }, a: agentNode(), z: 'core.end' },
      edges: ['l.body > a', 'a > l', 'l.done > z'],
    }).start({}, undefined, [exit('a', patient)])
    judged(says(briefs(run), answered('x')), poor())
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise'])
    expect(run.state).toMatchObject(failed)
    expect(eventsOf(run, 'run.completed')).toEqual([])
  })

  it('R-DWS-20 R-VERIFY-12: so it is with a phase that a condition keeps from running', () => {
    const run = given({
      nodes: { s: 'core.noop', a: agentNode(), b: 'core.noop' },
      edges: [{ path: 's > a', condition: { expression: 'false' } }, 's > b'],
    }).start({}, undefined, [exit('a', patient)])
    judged(run, poor())
    expect(wantedOf(run)).toBeUndefined()
    expect(run.state).toMatchObject(failed)
  })
})

describe('who judges at the exit', () => {
  const two: Sketch = {
    nodes: { a: agentNode(), b: agentNode({ config: { agentId: 'local.other.agent' } }) },
    edges: ['a > b'],
  }

  it.each([AGENT, 'local.other.agent'])('R-VERIFY-7 A13: none of those who have worked: %s', agent_id => {
    const run = given(two).start({}, undefined, [exit('b', { verifiers: [{ agent_id }] })])
    says(briefs(run), answered('x'))
    inspects(says(briefs(run, {}, 'b'), answered('y'), 'b'))
    expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ agentId: agent_id, fault: 'self_verification' }])
    expect(owedTo(run, 'start-child', 'b')).toBeUndefined()
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('R-VERIFY-7 A13: nor the supervisor that has led them', () => {
    const flow = scripted([next('w'), terminate], { dispatch: { outputMapping: { got: 'x' } }, agentId: AGENT })
    const run = given(flow).start({}, undefined, [exit('sup', { verifiers: [{ agent_id: AGENT }] })])
    inspects(works(run, 'c1', { x: 1 }, { nodeId: 'dispatch' }))
    expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ fault: 'self_verification' }])
  })

  it('R-VERIFY-8 A13: unless the gate allows it, and then it is seen', () => {
    const own = { verifiers: [{ agent_id: AGENT }], requirements: { allow_self_verification: true } }
    const run = given(agentFlow()).start({}, undefined, [exit('a', own)])
    judged(says(briefs(run), answered('x')))
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass', criteria: ['correctness', 'self-verification'] }])
  })
})

describe('a gate that has no place in the plan', () => {
  it.each([
    ['a phase that is not there', exit('gone')],
    ['a phase whose result no gate can hold', gateAt('n', 'phase_exit')],
  ])('R-VERIFY-10 R-DWS-35: %s: the run does not start', (_, gate) => {
    const run = given({ nodes: { a: agentNode(), n: 'core.noop' }, edges: ['a > n'] }).start({}, undefined, [gate])
    expect(run.refusal).toMatchObject({ code: 'validation_error', message: expect.stringContaining('gate "g1"') })
    expect(run.log).toEqual([])
  })
})
