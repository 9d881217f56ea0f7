import { describe, expect, it } from 'vitest'
import { gateAt, judged, poor, verdicts, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { eventsOf } from '../../testing/invocations.js'
import { next, payloads, scripted } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'

const end = (...criteria: readonly [key: string, met: boolean][]): JsonObject => ({
  kind: 'terminate',
  ...(criteria.length > 0 ? { successCriteria: criteria.map(([key, met]) => ({ key, met })) } : {}),
})

const once = gateAt('dispatch', 'phase_exit', { behaviour: { max_attempts: 1 } })
const asks = gateAt('dispatch', 'phase_exit', { behaviour: { rework: 'supervisor' } })

const led = (plan: JsonObject[], gate = once, configurable?: JsonObject) =>
  given(scripted(plan, { dispatch: { outputMapping: { got: 'x' } } })).start({}, configurable, [gate])

const brings = (run: Scenario, childRunId: string, worker = 0) =>
  works(run, childRunId, { x: childRunId }, { nodeId: 'dispatch', worker })

const turns = (run: Scenario) => payloads(run, 'runOrchestrator.decided').length
const refused = (run: Scenario) =>
  eventsOf(run, 'node.completed').flatMap(({ payload: { outputs } }) => (outputs.refused ? [outputs.refused] : []))

describe('a supervisor that ends while a gate stands against it', () => {
  it('R-VERIFY-12 A30: is told so once, and then the run fails', () => {
    const run = judged(brings(led([next('w'), end(['correctness', true]), end(['correctness', true])]), 'c1'), poor())
    expect(refused(run)).toEqual([
      ['successCriteria says that "correctness" is met, and gate "g1" says that it is not'],
    ])
    expect(turns(run)).toBe(3)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
    expect(eventsOf(run, 'run.completed')).toEqual([])
  })

  it('R-VERIFY-12: also when it says nothing of any criterion', () => {
    const run = judged(brings(led([next('w'), end(), end()]), 'c1'), poor())
    expect(refused(run)).toHaveLength(1)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
  })

  it('R-VERIFY-18 R-VERIFY-19: may say itself that the goal is not reached', () => {
    const run = judged(brings(led([next('w'), end(['correctness', false])]), 'c1'), poor())
    expect(refused(run)).toEqual([])
    expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: false } })
  })

  it('R-VERIFY-13: may think again: what it is told is an input of the next turn', () => {
    const run = judged(brings(led([next('w'), end(), end(['done', false])]), 'c1'), poor())
    expect(turns(run)).toBe(3)
    expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: false } })
  })

  it('R-VERIFY-21: a later pass of the same worker settles it', () => {
    const run = judged(brings(led([next('w'), next('w'), end(['correctness', true])]), 'c1'), poor())
    judged(brings(run, 'c2'))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['fail', 'pass'])
    expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: true }, variables: { got: 'c2' } })
  })

  it('R-VERIFY-21: a later pass of another worker does not', () => {
    const run = judged(brings(led([next('w'), next('v'), end(), end()]), 'c1'), poor())
    judged(brings(run, 'c2'))
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
  })

  it('R-VERIFY-21: a worker beside it that did its own work does not', () => {
    const run = led([next('w', 'v'), end(), end()])
    judged(brings(run, 'c1'), poor())
    judged(brings(run, 'c2', 1))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['fail', 'pass'])
    expect(refused(run)).toHaveLength(1)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
  })

  it('R-VERIFY-12: is counted anew after a turn that was something else', () => {
    const run = judged(brings(led([next('w'), end(), next('w'), end(), end(['x', false])]), 'c1'), poor())
    judged(brings(run, 'c2'), poor())
    expect(refused(run)).toHaveLength(2)
    expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: false } })
  })
})

describe('the bound of the loop', () => {
  const many = (on_fail: 'reject' | 'escalate' | 'conditional_pass') =>
    gateAt('dispatch', 'phase_exit', { behaviour: { max_attempts: 9, on_fail } })

  it.each(['reject', 'conditional_pass'] as const)(
    'R-DWS-34 R-VERIFY-14 R-BOUND-2: the rework over the bound is not begun, and nothing is merged (%s)',
    on_fail => {
      const run = led([next('w'), end(['w', false])], many(on_fail), { maxLoopIterations: 2 })
      judged(brings(run, 'c1'), poor(2))
      judged(brings(run, 'c2'), poor(3))
      judged(brings(run, 'c3'), poor(4))
      expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'revise', 'fail'])
      expect(payloads(run, 'assay.rework.began')).toHaveLength(2)
      expect(payloads(run, 'cap.breached')).toEqual([])
      expect(payloads(run, 'output.harvested')).toEqual([])
      // The supervisor has its next turn, which is its second.
      expect(run.state).toMatchObject({ orchestrator: { iteration: 2 } })
      expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: false } })
    },
  )

  it('R-DWS-34: at the bound a person is asked where the gate says so, and cannot have it done again', () => {
    const run = led([next('w'), end()], many('escalate'), { maxLoopIterations: 1 })
    judged(brings(run, 'c1'), poor(2))
    judged(brings(run, 'c2'), poor(3))
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      { data: { reason: 'exhausted', actions: ['accept', 'reject'] } },
    ])
  })

  it('R-BOUND-2: turns are counted apart from reworks', () => {
    const run = led([next('w'), end()], many('reject'), { maxLoopIterations: 2 })
    judged(brings(run, 'c1'), poor(2))
    judged(brings(run, 'c2'), poor(3))
    judged(brings(run, 'c3'))
    expect(payloads(run, 'runOrchestrator.decided').map(({ iteration }) => iteration)).toEqual([1, 2])
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('R-DWS-34: a supervisor that has it done again takes a turn for it', () => {
    const run = led([next('w'), next('w'), end()], asks, { maxLoopIterations: 2 })
    judged(brings(run, 'c1'), poor())
    judged(brings(run, 'c2'))
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'loop_limit_exceeded' } } })
  })
})
