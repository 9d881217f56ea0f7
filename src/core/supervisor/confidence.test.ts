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

const ESCALATED = 'core.workflowChain.confidence-escalated'
const unsure = { ...next('a'), confidence: 0.3 }
const decisions = (run: Scenario) => payloads(run, 'runOrchestrator.decided')
const routes = (run: Scenario) =>
  payloads(run, 'node.completed').flatMap(({ nodeId, outputs }) =>
    nodeId === 'sup' ? [`${(outputs as JsonObject).iteration} ${(outputs as JsonObject).route}`] : [],
  )

/** A run under a policy of its own. */
const under = (
  policy: { floor?: number; interruptKind?: string },
  plan: readonly JsonObject[],
  config: JsonObject = {},
) =>
  new Scenario(
    rulesFor(loopOf({ mockDispatchPlan: plan, ...config }), [], {
      confidence: { floor: 0.5, interruptKind: 'approval', ...policy },
    }),
  ).start()

describe('a decision below the floor', () => {
  it('R-CONF-2 R-CONF-3 R-CONF-4 R-CONF-8 R-CONF-13: is told, shown to a person and not carried out', () => {
    const run = given(scripted([unsure])).start()
    expect(trace(run)).toEqual([
      'run.started',
      'node.started sup [0]',
      'decided 1 [1]',
      `${ESCALATED} sup [2]`,
      'interrupt.requested sup [3]',
      'approval.requested sup [4]',
      'node.suspended sup [4]',
    ])
    expect(payloads(run, ESCALATED)).toEqual([
      {
        parentRunId: 'run-1',
        workerId: 'a',
        confidence: 0.3,
        floor: 0.5,
        escalationKind: 'escalate',
        originalDecision: unsure,
      },
    ])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      {
        kind: 'approval',
        data: { artifactType: 'decision', artifactData: unsure, actions: ['accept', 'reject', 'edit-accept'] },
      },
    ])
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(run.owed).toEqual([])
  })

  it('R-CONF-2 R-CONF-6: at the floor, or without an opinion, nobody is asked', () => {
    for (const decision of [{ ...next('a'), confidence: 0.5 }, next('a')])
      expect(payloads(given(scripted([decision])).start(), 'dispatch.began')).toHaveLength(1)
    expect(statusOf(given(scripted([{ ...terminate, confidence: 0.5 }])).start().state)).toBe('completed')
  })

  it('R-CONF-2: a stricter floor doubts more', () => {
    const run = under({ floor: 0.9 }, [{ ...next('a'), confidence: 0.8 }])
    expect(payloads(run, ESCALATED)).toMatchObject([{ confidence: 0.8, floor: 0.9 }])
  })

  it('R-CONF-7: the run’s own threshold for agents does not move it', () => {
    const run = given(scripted([{ ...next('a'), confidence: 0.6 }])).start({}, { escalationThreshold: 0.99 })
    expect(payloads(run, 'dispatch.began')).toHaveLength(1)
    expect(payloads(given(scripted([unsure])).start({}, { escalationThreshold: 0 }), ESCALATED)).toHaveLength(1)
  })

  it('R-CONF-2: clarify and escalate ask what they ask, however unsure', () => {
    for (const kind of ['clarify', 'escalate'])
      expect(payloads(given(scripted([{ kind, confidence: 0 }])).start(), ESCALATED)).toEqual([])
  })

  it('A5: with several workers it is one doubt, about the first and all of them', () => {
    const decision = { ...next('a', 'b'), confidence: 0 }
    const run = given(scripted([decision])).start()
    expect(payloads(run, ESCALATED)).toMatchObject([{ workerId: 'a', originalDecision: decision }])
    run.when(answer('sup', { action: 'accept' }))
    begins(run, 'child-0')
    ends(run, 'child-0')
    expect(payloads(run, 'dispatch.began').map(({ workerId }) => workerId)).toEqual(['a', 'b'])
  })

  it('R-CONF-4: each doubtful turn has one of its own', () => {
    const run = given(scripted([unsure, unsure])).start()
    run.when(answer('sup', { action: 'reject' }))
    expect(payloads(run, ESCALATED)).toHaveLength(2)
    expect(run.log.filter(({ type }) => type === ESCALATED).map(({ cause }) => cause)).toEqual(
      run.log.filter(({ type }) => type === 'runOrchestrator.decided').map(({ sequence }) => sequence),
    )
  })
})

