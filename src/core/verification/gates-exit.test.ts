import { describe, expect, it } from 'vitest'
import { gateAt, inspects, judged, poor, verdicts, wantedOf, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentNode, answered, briefs, eventsOf, owedTo, says } from '../../testing/invocations.js'
import { answer, next, payloads, scripted, terminate } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'

const exit = (phase: string, more: Parameters<typeof gateAt>[2] = {}) => gateAt(phase, 'workflow_exit', more)
const worker = (workflowId: string) => ({
  type: 'core.subWorkflow',
  config: { workflowId, outputMapping: { [`from_${workflowId}`]: 'x' } },
})

const chain: Sketch = {
  nodes: {
    before: 'core.noop',
    a: agentNode({ config: { resultVariable: 'got' } }),
    after: {
      type: 'core.identity',
      inputs: { payload: { type: 'variable', variableName: 'got' } },
    },
  },
  edges: ['before > a', 'a > after'],
}

const outputs = (run: Scenario) =>
  run.state.phase === 'ended' && run.state.outcome.status === 'completed' ? run.state.outcome.outputs : undefined

const startsOf = (run: Scenario) => eventsOf(run, 'node.started').map(({ nodeId }) => nodeId)

describe('a gate at the exit of a workflow', () => {
  const begun = (more: Parameters<typeof gateAt>[2] = {}) =>
    briefs(given(chain).start({}, undefined, [exit('a', more)]))

  it('R-VERIFY-10 §23.2: judges what the run is about to end with; it ends after a pass', () => {
    const run = says(begun(), answered('first'))
    expect(run.told().at(-1)).toBe('assay.result.staged a')
    expect(wantedOf(run)).toMatchObject({
      result: { outputs: { payload: 'first' } },
      output: { outputs: { payload: 'first' } },
    })
    expect(statusOf(run.state)).toBe('running')
    judged(run)
    const { sequence } = run.log.find(({ type }) => type === 'agent.decided')!
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass', target: `run-1:${sequence}` }])
    expect(eventsOf(run, 'agent.verified')[0]!.cause).toBe(sequence)
    expect(run.told().slice(-2)).toEqual(['agent.verified a', 'run.completed'])
    expect(run.state).toMatchObject({ outcome: { outputs: { payload: 'first' } } })
  })

  it('R-DWS-20: sent back, the phase and what follows it run again; what came before does not', () => {
    const run = judged(says(begun(), answered('first')), poor())
    expect(payloads(run, 'assay.rework.began')).toEqual([{ gateId: 'g1', attempt: 2, point: 'run', scope: 'targeted' }])
    expect(owedTo(run, 'prepare-agent')!.feedback).toMatchObject({ gateId: 'g1', attempt: 1 })
    says(briefs(run), answered('second'))
    expect(wantedOf(run)).toMatchObject({ attempt: 2, result: { outputs: { payload: 'second' } } })
    judged(run)
    expect(startsOf(run)).toEqual(['before', 'a', 'after', 'a', 'after'])
    expect(outputs(run)).toEqual({ payload: 'second' })
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'pass'])
  })

  it('R-VERIFY-12 R-DWS-22: with the attempts used up the run fails, and its outputs are nowhere', () => {
    const run = judged(says(begun({ behaviour: { max_attempts: 1 } }), answered('first')), poor())
    expect(verdicts(run)).toMatchObject([{ verdict: 'fail' }])
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
    expect(eventsOf(run, 'run.completed')).toEqual([])
  })

  it('§23.2: forced, it ends with what there is, and says so', () => {
    const forced = begun({ behaviour: { max_attempts: 1, on_fail: 'conditional_pass' } })
    const run = judged(says(forced, answered('first')), poor())
    expect(verdicts(run)).toMatchObject([
      { verdict: 'pass', criteria: ['correctness', 'gate.on-fail.conditional-pass'] },
    ])
    expect(outputs(run)).toEqual({ payload: 'first' })
  })

  it('§23.2: a person decides at the end of the attempts, and may have it done again before', () => {
    const asks = { max_attempts: 2, auto_commit: 'licensed' as const }
    const run = judged(says(begun({ behaviour: asks }), answered('first')))
    expect(statusOf(run.state)).toBe('waiting-approval')
    run.when(answer('a', { action: 'refine', refineFeedback: { scope: 'whole', text: 'shorter' } }))
    expect(owedTo(run, 'prepare-agent')!.feedback).toMatchObject({ note: { text: 'shorter' } })
    judged(says(briefs(run), answered('second'))).when(answer('a', { action: 'accept' }))
    expect(outputs(run)).toEqual({ payload: 'second' })
  })

  it('a gate that does not block says what it found, and the run ends', () => {
    const run = judged(says(begun({ behaviour: { blocking: false } }), answered('first')), poor())
    expect(verdicts(run)).toEqual([])
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('a phase that cannot work again has one attempt', () => {
    const run = briefs(given(chain).start({}, undefined, [exit('before', { behaviour: { max_attempts: 5 } })]))
    judged(says(run, answered('first')), poor())
    expect(verdicts(run)).toMatchObject([{ verdict: 'fail' }])
  })
})

