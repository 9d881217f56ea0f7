import { describe, expect, it } from 'vitest'
import { given, rulesFor, Scenario } from '../../testing/given-when-then.js'
import {
  answer,
  begins,
  ends,
  loopOf,
  next,
  payloads,
  scripted,
  terminate,
  trace,
} from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'

const turns = (count: number) => Array.from({ length: count }, () => next('a'))

/** Plays workers until the run has ended. */
function play(run: Scenario): Scenario {
  for (let child = 1; run.owed.some(({ kind }) => kind === 'start-child'); child += 1) {
    begins(run, `child-${child}`)
    ends(run, `child-${child}`)
  }
  return run
}

describe('bounds of the loop', () => {
  it('R-STATE-3 R-BOUND-3 R-BOUND-4 R-ORCH-6: turn N+1 is refused before it begins', () => {
    const run = play(given(scripted(turns(5))).start({}, { maxLoopIterations: 2 }))
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(2)
    expect(trace(run).slice(-3)).toEqual(['node.completed dispatch [11]', 'cap.breached sup', 'run.failed [19]'])
    expect(run.log.at(-2)).toMatchObject({
      nodeId: 'sup',
      payload: { kind: 'loop-iterations', limit: 2, observed: 3, nodeId: 'sup' },
    })
    expect(run.state).toMatchObject({
      outcome: { status: 'failed', failedNodeId: 'sup', error: { code: 'loop_limit_exceeded', retryable: false } },
    })
    expect(run.log.filter(({ type, nodeId }) => type === 'node.started' && nodeId === 'sup')).toHaveLength(2)
  })

  it('R-STATE-3: exactly N turns are fine', () => {
    const run = play(given(scripted([...turns(2), terminate])).start({}, { maxLoopIterations: 3 }))
    expect(statusOf(run.state)).toBe('completed')
    expect(payloads(run, 'cap.breached')).toEqual([])
  })

  it('R-STATE-11 R-BOUND-1: the host’s ceiling holds where the run asks for more or for nothing', () => {
    for (const configurable of [undefined, { maxLoopIterations: 100 }]) {
      const run = new Scenario(rulesFor(scripted(turns(5)), [], { maxLoopIterations: 1 }))
      play(run.start({}, configurable))
      expect(payloads(run, 'cap.breached')).toMatchObject([{ limit: 1, observed: 2 }])
    }
  })

  it.each([0, -1, 1.5, '3', null])('R-BOUND-1: a bound of %j is refused when the run is created', maxLoopIterations => {
    const run = given(scripted([terminate])).start({}, { maxLoopIterations })
    expect(run.refusal).toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining('maxLoopIterations'),
    })
    expect(run.log).toEqual([])
  })

  it('R-BOUND-2: neither children nor other nodes nor answers count', () => {
    const around = {
      nodes: { n1: 'core.noop', n2: 'core.noop' },
      edges: ['sup > dispatch', 'dispatch > n1', 'n1 > n2', 'n2 > sup'],
    }
    const run = given(scripted([next('a', 'b', 'c'), { ...terminate, confidence: 0.1 }], around)).start(
      {},
      { maxLoopIterations: 2 },
    )
    for (let worker = 0; worker < 3; worker += 1) {
      begins(run, `child-${worker}`, { worker })
      ends(run, `child-${worker}`)
    }
    run.when(answer('sup', { action: 'accept' }))
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-STATE-3: a turn that only asked counts', () => {
    const run = given(scripted([{ kind: 'clarify' }, terminate])).start({}, { maxLoopIterations: 1 })
    run.when(answer('sup', { answers: { answer: 1 } }))
    expect(trace(run).slice(-3)).toEqual(['node.completed sup [6]', 'cap.breached sup', 'run.failed [10]'])
  })

  it('R-STATE-13: maxLoopbackIterations is for loops of another kind', () => {
    const run = play(given(scripted([...turns(8), terminate], { settings: { maxLoopbackIterations: 1 } })).start())
    expect(statusOf(run.state)).toBe('completed')
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(9)
  })

  it('D8 R-BOUND-5: the dispatch’s own iterationCap is told alike', () => {
    const run = play(given(scripted(turns(5), { dispatch: { iterationCap: 2 } })).start())
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(3)
    expect(run.log.at(-3)).toMatchObject({ type: 'node.completed', nodeId: 'sup' })
    expect(run.log.at(-2)).toMatchObject({
      type: 'cap.breached',
      payload: { kind: 'loop-iterations', limit: 2, observed: 3, nodeId: 'dispatch' },
    })
    expect(run.state).toMatchObject({ outcome: { error: { code: 'loop_limit_exceeded' }, failedNodeId: 'dispatch' } })
    const fine = play(given(scripted([...turns(2), terminate], { dispatch: { iterationCap: 2 } })).start())
    expect(statusOf(fine.state)).toBe('completed')
  })

  it('R-BOUND-4: the breach directly precedes the failure, also where children must end first', () => {
    const run = given(
      scripted([{ kind: 'clarify' }, terminate], {
        nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'w' } } },
      }),
    ).start({}, { maxLoopIterations: 1 })
    begins(run, 'child-1', { nodeId: 'sub' })
    run.when(answer('sup', { answers: { answer: 1 } }))
    expect(run.told().at(-1)).toBe('assay.stop.requested')
    ends(run, 'child-1', {}, { nodeId: 'sub', status: 'cancelled' })
    expect(run.told().slice(-4)).toEqual([
      'core.workflowChain.event sub',
      'node.cancelled sub',
      'cap.breached sup',
      'run.failed',
    ])
  })

  it('R-BOUND-2: the bound on node executions is another one', () => {
    const run = play(given(scripted(turns(5))).start({}, { recursionLimit: 3 }))
    expect(payloads(run, 'cap.breached')).toMatchObject([{ kind: 'node-executions', limit: 3 }])
  })
})