describe('the person who is shown it', () => {
  it('R-CONF-3 R-STATE-9: accepts: it is carried out in the same turn, without a second decision', () => {
    const run = given(scripted([unsure, terminate]))
      .start()
      .when(answer('sup', { action: 'accept' }))
    expect(trace(run, 7)).toEqual([
      'interrupt.resolved sup',
      'approval.received sup [7]',
      'node.resumed sup [7]',
      'node.completed sup [7]',
      'node.started dispatch [10]',
      'dispatch.began a [2]',
    ])
    expect(routes(run)).toEqual(['1 body'])
    expect(decisions(run)).toHaveLength(1)
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(decisions(run).map(({ iteration }) => iteration)).toEqual([1, 2])
  })

  it('§6.2 R-STATE-9: edits: what they made of it is carried out in the same turn', () => {
    const run = given(scripted([unsure, terminate])).start()
    run.when(answer('sup', { action: 'edit-accept', editedArtifactData: next('b', 'c') }))
    expect(decisions(run)).toHaveLength(1)
    expect(payloads(run, 'dispatch.began')).toMatchObject([{ workerId: 'b' }])
    expect(payloads(run, 'interrupt.resolved')).toMatchObject([{ resumeValue: { editedArtifactData: next('b', 'c') } }])
    expect(payloads(run, 'node.completed')[0]).toMatchObject({ outputs: { decision: next('b', 'c') } })
  })

  it('§6.2: edits it into an end, or an end into work', () => {
    const ending = given(scripted([unsure])).start()
    ending.when(answer('sup', { action: 'edit-accept', editedArtifactData: { kind: 'terminate', reason: 'enough' } }))
    expect(statusOf(ending.state)).toBe('completed')
    expect(routes(ending)).toEqual(['1 done'])
    const working = given(scripted([{ ...terminate, confidence: 0 }])).start()
    working.when(answer('sup', { action: 'edit-accept', editedArtifactData: next('b') }))
    expect(payloads(working, 'dispatch.began')).toMatchObject([{ workerId: 'b' }])
  })

  it.each<[string, JsonObject, string]>([
    [
      'an edit that is no decision',
      { action: 'edit-accept', editedArtifactData: { kind: 'delegate' } },
      'editedArtifactData.kind',
    ],
    [
      'an edit with a field too many',
      { action: 'edit-accept', editedArtifactData: { ...terminate, x: 1 } },
      'editedArtifactData.x',
    ],
    [
      'an edit that would ask again',
      { action: 'edit-accept', editedArtifactData: { kind: 'clarify' } },
      'must be next-worker or terminate',
    ],
    [
      'an action that is not offered',
      { action: 'refine', refineFeedback: { scope: 'whole' } },
      'must be one of accept, reject, edit-accept',
    ],
    ['no action', {}, 'resumeValue.action'],
  ])('§6.2: %s is refused and leaves the question open', (_what, value, message) => {
    const run = given(scripted([unsure]))
      .start()
      .when(answer('sup', value))
    expect(run.refusal).toMatchObject({ code: 'validation_error', message: expect.stringContaining(message) })
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('§6.2 R-CONF-3: rejects: it is not carried out, and the next turn begins', () => {
    const run = given(scripted([unsure, terminate]))
      .start()
      .when(answer('sup', { action: 'reject' }))
    expect(routes(run)).toEqual(['1 again', '2 done'])
    expect(payloads(run, 'dispatch.began')).toEqual([])
    expect(decisions(run).map(({ iteration }) => iteration)).toEqual([1, 2])
  })

  it('R-CONF-3: does not answer in time: it counts as rejected', () => {
    const run = under({}, [unsure, terminate], { timeoutMs: 500 }).after(500)
    expect(payloads(run, 'dispatch.began')).toEqual([])
    expect(routes(run)).toEqual(['1 again', '2 done'])
  })

  it('A4 R-ORCH-5: a doubtful end ends the run only when it is accepted', () => {
    const doubtful = { ...terminate, confidence: 0.2 }
    const run = given(scripted([doubtful, doubtful])).start()
    expect(payloads(run, ESCALATED)[0]).not.toHaveProperty('workerId')
    run.when(answer('sup', { action: 'reject' }))
    expect(statusOf(run.state)).toBe('waiting-approval')
    run.when(answer('sup', { action: 'accept' }))
    expect(statusOf(run.state)).toBe('completed')
    expect(routes(run)).toEqual(['1 again', '2 done'])
  })

  it('§6.2: names workers where no dispatch follows: the node fails', () => {
    const alone = { nodes: { dispatch: 'core.noop' }, edges: ['sup > dispatch'] }
    const run = given(scripted([{ ...terminate, confidence: 0 }], alone)).start()
    run.when(answer('sup', { action: 'edit-accept', editedArtifactData: next('a') }))
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'no_dispatch' } } })
  })
})

