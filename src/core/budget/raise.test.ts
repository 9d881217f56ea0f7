import { describe, expect, it } from 'vitest'
import { convenes, gateAt, inspects, subFlow, votes, works } from '../../testing/gate-stories.js'
import { given, rulesFor, Scenario } from '../../testing/given-when-then.js'
import {
  agentFlow,
  agentNode,
  answered,
  atWork,
  breaks,
  briefs,
  eventsOf,
  owedTo,
  returns,
  says,
  tool,
  wants,
} from '../../testing/invocations.js'
import { answer, begins, ends, next, payloads, scripted, terminate } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'

const READ = tool('mcp:files.read')
const UNUSABLE = { kind: 'unusable', reason: 'schema-violation', problem: 'p' } as const
const PRICE = { input: 2, output: 10 }
const SPENT = { tokens: 0, costNano: 0, toolCalls: 0, retries: 0 }

const asking = (budget: JsonObject) => ({ budget: { ...budget, onExhaustion: 'interrupt' } })
const more = (budgetDelta: JsonObject, nodeId = 'a') => answer(nodeId, { action: 'accept', budgetDelta })
const refused = (nodeId = 'a') => answer(nodeId, { action: 'reject' })

/** An agent whose first call has left 60 tokens of 300, and which needs 100 and an answer. */
const short = (budget: JsonObject = { maxTokens: 300 }, rules = rulesFor(agentFlow())) =>
  says(atWork(new Scenario(rules), { tools: [READ], price: PRICE }, asking(budget)), {
    said: wants(READ.toolId),
    usage: { inputTokens: 100, outputTokens: 140 },
    replyTokens: 0,
  })

const question = (run: Scenario) => eventsOf(run, 'interrupt.requested').at(-1)!.payload
const reserves = (run: Scenario) => payloads(run, 'budget.reserved').map(({ effectiveBudget }) => effectiveBudget)