describe('a pause', () => {
  const pause = (run: Scenario) => run.when({ type: 'PauseRun', drainPolicy: 'immediate' })

  it('R-STATE-9: in the middle of a hand-off leaves the worker alone and goes on with it', () => {
    const run = given(scripted([next('a', 'b')], { dispatch: { outputMapping: { got: 'x' } } })).start()
    begins(run, 'child-1')
    pause(run)
    expect(run.owed).toEqual([])
    ends(run, 'child-1', { x: 1 })
    expect(run.told().at(-1)).toBe('run.paused')
    run.when({ type: 'ResumeRun' })
    expect(run.owed).toMatchObject([{ kind: 'watch-child', childRunId: 'child-1', wanted: ['x'] }])
    ends(run, 'child-1', { x: 1 })
    expect(trace(run, 10)).toEqual([
      'child.completed a [7]',
      'variable.changed dispatch [2]',
      'output.harvested a [10]',
      'dispatch.began b [2]',
    ])
  })

  it('R-HANDOFF-4: before the child is there, it is owed again afterwards', () => {
    const run = pause(given(scripted([next('a')])).start())
    begins(run, 'child-1')
    expect(run.told().at(-1)).toBe('run.paused')
    run.when({ type: 'ResumeRun' })
    expect(run.owed).toMatchObject([{ kind: 'start-child', workflowId: 'a', worker: 0 }])
    expect(payloads(run, 'dispatch.began')).toHaveLength(1)
  })

  it('R-STATE-9: that lets work drain does not wait for workers; they are heard after it', () => {
    const run = given(scripted([next('a', 'b')])).start()
    begins(run, 'child-1')
    run.when({ type: 'PauseRun', drainPolicy: 'drain-current-node' })
    expect(statusOf(run.state)).toBe('paused')
    run.when({ type: 'ResumeRun' })
    ends(run, 'child-1')
    expect(payloads(run, 'dispatch.began')).toHaveLength(2)
  })

  it('R-STATE-9: that lets work drain hears the decision and carries it out after it', () => {
    const run = given(loopOf({ provider: 'model' })).start()
    run.when({ type: 'PauseRun', drainPolicy: 'drain-current-node' })
    run.when({ type: 'EffectAnswered', nodeId: 'sup', since: 1, answer: { ok: true, output: next('a') } })
    expect(trace(run, 2)).toEqual(['assay.pause.requested', 'decided 1 [1]', 'node.completed sup [3]', 'run.paused'])
    run.when({ type: 'ResumeRun' })
    expect(trace(run, 6)).toEqual(['run.resumed', 'node.started dispatch [4]', 'dispatch.began a [3]'])
  })

  it('R-STATE-2: while a provider decides starts the same turn again', () => {
    const run = pause(given(loopOf({ provider: 'model' })).start())
    run.when({ type: 'EffectAnswered', nodeId: 'sup', since: 1, answer: { ok: true, output: terminate } })
    expect(run.told().at(-1)).toBe('run.paused')
    run.when({ type: 'ResumeRun' })
    expect(run.log.at(-1)).toMatchObject({ type: 'node.started', nodeId: 'sup', payload: { attempt: 1 } })
    expect(run.owed).toMatchObject([{ kind: 'call-provider', since: 4, input: { iteration: 1 } }])
  })
})

