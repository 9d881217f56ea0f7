import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/json.js'
import { type AgentsDouble, agentsDouble, type Script } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, agentNode, answered, tool, wants } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { loopOf, next, terminate } from '../../testing/orchestration.js'
import type { Engine } from './engine.js'

const READ = tool('mcp:files.read')
const USED_THEN_ANSWERED: Script = {
  agents: { [AGENT]: { tools: [READ] } },
  think: (_ask, nth) =>
    nth === 1
      ? { said: wants(READ.toolId), args: [{ path: 'x' }] }
      : { said: answered({ text: 'hello' }, 0.9), reasoning: 'because' },
}

const eventsOf = async (engine: Engine, runId: string) =>
  (await engine.readEvents('t1', runId, 0))!.map(({ type, payload }) => ({
    type,
    payload: JSON.parse(payload) as JsonObject,
  }))

const typesOf = async (engine: Engine, runId: string) => (await eventsOf(engine, runId)).map(({ type }) => type)

async function running(script: Script = USED_THEN_ANSWERED, options = {}) {
  const rig = engineRig()
  const agents = agentsDouble(script)
  const engine = await rig.host({ agents, ...options })
  await register(engine, agentFlow({}, { id: 'w' }))
  return { rig, agents, engine }
}

describe('an agent in a workflow', () => {
  it('R-LIVE-2 R-LIVE-15: uses a tool, answers, and its result is the output of the run', async () => {
    const { engine, agents } = await running()
    const runId = await startRun(engine, 'w', { inputs: { task: 'read x' } })
    const view = await engine.inspect('t1', runId)
    expect(view!.state).toMatchObject({
      phase: 'ended',
      outcome: { status: 'completed', outputs: { result: { text: 'hello' }, confidence: 0.9, agentId: AGENT } },
    })
    expect(agents.briefs).toMatchObject([{ tenant: 't1', role: 'worker', task: 'read x', agent: { agentId: AGENT } }])
    expect(agents.uses).toMatchObject([
      { tenant: 't1', principal: 'p', runId, agentId: AGENT, toolId: READ.toolId, args: { path: 'x' } },
    ])
    expect(agents.thoughts[1]!.rounds).toEqual([
      {
        thought: {
          text: expect.any(String),
          calls: [{ id: 'c0', name: READ.toolId, toolId: READ.toolId, args: { path: 'x' } }],
        },
        results: [{ text: 'fine', isError: false }],
      },
    ])
  })

  it('R-TOOL-1 R-TOOL-4: the model is told of each call that was not made why it was not', async () => {
    const { engine, agents } = await running({
      agents: { [AGENT]: { tools: [READ, tool('x:send', { scopes: ['mail'] })] } },
      think: (_ask, nth) =>
        nth === 1
          ? {
              said: wants('x:foreign', 'x:send', { toolId: READ.toolId, argsHash: 'b'.repeat(64), problem: 'no path' }),
            }
          : { said: answered() },
    })
    await startRun(engine, 'w')
    expect(agents.uses).toEqual([])
    const told = agents.thoughts[1]!.rounds[0]!.results
    expect(told.map(({ isError }) => isError)).toEqual([true, true, true])
    expect(told[0]!.text).toContain('no such tool')
    expect(told[1]!.text).toContain('may not use')
    expect(told[2]!.text).toContain('no path')
  })

  it('R-TOOL-4: what the credential may do, its tools may do', async () => {
    const { engine, agents } = await running({
      agents: { [AGENT]: { tools: [tool('x:send', { scopes: ['mail'] })] } },
      think: (_ask, nth) => ({ said: nth === 1 ? wants('x:send') : answered() }),
    })
    await startRun(engine, 'w', { scopes: ['mail'] })
    expect(agents.uses).toHaveLength(1)
  })

  it('R-ENV-2: what to mend is told to the model with what it said', async () => {
    const { engine, agents } = await running({
      think: (_ask, nth) => ({
        said: nth === 1 ? { kind: 'unusable', reason: 'parse-error', problem: 'as JSON' } : answered(),
      }),
    })
    await startRun(engine, 'w')
    expect(agents.thoughts[1]!.rounds).toMatchObject([{ correction: 'as JSON', results: [] }])
    expect(agents.thoughts[1]!.id).not.toBe(agents.thoughts[0]!.id)
  })

  it('R-EVENT-4: reasoning is told as it comes, in few pieces, and whole at the end', async () => {
    const { engine, rig } = await running({
      think: async ask => {
        ask.onReasoning?.('a'.repeat(1_024))
        ask.onReasoning?.('b')
        await new Promise<void>(resolve => rig.clock.after(300, resolve))
        ask.onReasoning?.('c')
        return { said: answered(), reasoning: 'whole' }
      },
    })
    const runId = await startRun(engine, 'w')
    await rig.clock.advance(300)
    const told = (await eventsOf(engine, runId)).filter(({ type }) => type.startsWith('agent.reason'))
    expect(told.map(({ payload }) => payload.delta ?? payload.reasoning)).toEqual([
      'a'.repeat(1_024),
      'b',
      'c',
      'whole',
    ])
    expect(told.slice(0, 3).map(({ payload }) => payload.sequence)).toEqual([0, 1, 2])
  })

  it('R-EVENT-5: with verbosity off no reasoning is told at all', async () => {
    const { engine } = await running({
      think: ask => {
        ask.onReasoning?.('x'.repeat(5_000))
        return { said: answered(), reasoning: 'hidden' }
      },
    })
    const runId = await startRun(engine, 'w', { configurable: { reasoningVerbosity: 'off' } })
    expect((await typesOf(engine, runId)).filter(type => type.startsWith('agent.reason'))).toEqual([])
  })

  it('R-LIVE-3: the second of the same class is asked to go on with the model of the first', async () => {
    const fixed: unknown[] = []
    const agents = agentsDouble()
    const spying: AgentsDouble = {
      ...agents,
      prepare: ask => {
        fixed.push(ask.fixed('general') ?? null, ask.fixed('coding') ?? null)
        return agents.prepare(ask)
      },
    }
    const engine = await engineRig().host({ agents: spying })
    await register(engine, { id: 'two', nodes: { a: agentNode(), b: agentNode() }, edges: ['a > b'] })
    await startRun(engine, 'two')
    expect(fixed).toEqual([null, null, { provider: 'openai', model: 'gpt-test' }, null])
  })

  it('an agent that is not installed fails the node', async () => {
    const { engine } = await running({ agents: {} })
    const runId = await startRun(engine, 'w')
    expect((await engine.inspect('t1', runId))!.state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'unknown_agent' } },
    })
  })

  it('a person accepts what its agent was not sure of', async () => {
    const { engine } = await running({ think: () => ({ said: answered('plan', 0.2) }) })
    const runId = await startRun(engine, 'w')
    expect((await engine.inspect('t1', runId))!.status).toBe('waiting-approval')
    const answer = { type: 'resolve', nodeId: 'a', value: { action: 'accept' }, by: 'ann', via: 'key' } as const
    await engine.command('t1', runId, answer)
    expect((await engine.inspect('t1', runId))!.status).toBe('completed')
  })
})

