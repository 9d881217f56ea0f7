import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import {
  agentFlow,
  answered,
  atWork,
  breaks,
  briefs,
  eventsOf,
  loses,
  owedTo,
  reasons,
  returns,
  says,
  story,
  tool,
  wants,
} from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import type { Brief } from './brief.js'

const READ = tool('mcp:files.read')
const CUT = { kind: 'truncated', stopReason: 'length' } as const
const one = (brief: Partial<Brief> = {}, settings = {}) =>
  atWork(given(agentFlow({ settings })), { tools: [READ], ...brief })

const requested = (run: Scenario) =>
  eventsOf(run, 'assay.model.requested').map(({ payload: { call, attempt } }) => `${call}.${attempt}`)

describe('a host that dies during a call', () => {
  it('R-BUDGET-1: the call is held in full, and is made again as a second try of the same', () => {
    const run = one({ price: { input: 2, output: 10 } })
    loses(run)
    expect(payloads(run, 'assay.model.lost')).toEqual([
      { nodeId: 'a', invocationId: 'a:1', call: 1, attempt: 1, heldTokens: 1_100, heldCostUsd: 0.0102 },
    ])
    expect(story(run).slice(-2)).toEqual([
      'assay.model.lost < assay.model.requested',
      'assay.model.requested < assay.model.lost',
    ])
    expect(owedTo(run, 'call-model')).toMatchObject({ call: 1, attempt: 2 })
    loses(run)
    says(run, wants(READ.toolId))
    returns(run)
    loses(run)
    says(run, answered())
    expect(requested(run)).toEqual(['1.1', '1.2', '1.3', '2.1', '2.2'])
    expect(eventsOf(run, 'provider.usage')).toHaveLength(2)
    expect(statusOf(run.state)).toBe('completed')
  })

  it('a call whose price nobody knows is lost without one', () => {
    const run = loses(one())
    expect(payloads(run, 'assay.model.lost')[0]).not.toHaveProperty('heldCostUsd')
  })

  it('R-EVENT-4: pieces of reasoning that are repeated are not told twice; a second try counts anew', () => {
    const run = one()
    reasons(run, 0)
    reasons(run, 0)
    reasons(run, 2)
    reasons(run, 1)
    reasons(run, 1)
    expect(payloads(run, 'agent.reasoning.delta').map(({ sequence }) => sequence)).toEqual([0, 1])
    loses(run)
    reasons(run, 1)
    reasons(run, 0)
    says(run, { said: answered(), reasoning: 'all of it' })
    expect(payloads(run, 'agent.reasoning.delta').map(({ sequence }) => sequence)).toEqual([0, 1, 0])
    const [, , third] = eventsOf(run, 'agent.reasoning.delta')
    expect(third!.cause).toBe(eventsOf(run, 'assay.model.requested')[1]!.sequence)
    expect(payloads(run, 'agent.reasoned')).toHaveLength(1)
  })

  it('an answer to the try that was lost is not heard once the run knows of the loss of its call', () => {
    const run = one()
    const since = run.sequence('node.started', 'a')
    loses(run)
    run.when({ type: 'ModelLost', nodeId: 'a', since, call: 1, attempt: 1 })
    expect(payloads(run, 'assay.model.lost')).toHaveLength(1)
  })
})

describe('a node whose time is over', () => {
  const SETTINGS = { timeoutMs: 50 }

  it.each([
    ['during a call of its model', (run: Scenario) => run, ['assay.model.lost a']],
    ['during a call of a tool', (run: Scenario) => says(run, wants(READ.toolId)), ['agent.toolReturned a']],
  ])('R-LIVE-16: %s: the bracket is closed before the node fails', (_when, until, lost) => {
    const run = until(one({}, SETTINGS))
    const { length } = run.log
    run.after(51)
    expect(run.told(length)).toEqual([...lost, 'agent.invocation.completed a', 'node.failed a', 'run.failed'])
    expect(payloads(run, 'agent.invocation.completed')[0]).toMatchObject({ outcome: 'failed' })
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'node_timeout' } })
    expect(run.owed).toEqual([])
  })

  it('before its brief is there: no bracket', () => {
    const run = given(agentFlow({ settings: SETTINGS }))
      .start()
      .after(51)
    expect(run.told(2)).toEqual(['node.failed a', 'run.failed'])
  })

  it('R-LIVE-19: tried again, it begins another invocation', () => {
    const run = one({}, { ...SETTINGS, maxRetries: 1, retryDelayMs: 10 })
    run.after(51)
    expect(run.told().slice(-3)).toEqual(['assay.model.lost a', 'agent.invocation.completed a', 'node.retried a'])
    briefs(run.after(10), { tools: [READ] })
    says(run, answered())
    expect(payloads(run, 'agent.invocation.started').map(({ invocationId }) => invocationId)).toEqual([
      'a:1',
      `a:${run.sequence('node.started', 'a')}`,
    ])
    // What was lost had not been paid for by anybody: this time it counts.
    expect(payloads(run, 'provider.usage')[0]).not.toHaveProperty('cacheHit')
  })
})