describe('several gates at the exit', () => {
  const sides: Sketch = {
    nodes: { f: 'core.parallel', x: worker('wx'), y: worker('wy') },
    edges: ['f > x', 'f > y'],
  }
  const both = () => {
    const run = given(sides).start({}, undefined, [
      exit('x', { gate_id: 'g1' }),
      exit('y', { gate_id: 'g2', behaviour: { retries: 0, max_attempts: 3 } }),
    ])
    works(run, 'child-x', { x: 'x1' }, { nodeId: 'x' })
    return works(run, 'child-y', { x: 'y1' }, { nodeId: 'y' })
  }

  it('R-VERIFY-10: all must pass', () => {
    const run = judged(both())
    expect(statusOf(run.state)).toBe('running')
    judged(run)
    expect(payloads(run, 'dws.verification.started').map(({ gateId }) => gateId)).toEqual(['g1', 'g2'])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-DWS-20: each sends back to its own phase, and what the others have is kept', () => {
    const run = judged(judged(both()), poor())
    expect(owedTo(run, 'start-child', 'y')).toBeDefined()
    expect(owedTo(run, 'start-child', 'x')).toBeUndefined()
    works(run, 'child-y2', { x: 'y2' }, { nodeId: 'y' })
    judged(judged(run))
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { from_wx: 'x1', from_wy: 'y2' } })
    expect(Object.keys(outputs(run)!).sort()).toEqual(['x', 'y'])
  })

  it('R-DWS-35: a person who sends back what nobody could judge uses up an attempt, and loses nothing of the others', () => {
    const run = judged(both())
    inspects(run)
    const owed = owedTo(run, 'start-child', 'x')!
    const refused = { code: 'verifier_unknown', message: 'no such agent', retryable: false }
    run.when({ type: 'ChildRefused', nodeId: 'x', since: owed.since, worker: 0, verifier: true, error: refused })
    expect(statusOf(run.state)).toBe('waiting-approval')
    run.when(answer('x', { action: 'refine', refineFeedback: { scope: 'whole' } }))
    works(run, 'child-y2', { x: 'y2' }, { nodeId: 'y' })
    judged(judged(run))
    const attempts = payloads(run, 'dws.verification.started').map(({ gateId, attempt }) => [gateId, attempt])
    expect(attempts).toEqual([
      ['g1', 1],
      ['g2', 1],
      ['g1', 2],
      ['g2', 2],
    ])
    expect(Object.keys(outputs(run)!).sort()).toEqual(['x', 'y'])
  })
})

describe('a gate at the exit of a workflow that hands work over', () => {
  it('R-VERIFY-23 §23.2: the target is the child that was merged last, the cause its completion', () => {
    const run = given({ nodes: { s: worker('w') } }).start({}, undefined, [exit('s')])
    judged(works(run, 'child-1', { x: 1 }, { nodeId: 's' }))
    expect(verdicts(run)).toMatchObject([{ target: 'child-1', verdict: 'pass' }])
    const [verified] = eventsOf(run, 'agent.verified')
    expect(run.log[verified!.cause!]!.payload).toMatchObject({ phase: 'child.completed', childRunId: 'child-1' })
  })

  it('R-DWS-20: the worker is started again with what was found', () => {
    const run = given({ nodes: { s: worker('w') } }).start({}, undefined, [exit('s')])
    judged(works(run, 'child-1', { x: 1 }, { nodeId: 's' }), poor())
    expect(owedTo(run, 'start-child', 's')!.withheld).toMatchObject({ verificationFeedback: { attempt: 1 } })
    judged(works(run, 'child-2', { x: 2 }, { nodeId: 's' }))
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { from_w: 2 } })
  })

  const loop = (plan: JsonObject[]) => scripted(plan, { dispatch: { outputMapping: { got: 'x' } } })

  it('§11.2 R-VERIFY-13: the supervisor has another turn, and its answer is what was found', () => {
    const run = given(loop([next('w'), terminate, next('w'), terminate])).start({}, undefined, [exit('sup')])
    judged(works(run, 'child-1', { x: 1 }, { nodeId: 'dispatch' }), poor())
    expect(payloads(run, 'runOrchestrator.decided').map(({ iteration }) => iteration)).toEqual([1, 2, 3])
    const supervisor = run.state.phase === 'active' ? run.state.orchestrator : undefined
    expect(supervisor?.iteration).toBe(3)
    judged(works(run, 'child-2', { x: 2 }, { nodeId: 'dispatch' }))
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 2 } })
  })

  it('R-DWS-34 R-BOUND-2: the turns of the supervisor and the times it was sent back are bounded apart', () => {
    const run = given(loop([next('w'), terminate, next('w'), terminate])).start({}, { maxLoopIterations: 3 }, [
      exit('sup'),
    ])
    judged(works(run, 'child-1', { x: 1 }, { nodeId: 'dispatch' }), poor())
    works(run, 'child-2', { x: 2 }, { nodeId: 'dispatch' })
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'loop_limit_exceeded' } } })
    expect(payloads(run, 'cap.breached')).toMatchObject([{ kind: 'loop-iterations', limit: 3, observed: 4 }])
  })

  it('R-DWS-34: where nobody takes turns, the bound of turns is none for reworks', () => {
    const many = exit('s', { behaviour: { max_attempts: 3 } })
    const run = given({ nodes: { s: worker('w') } }).start({}, { maxLoopIterations: 1 }, [many])
    for (const child of ['child-1', 'child-2', 'child-3']) judged(works(run, child, { x: 1 }, { nodeId: 's' }), poor())
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'revise', 'fail'])
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
  })
})