describe('how a person is asked', () => {
  it('R-CONF-9 R-CONF-11: by a clarification, where "confirm" confirms', () => {
    const run = under({ interruptKind: 'clarification' }, [unsure, terminate])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      { kind: 'clarification', data: { questions: [{ id: 'decision' }], contextType: 'low-confidence' } },
    ])
    expect(payloads(run, ESCALATED)).toMatchObject([{ escalationKind: 'clarify' }])
    expect(statusOf(run.state)).toBe('waiting-input')
    run.when(answer('sup', { answers: { decision: 'confirm' } }))
    expect(routes(run)).toEqual(['1 body'])
    expect(decisions(run)).toHaveLength(1)
  })

  it.each(['no', 'Confirm', ' confirm', true, { confirm: true }])(
    'R-CONF-3 §6.2: by a clarification, where %j does not: it is an input of the next turn',
    said => {
      const rules = [
        { when: 'iteration == 1', decide: unsure },
        { when: 'answer.answers.decision != "confirm"', decide: { kind: 'terminate', reason: 'heard' } },
        { decide: terminate },
      ]
      const confidence = { floor: 0.5, interruptKind: 'clarification' }
      const run = new Scenario(rulesFor(loopOf({ rules }), [], { confidence })).start()
      run.when(answer('sup', { answers: { decision: said } }))
      expect(routes(run)).toEqual(['1 again', '2 done'])
      expect(decisions(run)[1]).toMatchObject({ decision: { reason: 'heard' } })
    },
  )

  it('R-CONF-3: by a clarification nobody answers in time: the node fails, nothing is carried out', () => {
    const run = under({ interruptKind: 'clarification' }, [unsure], { timeoutMs: 500 }).after(500)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'interrupt_timeout' } } })
    expect(payloads(run, 'dispatch.began')).toEqual([])
  })

  describe('by a kind of the host’s own', () => {
    const vendor = (plan: readonly JsonObject[]) => under({ interruptKind: 'x-host-acme-review' }, plan)

    it('R-CONF-9 R-CONF-10 R-CONF-11: it is custom under that name, and escalates', () => {
      const run = vendor([unsure])
      expect(payloads(run, 'interrupt.requested')).toMatchObject([
        {
          kind: 'custom',
          data: { customKind: 'x-host-acme-review', payload: { decision: unsure, confidence: 0.3, floor: 0.5 } },
        },
      ])
      expect(payloads(run, ESCALATED)).toMatchObject([{ escalationKind: 'escalate' }])
      expect(statusOf(run.state)).toBe('waiting-input')
    })

    it('R-CONF-10: takes the same answers', () => {
      expect(payloads(vendor([unsure]).when(answer('sup', { action: 'accept' })), 'dispatch.began')).toHaveLength(1)
      expect(routes(vendor([unsure, terminate]).when(answer('sup', { action: 'reject' })))).toEqual([
        '1 again',
        '2 done',
      ])
      const edit = { action: 'edit-accept', editedArtifactData: next('b') }
      expect(payloads(vendor([unsure]).when(answer('sup', edit)), 'dispatch.began')).toMatchObject([{ workerId: 'b' }])
    })

    it.each<[JsonObject]>([
      [{}],
      [{ action: 'yes' }],
      [{ action: 'edit-accept' }],
      [{ action: 'edit-accept', editedArtifactData: { kind: 'escalate' } }],
    ])('R-CONF-3: refuses %j', value => {
      const run = vendor([unsure]).when(answer('sup', value))
      expect(run.refusal?.code).toBe('validation_error')
      expect(statusOf(run.state)).toBe('waiting-input')
    })
  })
})

