import { describe, expect, it } from 'vitest'
import { BRIEF } from '../../testing/agents.js'
import { given } from '../../testing/given-when-then.js'
import {
  AGENT,
  agentFlow,
  agentNode,
  answered,
  briefs,
  eventsOf,
  owedTo,
  reasons,
  returns,
  says,
  story,
  tool,
  wants,
} from '../../testing/invocations.js'
import { loopOf, next, payloads, terminate } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'

const READ = tool('mcp:files.read')
const one = (config = {}) => given(agentFlow({ config })).start()

describe('an invocation, from its brief to its result', () => {
  it('R-LIVE-2 R-LIVE-16 R-LIVE-21 R-PROMPT-1 R-BUDGET-1: prompts, model, tool, model, decision, in this order', () => {
    const run = one()
    briefs(run, { tools: [READ] })
    reasons(run, 0)
    reasons(run, 1)
    says(run, { said: wants(READ.toolId), reasoning: 'piece 0piece 1' })
    returns(run)
    says(run, answered({ text: 'hello' }, 0.9))
    expect(story(run, 1)).toEqual([
      'node.started < run.started',
      'agent.invocation.started < node.started',
      'agent.promptResolved < agent.invocation.started',
      'prompt.composed < agent.invocation.started',
      'assay.model.requested < agent.invocation.started',
      'agent.reasoning.delta < assay.model.requested',
      'agent.reasoning.delta < assay.model.requested',
      'agent.reasoned < assay.model.requested',
      'provider.usage < assay.model.requested',
      'agent.toolCalled < provider.usage',
      'agent.toolReturned < agent.toolCalled',
      'assay.model.requested < agent.toolReturned',
      'agent.reasoned < assay.model.requested',
      'provider.usage < assay.model.requested',
      'agent.decided < assay.model.requested',
      'agent.invocation.completed < agent.decided',
      'node.completed < agent.invocation.completed',
      'run.completed < node.completed',
    ])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-LIVE-17 R-LIVE-18 R-LIVE-19 R-LIVE-20: the bracket says who and what, and nothing of the contents', () => {
    const run = one()
    briefs(run, { version: '1.2.0', tools: [READ], memoryBound: true, modelClass: 'coding' })
    says(run, answered('secret plan', 0.8))
    expect(payloads(run, 'agent.invocation.started')).toEqual([
      {
        invocationId: 'a:1',
        agentId: AGENT,
        source: 'workflow-node',
        modelClass: 'coding',
        resolvedModel: 'gpt-test',
        resolvedProvider: 'openai',
        resolvedAgentVersion: '1.2.0',
        toolSurfaceCount: 1,
        memoryBound: true,
      },
    ])
    expect(payloads(run, 'agent.invocation.completed')).toEqual([
      { invocationId: 'a:1', agentId: AGENT, outcome: 'completed', confidence: 0.8 },
    ])
  })

  it.each(['run-api', 'chat-mention'] as const)('R-LIVE-20: called by %s, it says so', agentSource => {
    const run = given(agentFlow())
    const started = {
      workflowId: 'sketch',
      workflowDigest: 'digest',
      inputs: {},
      transport: 'rest' as const,
      engineVersion: '1',
      owner: { tenant: 't1' },
      agentSource,
    }
    run.when({ type: 'StartRun', runId: 'run-1', started })
    briefs(run)
    expect(payloads(run, 'agent.invocation.started')[0]).toMatchObject({ source: agentSource })
  })

  it('R-LIVE-19: each invocation of a run has an id of its own', () => {
    const run = given({ nodes: { a: agentNode(), b: agentNode() }, edges: ['a > b'] }).start()
    briefs(run)
    says(run, answered())
    briefs(run, {}, 'b')
    says(run, answered(), 'b')
    const ids = eventsOf(run, 'agent.invocation.started').map(({ payload }) => payload.invocationId)
    expect(ids).toEqual(['a:1', `b:${run.sequence('node.started', 'b')}`])
    expect(eventsOf(run, 'agent.invocation.completed').map(({ payload }) => payload.invocationId)).toEqual(ids)
  })

  it('R-PROMPT-1 R-LIVE-5: each prompt is told with its chain, by name, before what was composed of them', () => {
    const chain = [
      { layer: 'node' as const, applied: false, reason: 'absent' },
      { layer: 'agent-intrinsic' as const, applied: true, source: 'local.test' },
    ]
    const prompts = [
      { kind: 'system' as const, chain, resolved: 'prompt:local.test@1' },
      { kind: 'few-shot' as const, chain: [], resolved: null },
    ]
    const composed = { ...BRIEF.composed, refs: ['prompt:local.test@1'], variableHashes: { 'input.x': 'sha256:1' } }
    const run = one()
    briefs(run, { prompts, composed })
    expect(payloads(run, 'agent.promptResolved')).toEqual(
      prompts.map(prompt => ({ nodeId: 'a', agentId: AGENT, ...prompt })),
    )
    expect(payloads(run, 'prompt.composed')).toEqual([{ nodeId: 'a', ...composed }])
    expect(run.told(3)).toEqual([
      'agent.promptResolved a',
      'agent.promptResolved a',
      'prompt.composed a',
      'assay.model.requested a',
    ])
  })

  it('R-LIVE-9 R-LIVE-15: the result is the output of the node and, if asked for, a variable', () => {
    const run = one({ resultVariable: 'found' })
    briefs(run)
    says(run, answered({ n: 1 }, 0.9))
    expect(payloads(run, 'node.completed')[0]).toEqual({
      nodeId: 'a',
      outputs: { result: { n: 1 }, confidence: 0.9, agentId: AGENT },
    })
    expect(payloads(run, 'variable.changed')[0]).toEqual({ name: 'found', next: { n: 1 }, nodeId: 'a' })
  })

  it('R-LIVE-3: what a role and class has once been given, the run goes on using', () => {
    const run = given({ nodes: { a: agentNode(), b: agentNode() }, edges: ['a > b'] }).start()
    expect(owedTo(run, 'prepare-agent')!.models).toEqual({})
    briefs(run, { provider: 'anthropic', model: 'm-1', modelClass: 'writing' })
    says(run, answered())
    expect(owedTo(run, 'prepare-agent', 'b')!.models).toEqual({
      'worker:writing': { provider: 'anthropic', model: 'm-1' },
    })
  })

  it('R-LIVE-3: an override of the run reaches whoever chooses the model', () => {
    const ai = { provider: 'openai', model: 'm-2', temperature: 0.1 }
    const run = given(agentFlow()).start({}, { ai })
    expect(owedTo(run, 'prepare-agent')!.ai).toEqual(ai)
  })

  it('R-ENV-2: how the answer was found in the text is told before it is decided on', () => {
    const run = one()
    briefs(run)
    says(run, { kind: 'answered', result: 1, recovery: 'markdown-fence' })
    expect(payloads(run, 'envelope.recovery.applied')).toEqual([{ nodeId: 'a', path: 'markdown-fence' }])
    expect(story(run).slice(-5, -2)).toEqual([
      'envelope.recovery.applied < assay.model.requested',
      'agent.decided < assay.model.requested',
      'agent.invocation.completed < agent.decided',
    ])
  })

  it('R-LIVE-11: a result that was held to a schema says so, and one that was not does not', () => {
    const checked = one()
    briefs(checked, { checksResult: true })
    says(checked, answered())
    expect(payloads(checked, 'agent.invocation.completed')[0]).toMatchObject({ schemaValidated: true })
    const free = one()
    briefs(free)
    says(free, answered())
    expect(payloads(free, 'agent.invocation.completed')[0]).not.toHaveProperty('schemaValidated')
  })

  it('R-EVENT-6: no secret of the run is told, whatever the model says', () => {
    const run = given(agentFlow({}, { variables: [{ name: 'key', type: 'string', sensitive: true }] }))
    run.start({ key: 'hunter2-hunter2' })
    briefs(run)
    reasons(run, 0, 'the key is hunter2-hunter2')
    says(run, { said: answered({ said: 'hunter2-hunter2' }), reasoning: 'so hunter2-hunter2' })
    const told = run.log.filter(({ type }) => type.startsWith('agent.') || type.startsWith('node.'))
    expect(JSON.stringify(told.map(({ payload }) => payload))).not.toContain('hunter2')
  })
})