describe('cancelling', () => {
  const cancel = (run: Scenario) => run.when({ type: 'CancelRun', by: 'ann' })
  const asking = (run: Scenario) => {
    begins(run, 'child-1')
    return ends(run, 'child-1', { x: 1 })
  }

  const GATED = { outputMapping: { got: 'x' }, outputAttestation: { requireApproval: true } }
  it.each<[string, () => Scenario, string]>([
    ['while a provider decides', () => given(loopOf({ provider: 'model' })).start(), 'sup'],
    ['while it clarifies', () => given(scripted([{ kind: 'clarify' }])).start(), 'sup'],
    ['while it escalates', () => given(scripted([{ kind: 'escalate' }])).start(), 'sup'],
    ['while a decision is in doubt', () => given(scripted([{ ...next('a'), confidence: 0 }])).start(), 'sup'],
    ['before a child is there', () => given(scripted([next('a')])).start(), 'dispatch'],
    [
      'while it asks whether to merge',
      () => asking(given(scripted([next('a')], { dispatch: GATED })).start()),
      'dispatch',
    ],
    [
      'while paused in a hand-off',
      () =>
        given(scripted([next('a')]))
          .start()
          .when({ type: 'PauseRun', drainPolicy: 'immediate' }),
      'dispatch',
    ],
  ])('R-LOOP-10: %s ends the run at once', (_when, tell, open) => {
    const run = tell()
    const { length } = run.log
    cancel(run)
    expect(run.told(length)).toEqual([`node.cancelled ${open}`, 'run.cancelled'])
    expect(run.owed).toEqual([])
    expect(payloads(run, 'variable.changed')).toEqual([])
    const value: JsonObject = { action: 'accept' }
    run.when(answer(open, value))
    expect(run.refusal?.code).toMatch(/^interrupt_(cancelled|not_found)$/)
  })

  it('R-LOOP-10: while workers run asks them to stop and waits for them', () => {
    const run = given(scripted([next('a')], { dispatch: { outputMapping: { got: 'x' } } })).start()
    begins(run, 'child-1')
    cancel(run)
    expect(statusOf(run.state)).toBe('cancelling')
    expect(run.owed.map(({ kind }) => kind)).toEqual(['cancel-child', 'watch-child'])
    ends(run, 'child-1', {}, { status: 'cancelled' })
    expect(trace(run, 8)).toEqual([
      'assay.stop.requested',
      'child.cancelled a [7]',
      'node.cancelled dispatch',
      'run.cancelled',
    ])
    expect(run.log.at(-2)).toMatchObject({ payload: { reason: 'child-ended' } })
    expect(run.state).toMatchObject({ outcome: { status: 'cancelled' } })
  })
})
