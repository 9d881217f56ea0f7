import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import {
  answer,
  begins,
  ends,
  next,
  payloads,
  refuses,
  scripted,
  terminate,
  trace,
} from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import { HANDOFF_PHASES } from './events.js'

const MAPPED = { outputMapping: { got: 'x' } }
const one = (dispatch = {}) => given(scripted([next('a'), terminate], { dispatch })).start()

/** Only what is told of hand-offs, and by which way each came about. */
const chain = (run: Scenario) =>
  run.log.flatMap(event => {
    if (event.type !== 'core.workflowChain.event') return []
    const cause = run.log[event.cause!]!
    const because = cause.type === 'core.workflowChain.event' ? cause.payload.phase : cause.type
    return [`${event.payload.phase} ${event.payload.workerId} < ${because}`]
  })

describe('the hand-off of one worker', () => {
  it('R-HANDOFF-1 R-HANDOFF-2 R-HANDOFF-3 R-HANDOFF-13: completed with a mapping, in four steps', () => {
    const run = one(MAPPED)
    begins(run, 'child-1')
    ends(run, 'child-1', { x: 1 })
    expect(chain(run)).toEqual([
      'dispatch.began a < runOrchestrator.decided',
      'dispatch.succeeded a < dispatch.began',
      'child.completed a < dispatch.succeeded',
      'output.harvested a < child.completed',
    ])
  })

  it('R-HANDOFF-5: completed without a mapping, nothing is harvested', () => {
    const run = one()
    begins(run, 'child-1')
    ends(run, 'child-1', { x: 1 })
    expect(chain(run).map(line => line.split(' ')[0])).toEqual([
      'dispatch.began',
      'dispatch.succeeded',
      'child.completed',
    ])
    expect(statusOf(run.state)).toBe('completed')
  })

  it.each(['failed', 'cancelled'] as const)(
    'R-HANDOFF-6 R-HANDOFF-10 R-MAP-5 R-ORCH-19: %s: nothing is harvested, and the supervisor takes its next turn',
    status => {
      const run = one(MAPPED)
      begins(run, 'child-1')
      ends(run, 'child-1', { x: 1 }, { status, error: { code: 'e', message: 'why' } })
      expect(chain(run)).toEqual([
        'dispatch.began a < runOrchestrator.decided',
        'dispatch.succeeded a < dispatch.began',
        `child.${status} a < dispatch.succeeded`,
      ])
      expect(payloads(run, `child.${status}`)).toEqual([
        {
          phase: `child.${status}`,
          workerId: 'a',
          parentRunId: 'run-1',
          childRunId: 'child-1',
          error: { code: 'e', error: 'e', message: 'why' },
        },
      ])
      expect(payloads(run, 'variable.changed')).toEqual([])
      expect(payloads(run, 'node.completed')[1]).toMatchObject({
        outputs: { childRunId: 'child-1', childStatus: status },
      })
      expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(2)
      expect(statusOf(run.state)).toBe('completed')
    },
  )

  it('R-HANDOFF-10: a child that says nothing of why it was cancelled has an error all the same', () => {
    const run = one()
    begins(run, 'child-1')
    ends(run, 'child-1', {}, { status: 'cancelled' })
    expect(payloads(run, 'child.cancelled')).toMatchObject([
      { error: { code: 'child_cancelled', error: 'child_cancelled' } },
    ])
  })

  it('R-HANDOFF-7 R-HANDOFF-8 R-ORCH-19: not even created: dispatch.failed, no child, and the supervisor goes on', () => {
    const run = refuses(one(MAPPED), 'unknown_child_workflow')
    expect(trace(run, 5)).toEqual([
      'dispatch.began a [2]',
      'dispatch.failed a [5]',
      'node.completed dispatch [2]',
      'node.started sup [7]',
      'decided 2 [8]',
      'node.completed sup [9]',
      'run.completed [10]',
    ])
    expect(payloads(run, 'dispatch.failed')).toEqual([
      {
        phase: 'dispatch.failed',
        workerId: 'a',
        parentRunId: 'run-1',
        error: {
          code: 'unknown_child_workflow',
          error: 'unknown_child_workflow',
          message: 'no child: unknown_child_workflow',
        },
      },
    ])
    expect(payloads(run, 'node.completed')[1]).toEqual({
      nodeId: 'dispatch',
      outputs: {
        childStatus: 'failed',
        workers: [{ workerId: 'a', status: 'failed', error: 'unknown_child_workflow' }],
      },
    })
    expect(payloads(run, 'node.dispatched')).toEqual([])
  })

  it('R-HANDOFF-8 R-HANDOFF-9 R-ORCH-17: says exactly what belongs to each step', () => {
    const run = one(MAPPED)
    begins(run, 'child-1')
    ends(run, 'child-1', { x: 1 })
    const step = { workerId: 'a', parentRunId: 'run-1' }
    const child = { ...step, childRunId: 'child-1' }
    expect(HANDOFF_PHASES.flatMap(phase => payloads(run, phase))).toEqual([
      { phase: 'dispatch.began', ...step },
      { phase: 'dispatch.succeeded', ...child },
      { phase: 'child.completed', ...child },
      { phase: 'output.harvested', ...child, harvestedKeys: ['got'] },
    ])
    expect(payloads(run, 'node.dispatched')).toEqual([{ childRunId: 'child-1', childWorkflowId: 'a' }])
  })

  it('R-HANDOFF-7: outcomes that come twice or too late change nothing', () => {
    const run = one(MAPPED)
    const since = run.sequence('node.started', 'dispatch')
    ends(run, 'child-1', { x: 1 })
    expect(run.told().at(-1)).toBe('core.workflowChain.event dispatch')
    begins(run, 'child-1')
    for (const again of [
      () => begins(run, 'child-9', { since }),
      () => refuses(run, 'late', { since }),
      () => begins(run, 'child-9', { worker: 1 }),
      () => ends(run, 'child-9'),
    ]) {
      const { length } = run.log
      again()
      expect(run.log).toHaveLength(length)
    }
    ends(run, 'child-1', { x: 1 })
    const { length } = run.log
    ends(run, 'child-1', { x: 2 })
    begins(run, 'child-1', { since })
    expect(run.log).toHaveLength(length)
    expect(run.state).toMatchObject({ variables: { got: 1 } })
  })

  it('R-HANDOFF-7: what belongs to an earlier turn does not touch this one', () => {
    const run = given(scripted([next('a'), next('a')])).start()
    const since = run.sequence('node.started', 'dispatch')
    begins(run, 'child-1')
    ends(run, 'child-1')
    const { length } = run.log
    begins(run, 'child-2', { since })
    ends(run, 'child-1')
    expect(run.log).toHaveLength(length)
    expect(run.owed).toMatchObject([{ kind: 'start-child', since: run.sequence('node.started', 'dispatch') }])
  })

  it('R-HANDOFF-3: the second turn’s chain begins at the second decision', () => {
    const run = given(scripted([next('a'), next('b')])).start()
    begins(run, 'child-1')
    ends(run, 'child-1')
    begins(run, 'child-2')
    const began = run.log.findLast(
      event => event.type === 'core.workflowChain.event' && event.payload.phase === 'dispatch.began',
    )
    expect(run.log[began!.cause!]).toMatchObject({ type: 'runOrchestrator.decided', payload: { iteration: 2 } })
    expect(run.log.findLast(({ type }) => type === 'node.dispatched')?.cause).toBe(began!.cause)
  })
})