describe('an invocation that must not begin', () => {
  it('R-LIVE-10 R-LIVE-28 R-MANIF-7: a task off its schema never reaches a model', () => {
    const run = one()
    briefs(run, { taskProblem: '/n must be a number' })
    expect(run.told(2)).toEqual([
      'agent.invocation.started a',
      'agent.promptResolved a',
      'prompt.composed a',
      'agent.invocation.completed a',
      'node.failed a',
      'run.failed',
    ])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({
      error: { code: 'handoff_task_schema_violation', retryable: false },
    })
    expect(payloads(run, 'agent.invocation.completed')[0]).toEqual({
      invocationId: 'a:1',
      agentId: AGENT,
      outcome: 'failed',
    })
    expect(run.owed).toEqual([])
  })

  it('an agent that is not there fails the node without a bracket', () => {
    const run = one()
    const since = run.sequence('node.started', 'a')
    const error = { code: 'unknown_agent', message: 'no agent', retryable: false }
    run.when({ type: 'AgentBriefed', nodeId: 'a', since, answer: { ok: false, error } })
    expect(run.told(2)).toEqual(['node.failed a', 'run.failed'])
  })

  it('a brief that may come later is waited for as the node says', () => {
    const run = given(agentFlow({ settings: { maxRetries: 1, retryDelayMs: 10 } })).start()
    const since = run.sequence('node.started', 'a')
    const error = { code: 'tools_unavailable', message: 'later', retryable: true }
    run.when({ type: 'AgentBriefed', nodeId: 'a', since, answer: { ok: false, error } })
    expect(run.told(2)).toEqual(['node.retried a'])
    briefs(run.after(10))
    expect(run.told().at(-1)).toBe('assay.model.requested a')
  })
})