describe('an agent by itself', () => {
  it('R-LIVE-24 R-LIVE-20 R-LIVE-23: is the root of a run, on the same events', async () => {
    const { engine, agents } = await running()
    const request = { tenant: 't1', principal: 'p', inputs: { task: 'x' }, transport: 'rest' } as const
    const answer = await engine.create({ ...request, agentId: AGENT, source: 'run-api' })
    if (!answer.ok) throw new Error('refused')
    await settled()
    const { runId } = answer.value
    const told = await eventsOf(engine, runId)
    expect(told.find(({ type }) => type === 'agent.invocation.started')!.payload).toMatchObject({ source: 'run-api' })
    expect((await engine.inspect('t1', runId))!.state).toMatchObject({
      outcome: { status: 'completed', outputs: { result: { text: 'hello' } } },
      variables: { result: { text: 'hello' } },
    })
    expect(agents.briefs[0]!.task).toBe('x')
    const inWorkflow = await engineRig().host({ agents: agentsDouble(USED_THEN_ANSWERED) })
    await register(inWorkflow, agentFlow({ config: { resultVariable: 'result' } }, { id: 'w' }))
    const other = await startRun(inWorkflow, 'w', { inputs: { task: 'x' } })
    expect(await typesOf(inWorkflow, other)).toEqual(told.map(({ type }) => type))
  })

  it('R-LIVE-24: one that is not installed is refused', async () => {
    const { engine } = await running()
    const request = { tenant: 't1', principal: 'p', inputs: {}, transport: 'rest' } as const
    expect(await engine.create({ ...request, agentId: 'no.such.agent', source: 'run-api' })).toMatchObject({
      ok: false,
    })
  })

  it('R-BUDGET-7: is a worker: its own run within what it was granted, counted to the parent and the root', async () => {
    const rig = engineRig()
    const agents = agentsDouble({
      agents: { 'local.one.agent': {}, 'local.two.agent': {} },
      think: () => ({ said: answered('found', 0.9), usage: { inputTokens: 80, outputTokens: 20 } }),
    })
    const engine = await rig.host({ agents })
    const rules = [
      { when: 'iteration == 1', decide: next('local.one.agent', 'local.two.agent') },
      { decide: terminate },
    ]
    await register(
      engine,
      {
        ...loopOf({ rules: rules as unknown as Json }, { dispatch: { outputMapping: { got: 'result' } } }),
        id: 'lead',
      },
      { id: 'root', nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'lead' } } } },
    )
    const runId = await startRun(engine, 'root', { configurable: { budget: { maxTokens: 10_000 } } })
    await rig.clock.advance(5_000)
    const all = (await engine.list({ tenant: 't1', limit: 10 })).reverse()
    const started = await Promise.all(all.map(async row => (await eventsOf(engine, row.runId))[0]!.payload))
    expect(started.map(({ grant }) => grant)).toEqual([
      undefined,
      { maxTokens: 10_000 },
      { maxTokens: 10_000 },
      { maxTokens: 9_900 },
    ])
    const states = await Promise.all(all.map(async row => (await engine.inspect('t1', row.runId))!.state))
    expect(states.map(state => state.phase === 'ended' && state.spend?.tokens)).toEqual([200, 200, 100, 100])
    expect(states[1]).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 'found' } })
    const consumed = (await eventsOf(engine, runId)).filter(({ type }) => type === 'budget.consumed')
    expect(consumed.map(({ payload }) => payload)).toEqual([
      { dimension: 'tokens', consumed: 200, limit: 10_000, remaining: 9_800 },
    ])
  })
})

