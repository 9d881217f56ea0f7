import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
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
import { openInterrupts } from '../interrupt/decide.js'
import { statusOf } from '../run/state.js'

const MAPPED = { outputMapping: { got: 'x' } }

describe('a turn', () => {
  it('R-LOOP-1 R-ORCH-2 R-ORCH-10 R-ORCH-16 R-HANDOFF-13: one worker, then the end, each event due to the one before', () => {
    const run = given(
      scripted([next('a'), { kind: 'terminate', reason: 'goal-reached' }], { dispatch: MAPPED }),
    ).start()
    begins(run, 'child-1')
    ends(run, 'child-1', { x: 7 })
    expect(trace(run)).toEqual([
      'run.started',
      'node.started sup [0]',
      'decided 1 [1]',
      'node.completed sup [2]',
      'node.started dispatch [3]',
      'dispatch.began a [2]',
      'node.dispatched dispatch [2]',
      'dispatch.succeeded a [5]',
      'child.completed a [7]',
      'variable.changed dispatch [2]',
      'output.harvested a [8]',
      'node.completed dispatch [2]',
      'node.started sup [11]',
      'decided 2 [12]',
      'node.completed sup [13]',
      'run.completed [14]',
    ])
    expect(run.log[3]).toMatchObject({ payload: { outputs: { iteration: 1, decision: next('a'), route: 'body' } } })
    expect(run.log[11]).toMatchObject({
      payload: {
        outputs: {
          childRunId: 'child-1',
          childStatus: 'completed',
          workers: [{ workerId: 'a', status: 'completed', childRunId: 'child-1' }],
        },
      },
    })
    expect(run.log[14]).toMatchObject({ payload: { outputs: { iteration: 2, route: 'done' } } })
    expect(run.state).toMatchObject({ variables: { got: 7 }, outcome: { status: 'completed' } })
  })

  it('R-ORCH-4 R-LOOP-3 R-STATE-2: tells its decision once, as it was made, with its number', () => {
    const end = { kind: 'terminate', reason: 'goal-reached', successCriteria: [{ key: 'k', met: true }], confidence: 1 }
    const run = given(scripted([next('a'), end])).start()
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(payloads(run, 'runOrchestrator.decided')).toEqual([
      { agentId: 'host:orchestrator:sup', decision: next('a'), iteration: 1 },
      { agentId: 'host:orchestrator:sup', decision: end, iteration: 2 },
    ])
    expect(run.log.filter(({ type }) => type === 'runOrchestrator.decided').map(({ nodeId }) => nodeId)).toEqual([
      'sup',
      'sup',
    ])
  })

  it('R-LOOP-8: is over when its workers are, not before', () => {
    const run = given(scripted([next('a', 'b')])).start()
    begins(run, 'child-1')
    ends(run, 'child-1')
    begins(run, 'child-2', { worker: 1 })
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(1)
    ends(run, 'child-2')
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(2)
  })

  it('R-LOOP-1: a dispatch that leads nowhere leads back', () => {
    const run = given(scripted([next('a')], { edges: ['sup > dispatch'] })).start()
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(run.told(8)).toEqual([
      'core.workflowChain.event dispatch',
      'node.completed dispatch',
      'node.started sup',
      'runOrchestrator.decided sup',
      'node.completed sup',
      'run.completed',
    ])
  })
})