describe('dispatching', () => {
  it('R-ORCH-14: fails without a decision that names workers', () => {
    const late = {
      nodes: { n: 'core.noop', late: 'core.dispatch' },
      edges: ['sup > dispatch', 'dispatch > sup', 'sup > n', 'n > late'],
    }
    const run = given(scripted([terminate], late)).start()
    expect(run.log.at(-2)).toMatchObject({
      type: 'node.failed',
      nodeId: 'late',
      payload: { error: { code: 'no_pending_decision' } },
    })
    expect(statusOf(run.state)).toBe('failed')
  })

  it('R-ORCH-14: fails before the first decision', () => {
    const around = { nodes: { early: 'core.dispatch' }, edges: ['sup > dispatch', 'dispatch > sup', 'early > sup'] }
    const run = given(scripted([next('a')], around)).start()
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'no_pending_decision' } } })
  })

  it('R-ORCH-14: a dispatch that the supervisor does not feed has no decision to carry out', () => {
    const run = given(scripted([next('a')], { nodes: { stray: 'core.dispatch' } })).start()
    expect(payloads(run, 'dispatch.began').length).toBeLessThan(2)
  })

  it('fanOutPolicy reject: two workers are one too many, one is fine', () => {
    const two = given(scripted([next('a', 'b')], { dispatch: { fanOutPolicy: 'reject' } })).start()
    expect(two.state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'fan_out_unsupported', retryable: false }, failedNodeId: 'dispatch' },
    })
    expect(payloads(two, 'dispatch.began')).toEqual([])
    expect(payloads(one({ fanOutPolicy: 'reject' }), 'dispatch.began')).toHaveLength(1)
  })

  it('R-EVENT-3 R-LIVE-12: a worker with another agent is told as a handoff, once per change', () => {
    const run = given(scripted([next('a', 'b', 'c', 'd')], { agentId: 'core.boss' })).start()
    const agents = ['core.boss', 'core.one', 'core.one', undefined]
    agents.forEach((agentId, worker) => {
      begins(run, `child-${worker}`, { worker, ...(agentId === undefined ? {} : { agentId }) })
      ends(run, `child-${worker}`)
    })
    expect(payloads(run, 'agent.handoff')).toEqual([
      { fromAgentId: 'core.boss', toAgentId: 'core.one', reason: 'dispatch' },
    ])
    const told = run.log.findIndex(({ type }) => type === 'agent.handoff')
    expect(run.log[told]).toMatchObject({ nodeId: 'dispatch', cause: 2 })
    expect([run.log[told - 1]?.type, run.log[told + 1]]).toMatchObject([
      'node.dispatched',
      { payload: { phase: 'dispatch.succeeded', workerId: 'b' } },
    ])
  })
})