describe('a run that is stopped', () => {
  const POINTS: readonly [string, (run: Scenario) => Scenario, readonly string[]][] = [
    ['during a call of its model', run => run, ['assay.model.lost a']],
    ['during a call of a tool', run => says(run, wants(READ.toolId)), ['agent.toolReturned a']],
    ['while a person is asked', run => says(run, answered('x', 0.1)), []],
  ]

  it.each(POINTS)('R-LIVE-16: %s, by a cancel', (_when, until, lost) => {
    const run = until(one())
    const { length } = run.log
    run.when({ type: 'CancelRun', by: 'ann' })
    expect(run.told(length)).toEqual([...lost, 'agent.invocation.completed a', 'node.cancelled a', 'run.cancelled'])
    expect(payloads(run, 'agent.invocation.completed')[0]).toMatchObject({ outcome: 'failed' })
    expect(run.owed).toEqual([])
  })

  it.each(POINTS)('R-LIVE-16: %s, because its time is over', (_when, until, lost) => {
    const run = atWork(given(agentFlow({}, { settings: {} })), { tools: [READ] }, { runTimeoutMs: 1_000 })
    until(run)
    const { length } = run.log
    run.after(1_001)
    expect(run.told(length)).toEqual([
      ...lost,
      'agent.invocation.completed a',
      'node.cancelled a',
      'cap.breached',
      'run.failed',
    ])
  })

  it.each(POINTS)('R-LIVE-16: %s, because its hosts died of it', (_when, until, lost) => {
    const run = until(one())
    const { length } = run.log
    run.when({ type: 'Quarantine', attempts: 4 })
    expect(run.told(length)).toEqual([...lost, 'agent.invocation.completed a', 'node.cancelled a', 'run.failed'])
  })

  it('R-LIVE-16: before its brief is there, no bracket is closed', () => {
    const run = given(agentFlow()).start().when({ type: 'CancelRun', by: 'ann' })
    expect(run.told(2)).toEqual(['node.cancelled a', 'run.cancelled'])
  })
})