describe('terminate', () => {
  const wired = { nodes: { after: 'core.noop' }, edges: ['sup > dispatch', 'dispatch > sup', 'sup > after'] }

  it('R-LOOP-4 R-ORCH-5: ends the run as completed; what never ran is skipped', () => {
    const run = given(scripted([terminate, next('a')])).start()
    expect(trace(run)).toEqual([
      'run.started',
      'node.started sup [0]',
      'decided 1 [1]',
      'node.completed sup [2]',
      'node.skipped dispatch [3]',
      'run.completed [4]',
    ])
    expect(run.state).toMatchObject({ outcome: { status: 'completed', outputs: { iteration: 1, route: 'done' } } })
  })

  it('R-LOOP-12: is the only way to what comes after the loop', () => {
    const run = given(scripted([next('a'), { kind: 'clarify' }, terminate], wired)).start()
    begins(run, 'child-1')
    ends(run, 'child-1')
    run.when(answer('sup', { answers: { answer: 'go on' } }))
    const last = run.sequence('runOrchestrator.decided')
    expect(run.told().slice(0, last)).not.toContain('node.started after')
    expect(run.told(last + 1)).toEqual([
      'node.completed sup',
      'node.started after',
      'node.completed after',
      'run.completed',
    ])
    expect(run.told()).not.toContain('node.skipped dispatch')
  })

  it('R-ORCH-5: is carried out once; nothing that arrives later starts another turn', () => {
    const run = given(
      scripted([terminate], { ...wired, nodes: { after: { type: 'core.delay', config: { ms: 10 } } } }),
    ).start()
    run.when({ type: 'Continue' })
    begins(run, 'child-1', { since: 1 })
    run.after(10)
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(1)
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('clarify and ask-user', () => {
  it('R-LOOP-5 R-STATE-9 A2: suspends the turn; the answer closes it and the next one begins', () => {
    const run = given(scripted([{ kind: 'clarify', prompt: 'Which colour?' }, terminate])).start()
    expect(statusOf(run.state)).toBe('waiting-input')
    run.when(answer('sup', { answers: { answer: 'red' } }))
    expect(trace(run)).toEqual([
      'run.started',
      'node.started sup [0]',
      'decided 1 [1]',
      'interrupt.requested sup [2]',
      'clarification.requested sup [3]',
      'node.suspended sup [3]',
      'interrupt.resolved sup',
      'clarification.resolved sup [6]',
      'node.resumed sup [6]',
      'node.completed sup [6]',
      'node.started sup [9]',
      'decided 2 [10]',
      'node.completed sup [11]',
      'node.skipped dispatch [12]',
      'run.completed [13]',
    ])
    expect(run.log[3]).toMatchObject({
      payload: { kind: 'clarification', data: { questions: [{ id: 'answer', question: 'Which colour?' }] } },
    })
    expect(run.log[9]).toMatchObject({ payload: { outputs: { iteration: 1, route: 'again' } } })
  })

  it('R-LOOP-5: asks what the decision asks, question by question', () => {
    const questions = [
      { id: 'q1', question: 'Colour?', schema: { type: 'string' } },
      { id: 'q2', question: 'Size?' },
    ]
    const run = given(scripted([{ kind: 'clarify', questions, prompt: 'Before we order' }])).start()
    expect(payloads(run, 'interrupt.requested')[0]).toMatchObject({
      data: { questions, contextType: 'Before we order' },
    })
    run.when(answer('sup', { answers: { q1: 'red' } }))
    expect(run.refusal?.code).toBe('validation_error')
    expect(statusOf(run.state)).toBe('waiting-input')
    run.when(
      answer('sup', {
        answers: [
          { id: 'q1', answer: 'red' },
          { id: 'q2', answer: 'L' },
        ],
      }),
    )
    expect(statusOf(run.state)).toBe('completed')
  })

  it('D1: ask-user is asked like clarify', () => {
    const run = given(
      scripted([{ kind: 'ask-user', prompt: 'Which colour?' }], { dispatch: { askUserRouting: 'auto' } }),
    ).start()
    expect(payloads(run, 'interrupt.requested')[0]).toMatchObject({
      kind: 'clarification',
      data: { questions: [{ id: 'answer', question: 'Which colour?' }] },
    })
  })

  it('R-LOOP-5: has a question even when the decision has none', () => {
    const run = given(scripted([{ kind: 'clarify' }])).start()
    expect(payloads(run, 'interrupt.requested')[0]).toMatchObject({ data: { questions: [{ id: 'answer' }] } })
  })

  it('R-LOOP-5: stays suspended until it is answered, whatever else arrives', () => {
    const run = given(scripted([{ kind: 'clarify' }, terminate])).start()
    const { length } = run.log
    run.when({ type: 'Continue' }).after(3_600_000)
    begins(run, 'child-1', { since: 1 })
    expect(run.log).toHaveLength(length)
    expect(run.owed).toEqual([])
  })

  it('R-LOOP-5: nobody answers in time: the turn fails', () => {
    const run = given(loopOf({ mockDispatchPlan: [{ kind: 'clarify' }], timeoutMs: 500 })).start()
    expect(run.wakeAt).toBe(1_500)
    run.after(500)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'interrupt_timeout' } } })
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(1)
  })
})

describe('escalate', () => {
  const plea = { kind: 'escalate', reason: 'too dear', title: 'Buy it?', artifact: { price: 9 }, confidence: 0.1 }

  it('R-LOOP-6: asks for an approval with what it is about', () => {
    const run = given(scripted([plea])).start()
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(trace(run, 2)).toEqual([
      'decided 1 [1]',
      'interrupt.requested sup [2]',
      'approval.requested sup [3]',
      'node.suspended sup [3]',
    ])
    expect(run.log[3]).toMatchObject({
      payload: {
        kind: 'approval',
        data: {
          artifactId: 'sup-turn-1',
          title: 'Buy it?',
          description: 'too dear',
          artifactData: { price: 9 },
          actions: ['accept', 'reject', 'refine'],
        },
      },
    })
  })

  it.each([
    ['accept', {}],
    ['reject', {}],
    ['refine', { refineFeedback: { scope: 'whole', text: 'cheaper' } }],
  ])('R-LOOP-6: %s leads to the next turn, which the answer is an input of', (action, more) => {
    const rules = [
      { when: 'iteration == 1', decide: plea },
      { when: `answer != null && answer.action == "${action}"`, decide: { kind: 'terminate', reason: 'heard' } },
      { decide: { kind: 'terminate', reason: 'not heard' } },
    ]
    const run = given(loopOf({ rules })).start()
    run.when(answer('sup', { action, ...more }))
    expect(trace(run, 9).slice(0, 3)).toEqual(['node.completed sup [6]', 'node.started sup [9]', 'decided 2 [10]'])
    expect(payloads(run, 'runOrchestrator.decided')[1]).toMatchObject({ decision: { reason: 'heard' } })
  })

  it('R-LOOP-6: an escalation nobody answers in time counts as rejected, and the orchestrator goes on', () => {
    const run = given(loopOf({ mockDispatchPlan: [plea, terminate], timeoutMs: 500 }))
      .start()
      .after(500)
    expect(payloads(run, 'interrupt.resolved')[0]).toMatchObject({ outcome: 'rejected', resolvedBy: 'timeout' })
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(2)
  })
})