describe('a sub-workflow', () => {
  const sub = (config = {}, settings = {}) =>
    given({
      nodes: {
        sub: { type: 'core.subWorkflow', config: { workflowId: 'w', ...config }, settings },
        after: 'core.noop',
      },
      edges: ['sub > after'],
    }).start()
  const AT = { nodeId: 'sub' }

  it('A29 R-MAP-9: goes the same way, due to its own start', () => {
    const run = sub(MAPPED)
    begins(run, 'child-1', AT)
    ends(run, 'child-1', { x: 1 }, AT)
    expect(trace(run)).toEqual([
      'run.started',
      'node.started sub [0]',
      'dispatch.began w [1]',
      'node.dispatched sub [1]',
      'dispatch.succeeded w [2]',
      'child.completed w [4]',
      'variable.changed sub [1]',
      'output.harvested w [5]',
      'node.completed sub [1]',
      'node.started after [8]',
      'node.completed after [9]',
      'run.completed [10]',
    ])
    expect(payloads(run, 'node.completed')[0]).toMatchObject({
      outputs: { childRunId: 'child-1', childStatus: 'completed' },
    })
  })

  it.each(['failed', 'cancelled'] as const)('R-MAP-9: fails with a child that %s, unless that is absorbed', status => {
    const end = { ...AT, status, error: { code: 'e', message: 'why' } }
    const failing = sub(MAPPED)
    begins(failing, 'child-1', AT)
    ends(failing, 'child-1', {}, end)
    expect(failing.state).toMatchObject({
      outcome: {
        error: { code: `child_${status}`, details: { childRunId: 'child-1', childError: 'e' } },
        failedNodeId: 'sub',
      },
    })
    const absorbing = sub({ ...MAPPED, onChildFailure: 'absorb' })
    begins(absorbing, 'child-1', AT)
    ends(absorbing, 'child-1', {}, end)
    expect(statusOf(absorbing.state)).toBe('completed')
    expect(payloads(absorbing, 'node.completed')[0]).toMatchObject({
      outputs: { childRunId: 'child-1', childStatus: status },
    })
    expect(payloads(absorbing, 'variable.changed')).toEqual([])
  })

  it('R-MAP-9: fails with what kept its child from being created, and is not tried again', () => {
    for (const config of [{}, { onChildFailure: 'absorb' }]) {
      const run = refuses(sub(config, { maxRetries: 3 }), 'unknown_child_workflow', AT)
      expect(trace(run, 2)).toEqual([
        'dispatch.began w [1]',
        'dispatch.failed w [2]',
        'node.failed sub [1]',
        'run.failed',
      ])
      expect(run.state).toMatchObject({ outcome: { error: { code: 'unknown_child_workflow' } } })
    }
  })

  it('R-EVENT-3: tells no handoff where nobody acted before', () => {
    expect(payloads(begins(sub(), 'child-1', { ...AT, agentId: 'core.one' }), 'agent.handoff')).toEqual([])
  })

  it('A29: beside a loop the two do not touch each other', () => {
    const run = given(
      scripted([next('a'), { kind: 'clarify' }], {
        nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'a', ...MAPPED } } },
      }),
    ).start()
    begins(run, 'child-1', AT)
    begins(run, 'child-2')
    ends(run, 'child-1', { x: 1 }, AT)
    ends(run, 'child-2', { x: 2 })
    run.when(answer('sup', { answers: { answer: 1 } }))
    expect(statusOf(run.state)).toBe('completed')
    expect(run.state).toMatchObject({ variables: { got: 1 } })
    expect(payloads(run, 'output.harvested')).toMatchObject([{ childRunId: 'child-1' }])
  })
})