describe('a decision that the agent itself is not sure of', () => {
  const held = (confidence: number, pending: JsonObject = next('a'), configurable?: JsonObject) =>
    given(loopOf({ mockConfidence: confidence, mockPendingDecision: pending }, { agentId: 'core.boss' })).start(
      {},
      configurable,
    )

  it('R-LOWC-1 R-LOWC-2: is held; nothing is decided before a person ratifies it', () => {
    const run = held(0.4)
    expect(trace(run, 1)).toEqual([
      'node.started sup [0]',
      'agent.decided sup [1]',
      'interrupt.requested sup [2]',
      'node.suspended sup [3]',
    ])
    const short = { agentId: 'core.boss', threshold: 0.7, observed: 0.4 }
    expect(payloads(run, 'agent.decided')).toEqual([{ agentId: 'core.boss', decision: next('a'), confidence: 0.4 }])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      { kind: 'low-confidence', data: { ...short, decision: next('a') } },
    ])
    expect(payloads(run, 'node.suspended')).toMatchObject([{ reason: 'low-confidence', ...short }])
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('R-LOWC-2: accepted, it is decided once, by the orchestrator, and carried out', () => {
    const run = held(0.4).when(answer('sup', { action: 'accept' }))
    expect(trace(run, 5)).toEqual([
      'interrupt.resolved sup',
      'node.resumed sup [5]',
      'decided 1 [5]',
      'node.completed sup [7]',
      'node.started dispatch [8]',
      'dispatch.began a [7]',
    ])
    expect(decisions(run)).toEqual([{ agentId: 'core.boss', decision: next('a'), iteration: 1 }])
    begins(run, 'child-1')
    ends(run, 'child-1')
    expect(decisions(run)).toHaveLength(2)
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-LOWC-2: edited, the edited one is decided, of whatever kind', () => {
    const run = held(0.4).when(
      answer('sup', { action: 'edit-accept', editedArtifactData: { kind: 'clarify', prompt: '?' } }),
    )
    expect(decisions(run)).toMatchObject([{ decision: { kind: 'clarify' }, iteration: 1 }])
    expect(statusOf(run.state)).toBe('waiting-input')
    run.when(answer('sup', { answers: { answer: 1 } }))
    expect(decisions(run).map(({ iteration }) => iteration)).toEqual([1, 2])
  })

  it('R-LOWC-2: rejected, or not answered in time, nothing is decided and the node fails', () => {
    const rejected = held(0.4).when(answer('sup', { action: 'reject' }))
    expect(rejected.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'interrupt_rejected' } } })
    expect(decisions(rejected)).toEqual([])
    const settings = { timeoutMs: 500 }
    const sup = {
      type: 'core.orchestrator.supervisor',
      config: { mockConfidence: 0, mockPendingDecision: terminate },
      settings,
    }
    const late = given(scripted([], { nodes: { sup } }))
      .start()
      .after(500)
    expect(late.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'interrupt_timeout' } } })
    expect(payloads(late, 'interrupt.resolved')).toMatchObject([{ outcome: 'rejected', reason: 'timeout' }])
    expect(decisions(late)).toEqual([])
  })

  it.each<[JsonObject]>([
    [{}],
    [{ action: 'refine' }],
    [{ action: 'edit-accept', editedArtifactData: { kind: 'delegate' } }],
  ])('R-LOWC-2: refuses %j', value => {
    const run = held(0.4).when(answer('sup', value))
    expect(run.refusal?.code).toBe('validation_error')
    expect(decisions(run)).toEqual([])
  })

  it('R-LOWC-3: at the threshold it goes on', () => {
    const run = held(0.7)
    expect(trace(run, 1).slice(0, 4)).toEqual([
      'node.started sup [0]',
      'agent.decided sup [1]',
      'decided 1 [2]',
      'node.completed sup [3]',
    ])
  })

  it('R-LOWC-4: the run’s own threshold comes before the default', () => {
    expect(decisions(held(0.4, terminate, { escalationThreshold: 0.4 }))).toHaveLength(1)
    expect(payloads(held(0.8, terminate, { escalationThreshold: 0.9 }), 'node.suspended')).toMatchObject([
      { threshold: 0.9 },
    ])
  })

  it('R-LOWC-4 R-BOUND-1: a threshold out of range is refused when the run is created', () => {
    expect(held(0.4, terminate, { escalationThreshold: 1.1 }).refusal?.code).toBe('validation_error')
  })

  it('R-LOWC-5: it is held first; what a person ratified is not doubted again', () => {
    const run = held(0.4, unsure)
    expect(payloads(run, ESCALATED)).toEqual([])
    run.when(answer('sup', { action: 'accept' }))
    expect(payloads(run, ESCALATED)).toEqual([])
    expect(payloads(run, 'dispatch.began')).toHaveLength(1)
  })

  it('R-LOWC-5 R-CONF-2: what was not held is still doubted', () => {
    const run = held(0.9, unsure)
    expect(payloads(run, ESCALATED)).toHaveLength(1)
    expect(payloads(run, 'dispatch.began')).toEqual([])
  })
})