describe('counting turns', () => {
  it('R-STATE-2 R-STATE-9 A1: goes on over suspensions and hand-offs, without a gap and without a second count', () => {
    const plan = [{ kind: 'clarify' }, next('a'), { ...next('b'), confidence: 0.1 }, { kind: 'escalate' }, terminate]
    const run = given(scripted(plan)).start()
    run.when(answer('sup', { answers: { answer: 1 } }))
    begins(run, 'child-1')
    ends(run, 'child-1')
    run.when(answer('sup', { action: 'accept' }))
    begins(run, 'child-2')
    ends(run, 'child-2')
    run.when(answer('sup', { action: 'accept' }))
    expect(payloads(run, 'runOrchestrator.decided').map(({ iteration }) => iteration)).toEqual([1, 2, 3, 4, 5])
    expect(payloads(run, 'runOrchestrator.decided').map(({ decision }) => decision)).toEqual(plan)
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-STATE-9: a suspended turn keeps its number in the state', () => {
    const run = given(scripted([next('a'), { kind: 'clarify' }])).start()
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(run.state).toMatchObject({ orchestrator: { iteration: 2, decision: { kind: 'clarify' } } })
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' }).when({ type: 'ResumeRun' })
    expect(run.state).toMatchObject({ orchestrator: { iteration: 2 } })
    expect(openInterrupts(run.rules.plan, run.state)).toMatchObject([{ nodeId: 'sup', asked: { key: 'sup:0' } }])
  })

  it('R-STATE-12: what the loop needs to go on is folded from the log alone', () => {
    const run = given(scripted([{ kind: 'clarify' }, next('a')])).start()
    run.when(answer('sup', { answers: { answer: 'x' } }))
    expect(run.state).toMatchObject({
      orchestrator: { agentId: 'host:orchestrator:sup', iteration: 2, decided: 11, decision: next('a'), workers: [] },
    })
    expect(run.state).not.toHaveProperty('orchestrator.answer')
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(run.state).toMatchObject({
      orchestrator: { workers: [{ workerId: 'a', status: 'completed', childRunId: 'child-1' }] },
    })
  })
})

describe('a supervisor without workers to hand to', () => {
  const alone = (plan: (typeof terminate)[]) =>
    scripted(plan, { nodes: { dispatch: 'core.noop' }, edges: ['sup > dispatch'] })

  it('R-LOOP-1: may ask and terminate', () => {
    const run = given(alone([{ kind: 'clarify' }, terminate])).start()
    run.when(answer('sup', { answers: { answer: 1 } }))
    expect(statusOf(run.state)).toBe('completed')
    expect(run.told()).toContain('node.completed dispatch')
  })

  it('R-LOOP-7: fails when it names workers, after the decision is told', () => {
    const run = given(alone([next('a')])).start()
    expect(trace(run)).toEqual([
      'run.started',
      'node.started sup [0]',
      'decided 1 [1]',
      'node.failed sup [2]',
      'run.failed',
    ])
    expect(run.state).toMatchObject({ outcome: { error: { code: 'no_dispatch' } } })
  })

  /** What becomes of a decision that names workers, in a loop that may be refused as it is drawn. */
  const namingWorkers = (around: Parameters<typeof scripted>[1]) => {
    try {
      return statusOf(given(scripted([next('a')], around)).start().state)
    } catch {
      return 'refused'
    }
  }

  it.each<[string, Parameters<typeof scripted>[1]]>([
    ['there is a body but no dispatch in it', { nodes: { dispatch: 'core.noop' } }],
    ['its dispatch is disabled', { nodes: { dispatch: { type: 'core.dispatch', disabled: true } } }],
    [
      'the way to its dispatch is closed',
      { edges: [{ path: 'sup > dispatch', condition: { type: 'expression', expression: 'false' } }, 'dispatch > sup'] },
    ],
  ])('R-LOOP-7: fails when it names workers and %s, or is refused as such', (_what, around) => {
    expect(namingWorkers(around)).toMatch(/^(failed|refused)$/)
  })
})