describe('outcomes that nobody waits for', () => {
  it('come twice, late, or for another call, and change nothing', () => {
    const run = one()
    const since = run.sequence('node.started', 'a')
    const brief = { ...BRIEF, tools: [READ] }
    const briefed = { type: 'AgentBriefed', nodeId: 'a', since, answer: { ok: true, brief, contents: 'c' } } as const
    run.when(briefed)
    const reply = { said: wants(READ.toolId), usage: { inputTokens: 1, outputTokens: 1 }, retries: 0, replyTokens: 1 }
    const thought = {
      type: 'ModelAnswered',
      nodeId: 'a',
      since,
      call: 1,
      answer: { ok: true, reply, contents: 't' },
    } as const
    const told = { status: 'ok', durationMs: 1, resultTokens: 1 } as const
    const used = {
      type: 'ToolAnswered',
      nodeId: 'a',
      since,
      call: 1,
      position: 0,
      answer: { ok: true, reply: told, contents: 'r' },
    } as const
    const lost = { type: 'ModelLost', nodeId: 'a', since, call: 1, attempt: 1 } as const
    const all = [briefed, thought, used, lost]
    const ignored = (inputs: readonly object[]) => {
      const { length } = run.log
      for (const input of inputs) run.when(input as never)
      expect(run.told(length)).toEqual([])
    }
    ignored([briefed, used, { ...thought, call: 2 }, { ...thought, since: 0 }, { ...lost, attempt: 2 }])
    run.when(thought)
    ignored([briefed, thought, lost, { ...used, position: 1 }, { ...used, call: 2 }])
    run.when(used)
    ignored([briefed, thought, used, lost])
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
    ignored(all)
  })
})

describe('a supervisor that is an agent', () => {
  const decides = (config = {}) => given(loopOf({ prompt: 'lead well', ...config })).start()

  it('R-LIVE-2 R-LIVE-14: decides as any agent does, and its decision is the turn', () => {
    const run = decides()
    expect(owedTo(run, 'prepare-agent', 'sup')!.wait).toMatchObject({
      role: 'supervisor',
      agent: { agentId: 'host:orchestrator:sup', inline: { systemPrompt: 'lead well' } },
    })
    briefs(run, { checksResult: true }, 'sup')
    // Less sure than an agent must be, surer than an orchestrator must be: nobody is asked.
    says(run, answered(terminate, 0.6), 'sup')
    expect(story(run).slice(-7)).toEqual([
      'provider.usage < assay.model.requested',
      'agent.decided < assay.model.requested',
      'agent.invocation.completed < agent.decided',
      'runOrchestrator.decided < agent.invocation.completed',
      'node.completed < runOrchestrator.decided',
      'node.skipped < node.completed',
      'run.completed < node.skipped',
    ])
  })

  it('R-LIVE-14: below the floor of orchestrators a person is asked, after the bracket has closed', () => {
    const run = decides()
    briefs(run, {}, 'sup')
    says(run, answered({ ...next('w'), confidence: 0.2 }, 0.2), 'sup')
    expect(story(run).slice(-6)).toEqual([
      'agent.invocation.completed < agent.decided',
      'runOrchestrator.decided < agent.invocation.completed',
      'core.workflowChain.confidence-escalated < runOrchestrator.decided',
      'interrupt.requested < core.workflowChain.confidence-escalated',
      'approval.requested < interrupt.requested',
      'node.suspended < interrupt.requested',
    ])
  })

  it('R-LIVE-3: its model is kept apart from those of its workers', () => {
    const run = decides()
    briefs(run, { model: 'leader' }, 'sup')
    expect(run.state.phase === 'active' && run.state.models).toEqual({
      'supervisor:general': { provider: 'openai', model: 'leader' },
    })
  })

  it('an answer that is no decision fails the turn', () => {
    const run = decides()
    briefs(run, {}, 'sup')
    says(run, answered({ kind: 'dance' }), 'sup')
    expect(run.told().slice(-4)).toEqual([
      'agent.decided sup',
      'agent.invocation.completed sup',
      'node.failed sup',
      'run.failed',
    ])
  })
})