describe('a pause', () => {
  const now = { type: 'PauseRun', drainPolicy: 'immediate' } as const
  const drained = { type: 'PauseRun', drainPolicy: 'drain-current-node' } as const
  const resume = { type: 'ResumeRun' } as const

  it('at once, during a call of the model: it is cut, counted in full, and made again', () => {
    const run = one()
    const { length } = run.log
    run.when(now)
    expect(run.told(length)).toEqual(['assay.model.lost a', 'run.paused'])
    expect(run.owed).toEqual([])
    run.when(resume)
    expect(run.told(length + 2)).toEqual(['run.resumed', 'assay.model.requested a'])
    expect(requested(run)).toEqual(['1.1', '1.2'])
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
  })

  it('at once, during a call of a tool: its outcome is asked for again under the same name', () => {
    const run = says(one(), wants(READ.toolId))
    const before = owedTo(run, 'call-tool')
    run.when(now)
    expect(run.told().at(-1)).toBe('run.paused')
    expect(run.owed).toEqual([])
    run.when(resume)
    expect(owedTo(run, 'call-tool')).toEqual(before)
    says(returns(run), answered())
    expect(eventsOf(run, 'agent.toolCalled')).toHaveLength(1)
    expect(statusOf(run.state)).toBe('completed')
  })

  it('at once, before the brief: it is asked for again', () => {
    const run = given(agentFlow()).start().when(now)
    expect(run.owed).toEqual([])
    run.when(resume)
    says(briefs(run), answered())
    expect(eventsOf(run, 'node.started')).toHaveLength(1)
    expect(statusOf(run.state)).toBe('completed')
  })

  it('at once, while a person is asked: the question stays open, and is answered once the run goes on', () => {
    const run = says(one(), answered('x', 0.1)).when(now)
    run.when(answer('a', { action: 'accept' }))
    expect(run.refusal?.code).toBe('run_paused')
    run.when(resume)
    expect(statusOf(run.state)).toBe('waiting-approval')
    run.when(answer('a', { action: 'accept' }))
    expect(statusOf(run.state)).toBe('completed')
  })

  it('draining, during a call of the model: it is waited for, and nothing follows', () => {
    const run = one()
    run.when(drained)
    expect(run.told().at(-1)).toBe('assay.pause.requested')
    says(run, wants(READ.toolId))
    expect(run.told().slice(-2)).toEqual(['provider.usage a', 'run.paused'])
    expect(run.owed).toEqual([])
    run.when(resume)
    expect(run.told().slice(-2)).toEqual(['run.resumed', 'agent.toolCalled a'])
    says(returns(run), answered())
    expect(statusOf(run.state)).toBe('completed')
    expect(requested(run)).toEqual(['1.1', '2.1'])
  })

  it('draining, during a call of the model whose host dies: the loss is told and then it rests', () => {
    const run = loses(one().when(drained))
    expect(run.told().slice(-2)).toEqual(['assay.model.lost a', 'run.paused'])
    run.when(resume)
    expect(requested(run)).toEqual(['1.1', '1.2'])
  })

  it('draining, during a call of a tool: it is waited for, and nothing follows', () => {
    const run = returns(says(one(), wants(READ.toolId, READ.toolId)).when(drained))
    expect(run.told().slice(-2)).toEqual(['agent.toolReturned a', 'run.paused'])
    run.when(resume)
    expect(run.told().at(-1)).toBe('agent.toolCalled a')
  })

  it.each([
    ['an answer that ends the run', answered(), 'run.completed'],
    ['an answer that is asked for again', CUT, 'run.paused'],
    ['an answer that nobody is sure of', answered('x', 0.1), 'run.paused'],
  ] as const)('draining, then %s', (_what, said, last) => {
    const run = says(one().when(drained), said)
    if (last === 'run.completed') run.when(resume)
    expect(run.told().at(-1)).toBe(last)
  })

  it('draining before the brief: it is waited for, and nothing is called', () => {
    const run = given(agentFlow()).start().when(drained)
    expect(run.told().at(-1)).toBe('assay.pause.requested')
    briefs(run)
    expect(run.told().slice(-2)).toEqual(['prompt.composed a', 'run.paused'])
    run.when(resume)
    expect(run.told().at(-1)).toBe('assay.model.requested a')
  })

  it('draining between two calls: at once', () => {
    const run = says(one().when(drained), wants(READ.toolId)).when(resume).when(drained)
    returns(run)
    expect(run.told().at(-1)).toBe('run.paused')
    run.when(resume)
    expect(requested(run)).toEqual(['1.1', '2.1'])
  })
})

describe('a node that is tried again', () => {
  const RETRIED = { maxRetries: 2, retryDelayMs: 10 }

  it('R-BUDGET-1: uses again what it has paid for: told with what it cost then, counted once', () => {
    const run = atWork(given(agentFlow({ settings: RETRIED })), { tools: [READ] }, { budget: { maxTokens: 100_000 } })
    returns(says(run, wants(READ.toolId)))
    breaks(run)
    expect(run.told().at(-1)).toBe('node.retried a')
    briefs(run.after(10), { tools: [READ] })
    expect(owedTo(run, 'call-model')).toMatchObject({ call: 1, attempt: 1 })
    returns(says(run, wants(READ.toolId)))
    says(run, answered())
    expect(payloads(run, 'provider.usage').map(({ totalTokens, cacheHit }) => [totalTokens, cacheHit])).toEqual([
      [15, undefined],
      [0, undefined],
      [15, true],
      [15, undefined],
    ])
    expect(run.state.phase === 'ended' && run.state.spend?.tokens).toBe(30)
  })

  it('R-BUDGET-1: a first call that broke off unbilled is made for the first time in the second try, and counts', () => {
    const run = atWork(given(agentFlow({ settings: RETRIED })), {}, { budget: { maxTokens: 100_000 } })
    breaks(run)
    briefs(run.after(10))
    says(run, answered())
    expect(payloads(run, 'provider.usage')[1]).not.toHaveProperty('cacheHit')
    expect(run.state.phase === 'ended' && run.state.spend?.tokens).toBe(15)
  })
})