describe('answers that may be used again', () => {
  const twice = async (reuseAnswers: boolean, tenants = ['t1', 't1']) => {
    const agents = { ...agentsDouble(), keyOf: () => 'k'.repeat(64) }
    const engine = await engineRig().host({ agents, reuseAnswers })
    const definition = agentFlow({}, { id: 'w' })
    await register(engine, definition)
    const logs: JsonObject[][] = []
    for (const tenant of tenants) {
      const request = { tenant, principal: 'p', inputs: {}, transport: 'rest' } as const
      const answer = await engine.create({ ...request, agentId: AGENT, source: 'run-api' })
      if (!answer.ok) throw new Error('refused')
      await settled()
      const events = (await engine.readEvents(tenant, answer.value.runId, 0))!
      logs.push(
        events.filter(({ type }) => type === 'provider.usage').map(({ payload }) => JSON.parse(payload) as JsonObject),
      )
    }
    return { agents, logs }
  }

  it('R-BUDGET-1 R-REPLAY-17: the same request is answered from before, told with what it cost then', async () => {
    const { agents, logs } = await twice(true)
    expect(agents.thoughts).toHaveLength(1)
    expect(logs[1]).toEqual([{ ...logs[0]![0], cacheHit: true }])
  })

  it('R-REPLAY-17: but not if it was another tenant who asked, and not if the host may not', async () => {
    expect((await twice(true, ['t1', 't2'])).agents.thoughts).toHaveLength(2)
    expect((await twice(false)).agents.thoughts).toHaveLength(2)
  })
})
