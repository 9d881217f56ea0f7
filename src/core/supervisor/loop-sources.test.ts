import { describe, expect, it } from 'vitest'
import { given, rulesFor, Scenario } from '../../testing/given-when-then.js'
import {
  answer,
  begins,
  ends,
  loopOf,
  next,
  payloads,
  refuses,
  scripted,
  terminate,
} from '../../testing/orchestration.js'
import type { Json, JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'

const reasons = (run: Scenario) =>
  payloads(run, 'runOrchestrator.decided').map(({ decision }) => (decision as JsonObject).reason ?? null)

const end = (reason: string) => ({ kind: 'terminate', reason })

describe('rules', () => {
  it('R-LOOP-11: the first rule that applies decides', () => {
    const rules = [
      { when: 'false', decide: end('first') },
      { when: 'true', decide: end('second') },
      { when: 'true', decide: end('third') },
      { decide: end('last') },
    ]
    expect(reasons(given(loopOf({ rules }, { id: 'mine' })).start())).toEqual(['second'])
  })

  it('R-LOOP-11: what is not exactly true does not apply', () => {
    const rules = [
      { when: '1 + 1', decide: end('number') },
      { when: '"true"', decide: end('text') },
      { decide: end('last') },
    ]
    expect(reasons(given(loopOf({ rules })).start())).toEqual(['last'])
  })

  it('R-HANDOFF-12 R-STATE-8: see the turn, the variables and what became of the workers', () => {
    const rules = [
      { when: 'iteration == 1 && size(workers) == 0 && answer == null && inputs.goal == "g"', decide: next('a', 'b') },
      {
        when: 'iteration == 2 && variables.got == 7 && workers[0].status == "completed" && workers[0].childRunId == "child-1" && workers[1].status == "failed" && workers[1].error.code == "unknown_child_workflow"',
        decide: end('all seen'),
      },
      { decide: end('not seen') },
    ]
    const run = given(loopOf({ rules }, { dispatch: { outputMapping: { got: 'x' } } })).start({ goal: 'g' })
    begins(run, 'child-1')
    ends(run, 'child-1', { x: 7 })
    refuses(run, 'unknown_child_workflow', { worker: 1 })
    expect(reasons(run)).toEqual([null, 'all seen'])
  })

  it('A2: an answer is an input of the next turn, and of that one only', () => {
    const rules = [
      { when: 'iteration == 1', decide: { kind: 'clarify', prompt: '?' } },
      { when: 'iteration == 2 && answer.answers.answer == "red"', decide: next('a') },
      { when: 'iteration == 3 && answer == null', decide: end('forgotten') },
      { decide: end('wrong') },
    ]
    const run = given(loopOf({ rules })).start()
    run.when(answer('sup', { answers: { answer: 'red' } }))
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(reasons(run)).toEqual([null, null, 'forgotten'])
  })

  it('A2: an answer that carries a secret is seen by the next turn and by no reader', () => {
    const rules = [
      { when: 'iteration == 1', decide: { kind: 'clarify', prompt: '?' } },
      { when: 'answer.answers.answer == "hunter2-secret"', decide: end('seen') },
      { decide: end('masked') },
    ]
    const run = given(loopOf({ rules }, { variables: [{ name: 'key', type: 'string', sensitive: true }] })).start({
      key: 'hunter2-secret',
    })
    run.when(answer('sup', { answers: { answer: 'hunter2-secret' } }))
    expect(reasons(run)).toEqual([null, 'seen'])
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter2')
  })

  it('R-EVENT-6: a decision that carries a secret is carried out, and told without it', () => {
    const rules = [
      {
        when: 'iteration == 1',
        decide: { kind: 'escalate', title: 'Use hunter2-secret?', artifact: { key: 'hunter2-secret' } },
      },
      { decide: end('used hunter2-secret') },
    ]
    const run = given(loopOf({ rules }, { variables: [{ name: 'key', type: 'string', sensitive: true }] })).start({
      key: 'hunter2-secret',
    })
    run.when(answer('sup', { action: 'accept' }))
    expect(reasons(run)).toEqual([null, '[REDACTED]'])
    expect(payloads(run, 'interrupt.requested')[0]).toMatchObject({ data: { artifactData: { key: '[REDACTED]' } } })
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter2')
    expect(run.state).toMatchObject({ orchestrator: { decision: { reason: 'used hunter2-secret' } }, phase: 'ended' })
  })

  describe('that carries a secret and is in doubt', () => {
    const doubted = () => {
      const rules = [{ decide: { ...end('used hunter2-secret'), confidence: 0 } }]
      const variables = [{ name: 'key', type: 'string' as const, sensitive: true }]
      return given(loopOf({ rules }, { variables })).start({ key: 'hunter2-secret' })
    }

    it('R-EVENT-6: is carried out as it was made', () => {
      const run = doubted()
      expect(run.state).toMatchObject({
        orchestrator: { decision: { reason: 'used hunter2-secret' } },
        phase: 'active',
      })
      run.when(answer('sup', { action: 'accept' }))
      expect(run.state).toMatchObject({ orchestrator: { decision: { reason: 'used hunter2-secret' } }, phase: 'ended' })
    })

    it('R-EVENT-6 R-CONF-8: is told without it', () => {
      expect(JSON.stringify(doubted().log.map(({ payload }) => payload))).not.toContain('hunter2')
    })
  })

  it('R-LOOP-2: an expression that fails decides nothing: the node fails', () => {
    const rules = [{ when: 'variables.nothing.there == 1', decide: next('a') }, { decide: terminate }]
    const run = given(loopOf({ rules })).start()
    expect(run.told()).toEqual(['run.started', 'node.started sup', 'node.failed sup', 'run.failed'])
    expect(run.state).toMatchObject({
      outcome: { error: { message: expect.stringContaining('config.rules[0].when') } },
    })
  })
})

describe('a script', () => {
  it.each(['mockDispatchPlan', 'mockDecisions'])(
    'R-LOOP-11: %s gives one decision per turn, and then the end',
    field => {
      const run = given(loopOf({ [field]: [{ kind: 'clarify' }, { kind: 'clarify' }] })).start()
      for (let turn = 1; turn <= 2; turn += 1) run.when(answer('sup', { answers: { answer: turn } }))
      expect(payloads(run, 'runOrchestrator.decided').map(({ decision }) => (decision as JsonObject).kind)).toEqual([
        'clarify',
        'clarify',
        'terminate',
      ])
    },
  )

  it('R-LOOP-11: without any in conformance mode, conformance-noop works once', () => {
    const run = given(loopOf({}, { id: 'mine' }), ['assay.conformance']).start()
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(payloads(run, 'runOrchestrator.decided').map(({ decision }) => decision)).toEqual([
      next('conformance-noop'),
      terminate,
    ])
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('a provider', () => {
  const provider = (config: JsonObject = {}, around = {}) => loopOf({ provider: 'model', ...config }, around)
  const decides = (run: Scenario, output: Json, since = run.sequence('node.started', 'sup')) =>
    run.when({ type: 'EffectAnswered', nodeId: 'sup', since, answer: { ok: true, output } })

  it('R-STATE-5 R-STATE-6 R-LOOP-11: is given all a turn goes by, and nothing else', () => {
    const run = given(provider({ prompt: 'Be brief.' }, { dispatch: { outputMapping: { got: 'x' } } })).start({
      goal: 'g',
    })
    expect(run.owed).toEqual([
      {
        kind: 'call-provider',
        nodeId: 'sup',
        since: 1,
        provider: 'model',
        ordinal: 0,
        repeat: 'safe',
        transcript: { from: 0, to: 1 },
        input: {
          nodeId: 'sup',
          iteration: 1,
          variables: { goal: 'g' },
          workers: [],
          answer: null,
          prompt: 'Be brief.',
        },
      },
    ])
    decides(run, next('a'))
    begins(run, 'child-1')
    ends(run, 'child-1', { x: 7 })
    expect(run.owed).toMatchObject([
      {
        ordinal: 1,
        transcript: { from: 0, to: 12 },
        input: {
          iteration: 2,
          variables: { goal: 'g', got: 7 },
          workers: [{ workerId: 'a', status: 'completed', childRunId: 'child-1' }],
        },
      },
    ])
    decides(run, { kind: 'clarify' })
    run.when(answer('sup', { answers: { answer: 'red' } }))
    expect(run.owed).toMatchObject([{ ordinal: 2, input: { iteration: 3, answer: { answers: { answer: 'red' } } } }])
    decides(run, terminate)
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-STATE-7 A35: looks back on no more events than the window has', () => {
    const run = new Scenario(rulesFor(provider(), [], { transcriptWindow: 4 })).start()
    decides(run, { kind: 'clarify' })
    run.when(answer('sup', { answers: { answer: 1 } }))
    const to = run.sequence('node.started', 'sup')
    expect(run.owed).toMatchObject([{ transcript: { from: to - 4, to } }])
  })

  it('R-ORCH-2: its decision is told before anything follows from it', () => {
    const run = given(provider()).start()
    expect(payloads(run, 'runOrchestrator.decided')).toEqual([])
    decides(run, { decision: next('a'), agentId: 'host:orchestrator:sup' })
    expect(run.told(2)).toEqual([
      'runOrchestrator.decided sup',
      'node.completed sup',
      'node.started dispatch',
      'core.workflowChain.event dispatch',
    ])
    expect(run.log[2]).toMatchObject({ cause: 1 })
  })

  it('R-ORCH-3: a decision of another agent is refused', () => {
    const run = given(provider({}, { agentId: 'core.boss' })).start()
    decides(run, { decision: next('a'), agentId: 'host:orchestrator:sup' })
    expect(run.told()).toEqual(['run.started', 'node.started sup', 'node.failed sup', 'run.failed'])
    expect(run.state).toMatchObject({
      outcome: { error: { code: 'validation_error', message: expect.stringContaining('"core.boss"') } },
    })
  })

  it.each<[string, Json]>([
    ['an unknown kind', { kind: 'delegate' }],
    ['an unknown field', { kind: 'terminate', why: 'x' }],
    ['no decision', null],
    ['a wrapped unknown kind', { decision: { kind: 'delegate' } }],
    ['a confidence out of range', { kind: 'terminate', confidence: 2 }],
  ])('R-ORCH-1: %s is refused and decides nothing', (_what, output) => {
    const run = given(provider()).start()
    decides(run, output)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'validation_error' } } })
    expect(payloads(run, 'runOrchestrator.decided')).toEqual([])
  })

  it('R-STATE-2: another try is not another turn', () => {
    const retrying = provider()
    const sup = { ...(retrying.nodes.sup as object), settings: { maxRetries: 1, retryDelayMs: 5 } } as never
    const run = given({ ...retrying, nodes: { ...retrying.nodes, sup } }).start({}, { maxLoopIterations: 1 })
    run.when({
      type: 'EffectAnswered',
      nodeId: 'sup',
      since: 1,
      answer: { ok: false, error: { code: 'e', message: 'm' } },
    })
    run.after(5)
    expect(run.owed).toMatchObject([{ kind: 'call-provider', ordinal: 0, input: { iteration: 1 } }])
    decides(run, terminate)
    expect(payloads(run, 'runOrchestrator.decided')).toMatchObject([{ iteration: 1 }])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-ORCH-4: an answer that comes twice or late decides nothing', () => {
    const run = given(provider()).start()
    decides(run, next('a'))
    const { length } = run.log
    decides(run, terminate, 1)
    expect(run.log).toHaveLength(length)
  })
})

describe('the orchestrator', () => {
  it('R-ORCH-12: has an identity of its own when its node names none', () => {
    expect(given(scripted([terminate])).start().state).toMatchObject({
      orchestrator: { agentId: 'host:orchestrator:sup' },
    })
  })

  it('R-ORCH-3 R-ORCH-9: is the agent its node names, in every turn', () => {
    const run = given(scripted([next('a'), { kind: 'clarify' }, terminate], { agentId: 'core.boss' })).start()
    begins(run, 'child-1', { agentId: 'core.worker' })
    ends(run, 'child-1')
    run.when(answer('sup', { answers: { answer: 1 } }))
    expect(payloads(run, 'runOrchestrator.decided').map(({ agentId }) => agentId)).toEqual(Array(3).fill('core.boss'))
    expect(run.state).toMatchObject({ orchestrator: { agentId: 'core.boss' }, agentId: 'core.worker' })
  })
})