describe('a run whose own ceiling does not let it go on', () => {
  it('R-BUDGET-4: asks for an approval instead of failing, and says what is needed', () => {
    const run = returns(short(), { resultTokens: 0 })
    expect(run.told().slice(-4)).toEqual([
      'budget.exhausted',
      'interrupt.requested a',
      'approval.requested a',
      'node.suspended a',
    ])
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(question(run)).toMatchObject({
      kind: 'approval',
      data: {
        artifactType: 'budget',
        dimension: 'tokens',
        setting: 'maxTokens',
        limit: 300,
        consumed: 240,
        held: 0,
        observed: 404,
        leastDelta: 104,
        actions: ['accept', 'reject'],
      },
    })
    expect(question(run).data).not.toHaveProperty('mostDelta')
    expect(run.owed).toEqual([])
  })

  it('R-BUDGET-4: what a person adds is told as a second reservation, and exactly the step that was stopped is taken', () => {
    const run = returns(short(), { resultTokens: 0 })
    const from = run.log.length
    run.when(more({ maxTokens: 104 }))
    expect(run.refusal).toBeUndefined()
    expect(run.told(from)).toEqual([
      'interrupt.resolved a',
      'approval.received a',
      'node.resumed a',
      'budget.reserved',
      'assay.model.requested a',
    ])
    expect(reserves(run)).toEqual([{ maxTokens: 300 }, { maxTokens: 404 }])
    expect(payloads(run, 'assay.model.requested').at(-1)).toMatchObject({ call: 2, attempt: 1, reservedTokens: 164 })
    says(run, { said: answered('x'), usage: { inputTokens: 100, outputTokens: 64 } })
    expect(statusOf(run.state)).toBe('completed')
    expect(payloads(run, 'budget.consumed').at(-1)).toEqual({
      dimension: 'tokens',
      consumed: 404,
      limit: 404,
      remaining: 0,
    })
  })

  it('R-BUDGET-4: a refusal ends it as it would have ended without asking', () => {
    const run = returns(short(), { resultTokens: 0 }).when(refused())
    expect(run.told().slice(-4)).toEqual([
      'agent.invocation.completed a',
      'node.cancelled a',
      'cap.breached a',
      'run.failed',
    ])
    expect(payloads(run, 'cap.breached')).toMatchObject([{ kind: 'budget-tokens', limit: 300, observed: 404 }])
    expect(payloads(run, 'run.failed')).toMatchObject([{ error: { code: 'budget_exhausted' }, failedNodeId: 'a' }])
    expect(payloads(run, 'budget.exhausted')).toHaveLength(1)
  })

  it.each([
    ['nothing', undefined, 'budgetDelta.maxTokens'],
    ['what is no object', 5, 'budgetDelta.maxTokens'],
    ['another dimension alone', { maxCostUsd: 1 }, 'budgetDelta.maxTokens'],
    ['too little for the step', { maxTokens: 103 }, 'needs 404'],
    ['a fraction', { maxTokens: 200.5 }, 'whole number'],
    ['less than nothing', { maxTokens: -200 }, 'whole number'],
    ['what is not known', { maxTokens: 200, maxIterations: 1 }, 'maxIterations is not known'],
    ['what has no ceiling', { maxTokens: 200, maxToolCalls: 1 }, 'no ceiling'],
    ['more than the host allows', { maxTokens: 701 }, '1000 at most'],
  ])('R-BUDGET-4: a person who adds %s is refused, and the question stays open', (_what, delta, said) => {
    const rules = rulesFor(agentFlow(), [], { budget: { maxTokens: 1_000 } })
    const run = returns(short({ maxTokens: 300, maxCostUsd: 5 }, rules), { resultTokens: 0 })
    const { length } = run.log
    expect(question(run).data).toMatchObject({ mostDelta: 700 })
    run.when(answer('a', { action: 'accept', ...(delta === undefined ? {} : { budgetDelta: delta }) }))
    expect(run.refusal).toMatchObject({ code: 'validation_error', message: expect.stringContaining(said) })
    expect(run.log).toHaveLength(length)
    expect(run.when(more({ maxTokens: 700 })).refusal).toBeUndefined()
  })

  it.each([
    ['the host allows no more', { budget: { maxTokens: 300 } }],
    ['the host allows less than the step needs', { budget: { maxTokens: 403 } }],
  ])('R-BUDGET-4: asks nobody where %s', (_why, limits) => {
    const run = returns(short({ maxTokens: 300 }, rulesFor(agentFlow(), [], limits)), { resultTokens: 0 })
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(payloads(run, 'run.failed')).toMatchObject([{ error: { code: 'budget_exhausted' } }])
  })

  it('R-BUDGET-4: may ask again, and what is added adds up', () => {
    const run = returns(short({ maxTokens: 300, maxToolCalls: 1 }), { resultTokens: 0 })
    run.when(more({ maxTokens: 200 }))
    says(run, { said: wants(READ.toolId, READ.toolId), usage: { inputTokens: 10, outputTokens: 10 }, replyTokens: 0 })
    expect(question(run)).toMatchObject({ key: 'a:1', data: { dimension: 'toolCalls', leastDelta: 1 } })
    run.when(more({ maxToolCalls: 1 }))
    expect(eventsOf(run, 'agent.toolCalled')).toHaveLength(2)
    returns(run, { resultTokens: 0 })
    expect(question(run)).toMatchObject({ key: 'a:2', data: { dimension: 'toolCalls', limit: 2 } })
    run.when(more({ maxToolCalls: 3, maxTokens: 1_000 }))
    returns(run, { resultTokens: 0 })
    says(run, answered())
    expect(reserves(run)).toEqual([
      { maxTokens: 300, maxToolCalls: 1 },
      { maxTokens: 500, maxToolCalls: 1 },
      { maxTokens: 500, maxToolCalls: 2 },
      { maxTokens: 1_500, maxToolCalls: 5 },
    ])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-4: money is added exactly', () => {
    const run = atWork(given(agentFlow()), { price: PRICE }, asking({ maxCostUsd: 0.0001 }))
    expect(question(run).data).toMatchObject({ dimension: 'cost', observed: 0.00084, leastDelta: 0.00074 })
    expect(run.when(more({ maxCostUsd: 0.000_739_999 })).refusal?.message).toContain('needs 0.00084')
    run.when(more({ maxCostUsd: 0.00074 }))
    expect(reserves(run)).toEqual([{ maxCostUsd: 0.0001 }, { maxCostUsd: 0.00084 }])
    expect(payloads(run, 'assay.model.requested')).toMatchObject([{ maxOutputTokens: 64, reservedCostUsd: 0.00084 }])
  })
})

describe('steps that are more than the state tells', () => {
  it('R-BUDGET-4: a model is asked again with the same correction', () => {
    const run = says(atWork(given(agentFlow()), {}, asking({ maxRetries: 0 })), UNUSABLE)
    expect(question(run).data).toMatchObject({ dimension: 'retries', limit: 0, observed: 1 })
    expect(JSON.stringify(run.log.at(-1)!.payload)).not.toContain('"p"')
    run.when(more({ maxRetries: 1 }))
    expect(eventsOf(run, 'envelope.retry.attempted')).toMatchObject([
      { payload: { attempt: 2, reason: 'schema-violation' }, secret: { correction: 'p' } },
    ])
    expect(payloads(run, 'budget.consumed')).toEqual([{ dimension: 'retries', consumed: 1, limit: 1, remaining: 0 }])
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-4: a node is tried again for the failure it had', () => {
    const flow = agentFlow({ settings: { maxRetries: 2, retryDelayMs: 10 } })
    const run = breaks(atWork(given(flow), {}, asking({ maxRetries: 0 })))
    expect(run.told().slice(-4)).toContain('interrupt.requested a')
    expect(run.owed).toEqual([])
    run.now += 5_000
    run.when(more({ maxRetries: 1 }))
    expect(payloads(run, 'node.retried')).toMatchObject([
      { attempt: 1, delayMs: 10, lastError: { code: 'model_failed' } },
    ])
    says(briefs(run.after(10)), answered())
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-4: a node that is no agent, too; what it waited for before is over', () => {
    const fails = { a: { type: 'core.fail', settings: { maxRetries: 3, retryDelayMs: 10 } } }
    const run = given({ nodes: fails }).start({}, asking({ maxRetries: 0 }))
    expect(statusOf(run.state)).toBe('waiting-approval')
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' }).when({ type: 'ResumeRun' })
    expect(eventsOf(run, 'node.started')).toHaveLength(1)
    run.when(more({ maxRetries: 1 })).after(10)
    expect(eventsOf(run, 'node.retried')).toHaveLength(1)
    expect(question(run)).toMatchObject({ key: 'a:1' })
    run.when(refused())
    expect(payloads(run, 'cap.breached')).toMatchObject([{ kind: 'budget-retries', limit: 1, observed: 2 }])
  })

  it('R-BUDGET-4: an answer that was billed above what was set aside is made something of when that is covered', () => {
    const run = atWork(given(agentFlow()), {}, asking({ maxTokens: 1_200 }))
    says(run, { said: answered('dear'), usage: { inputTokens: 100, outputTokens: 9_000 } })
    expect(eventsOf(run, 'agent.decided')).toEqual([])
    expect(question(run).data).toMatchObject({ consumed: 9_100, observed: 9_100, leastDelta: 7_900 })
    run.when(more({ maxTokens: 7_900 }))
    expect(payloads(run, 'agent.decided')).toMatchObject([{ decision: 'dear' }])
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('several nodes that one ceiling stops', () => {
  const BOTH = {
    nodes: { f: 'core.parallel', a: agentNode(), b: agentNode(), c: agentNode() },
    edges: ['f > a', 'f > b', 'f > c'],
  }
  const stopped = () => {
    const run = given(BOTH).start({}, asking({ maxRetries: 0, maxTokens: 5_000 }))
    for (const node of ['a', 'b', 'c']) briefs(run, {}, node)
    says(says(run, UNUSABLE, 'b'), UNUSABLE, 'a')
    return run
  }

  it('R-BUDGET-4: ask once, and wait together', () => {
    const run = stopped()
    expect(eventsOf(run, 'interrupt.requested').map(({ nodeId }) => nodeId)).toEqual(['b'])
    expect(payloads(run, 'budget.exhausted')).toHaveLength(1)
    const { interruptId, key } = question(run)
    expect(payloads(run, 'node.suspended')).toEqual([
      { nodeId: 'b', interruptId, kind: 'approval', key },
      { nodeId: 'a', interruptId, kind: 'approval', key },
    ])
    // The third is not stopped by it.
    expect(run.owed.map(effect => 'nodeId' in effect && effect.nodeId)).toEqual(['c'])
  })

  it('R-BUDGET-4: go on together with the answer, the one that asked first', () => {
    const run = stopped()
    const from = run.log.length
    run.when(more({ maxRetries: 2 }, 'b'))
    expect(run.told(from)).toEqual([
      'interrupt.resolved b',
      'approval.received b',
      'node.resumed b',
      'budget.reserved',
      'envelope.retry.attempted b',
      'budget.consumed',
      'node.resumed a',
      'envelope.retry.attempted a',
      'budget.consumed',
      'assay.model.requested a',
      'assay.model.requested b',
    ])
  })

  it('R-BUDGET-4: ask again for whoever it is not enough for', () => {
    const run = stopped().when(more({ maxRetries: 1 }, 'b'))
    expect(eventsOf(run, 'envelope.retry.attempted').map(({ nodeId }) => nodeId)).toEqual(['b'])
    expect(question(run)).toMatchObject({ nodeId: 'a', key: 'a:0', data: { limit: 1, observed: 2 } })
    run.when(more({ maxRetries: 1 }))
    expect(eventsOf(run, 'envelope.retry.attempted').map(({ nodeId }) => nodeId)).toEqual(['b', 'a'])
  })

  it('R-BUDGET-4: end together with a refusal', () => {
    const run = stopped().when(refused('b'))
    expect(eventsOf(run, 'node.cancelled').map(({ nodeId }) => nodeId)).toEqual(['a', 'b', 'c'])
    expect(statusOf(run.state)).toBe('failed')
  })
})

describe('while a person is asked', () => {
  it('R-BUDGET-4: the time of the node stands still, and the run rests', () => {
    const flow = agentFlow({ settings: { timeoutMs: 1_000 } })
    const run = returns(short({ maxTokens: 300 }, rulesFor(flow)).after(400), { resultTokens: 0 })
    run.after(60_000)
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(run.state).toMatchObject({ idleSince: 1_400 })
    run.when(more({ maxTokens: 500 })).after(600)
    expect(owedTo(run, 'call-model')).toBeDefined()
    run.after(1)
    expect(payloads(run, 'node.failed')).toMatchObject([{ error: { code: 'node_timeout' } }])
  })

  it('R-BUDGET-4: a paused run hears no answer, and the question outlasts the pause', () => {
    const run = returns(short(), { resultTokens: 0 }).when({ type: 'PauseRun', drainPolicy: 'drain-current-node' })
    expect(statusOf(run.state)).toBe('paused')
    expect(run.when(more({ maxTokens: 500 })).refusal?.code).toBe('run_paused')
    run.when({ type: 'ResumeRun' }).when(more({ maxTokens: 500 }))
    expect(owedTo(run, 'call-model')).toBeDefined()
  })

  it('R-BUDGET-4: a cancelled run asks nobody any more', () => {
    const run = returns(short(), { resultTokens: 0 }).when({ type: 'CancelRun', by: 'ann' })
    expect(statusOf(run.state)).toBe('cancelled')
    expect(run.when(more({ maxTokens: 500 })).refusal).toBeDefined()
    expect(eventsOf(run, 'cap.breached')).toEqual([])
  })
})

describe('children of a run that asks', () => {
  const spent = (tokens: number) => ({ spent: { ...SPENT, tokens } }) as never

  it('R-BUDGET-4 R-BUDGET-7: nobody is sent to work with nothing; what is added is what the next one is given', () => {
    const run = given(scripted([next('x', 'y'), terminate])).start({}, asking({ maxTokens: 1_000 }))
    ends(begins(run, 'c1'), 'c1', {}, spent(1_000))
    expect(question(run)).toMatchObject({ nodeId: 'dispatch', data: { dimension: 'tokens', leastDelta: 1 } })
    expect(run.owed).toEqual([])
    run.when(more({ maxTokens: 600 }, 'dispatch'))
    expect(owedTo(run, 'start-child', 'dispatch')).toMatchObject({ grant: { maxTokens: 600 } })
    ends(begins(run, 'c2', { worker: 1 }), 'c2', {}, spent(10))
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-4 R-BUDGET-7: what a child was granted, no answer of a person raises', () => {
    const run = new Scenario(rulesFor(agentFlow()))
    const started = { workflowId: 'w', workflowDigest: 'digest', inputs: {}, transport: 'rest', engineVersion: '3' }
    const own = {
      ...started,
      owner: { tenant: 't1' },
      grant: { maxTokens: 120 },
      configurable: asking({ maxTokens: 120 }),
    }
    briefs(run.when({ type: 'StartRun', runId: 'run-1', started: own } as never))
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(statusOf(run.state)).toBe('failed')
  })

  it('R-BUDGET-4: verifiers begin with what a person adds; the answer is about the budget, not about the result', () => {
    const run = given(subFlow()).start({}, asking({ maxTokens: 100 }), [gateAt('a', 'phase_exit')])
    inspects(works(run, 'child-1', { x: 1 }, { spent: { ...SPENT, tokens: 100 } }))
    expect(question(run)).toMatchObject({ nodeId: 'a', data: { artifactType: 'budget', leastDelta: 1 } })
    expect(eventsOf(run, 'assay.verifier.began')).toEqual([])
    run.when(more({ maxTokens: 50 }))
    expect(eventsOf(run, 'agent.verified')).toEqual([])
    expect(eventsOf(run, 'assay.verifier.began').map(({ secret }) => secret?.grant)).toEqual([{ maxTokens: 50 }])
    votes(convenes(run), 0, { spent: { ...SPENT, tokens: 50 } })
    expect(statusOf(run.state)).toBe('completed')
  })
})
