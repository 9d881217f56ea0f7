import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import {
  AGENT,
  agentFlow,
  answered,
  atWork,
  briefs,
  eventsOf,
  HASH,
  owedTo,
  returns,
  says,
  story,
  tool,
  toolFails,
  wants,
} from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import { TOOL_CODES } from './tool-codes.js'

const READ = tool('mcp:files.read')
const SEND = tool('http:mail.send', { transport: 'http', repeat: 'never' })
const withTools = (tools = [READ, SEND]) => atWork(given(agentFlow()), { tools })

/** Told of each call: which tool, and what came of it. */
const calls = (run: Parameters<typeof story>[0]) =>
  eventsOf(run, 'agent.toolReturned').map(({ payload }) => `${payload.toolName} ${payload.status}`)

describe('tools that a model may call', () => {
  it('R-TOOL-3 R-EVENT-2: each call is told by hash before it is made, and paired with its return', () => {
    const run = withTools()
    says(run, wants(READ.toolId, { toolId: SEND.toolId, argsHash: 'b'.repeat(64) }))
    const [first] = eventsOf(run, 'agent.toolCalled')
    expect(first!.payload).toEqual({
      agentId: AGENT,
      toolName: READ.toolId,
      toolId: READ.toolId,
      callId: `call-${first!.sequence}`,
      argsHash: HASH,
      principal: 'core.system',
      transport: 'mcp',
    })
    expect(owedTo(run, 'call-tool')).toMatchObject({
      toolId: READ.toolId,
      position: 0,
      call: 1,
      contents: 'thought-a-1',
    })
    returns(run)
    expect(owedTo(run, 'call-tool')).toMatchObject({ toolId: SEND.toolId, position: 1, call: 1, repeat: 'never' })
    returns(run, { durationMs: 12 })
    const called = eventsOf(run, 'agent.toolCalled')
    const returned = eventsOf(run, 'agent.toolReturned')
    expect(returned.map(({ cause }) => cause)).toEqual(called.map(({ sequence }) => sequence))
    expect(returned.map(({ payload }) => payload.callId)).toEqual(called.map(({ payload }) => payload.callId))
    expect(returned[1]!.payload).toEqual({
      agentId: AGENT,
      toolName: SEND.toolId,
      toolId: SEND.toolId,
      callId: `call-${called[1]!.sequence}`,
      status: 'ok',
      durationMs: 12,
    })
    expect(story(run).slice(-6)).toEqual([
      'provider.usage < assay.model.requested',
      'agent.toolCalled < provider.usage',
      'agent.toolReturned < agent.toolCalled',
      'agent.toolCalled < agent.toolReturned',
      'agent.toolReturned < agent.toolCalled',
      'assay.model.requested < agent.toolReturned',
    ])
  })

  it.each([
    [
      'error',
      { status: 'error' as const, code: 'tool_failed' },
      { durationMs: 7, error: { code: 'tool_failed', message: TOOL_CODES.tool_failed } },
    ],
    [
      'error',
      { status: 'error' as const, code: 'tool_error' },
      { durationMs: 7, error: { code: 'tool_error', message: 'The tool gave no result' } },
    ],
    [
      'error',
      { status: 'error' as const },
      { durationMs: 7, error: { code: 'error', message: 'The tool gave no result' } },
    ],
    [
      'rate_limited',
      { status: 'rate_limited' as const },
      { error: { code: 'rate_limited', message: TOOL_CODES.rate_limited, details: { scope: 'tool' } } },
    ],
  ])('R-TOOL-3 R-TOOL-5: %s is told to the model, which goes on', (status, reply, told) => {
    const run = withTools()
    says(run, wants(READ.toolId))
    returns(run, reply)
    const { payload } = eventsOf(run, 'agent.toolReturned')[0]!
    const { agentId: _, toolName: __, toolId: ___, callId: ____, ...rest } = payload
    expect(rest).toEqual({ status, ...told })
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
  })

  it('a tool of which nobody knows what it did ends the node', () => {
    const run = withTools()
    says(run, wants(SEND.toolId))
    toolFails(run, 'effect_outcome_unknown')
    expect(story(run).slice(-5)).toEqual([
      'agent.toolCalled < provider.usage',
      'agent.toolReturned < agent.toolCalled',
      'agent.invocation.completed < agent.toolCalled',
      'node.failed < agent.invocation.completed',
      'run.failed',
    ])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'effect_outcome_unknown' } })
    expect(payloads(run, 'agent.invocation.completed')[0]).toMatchObject({ outcome: 'failed' })
    const { payload } = eventsOf(run, 'agent.toolReturned')[0]!
    expect(payload).toMatchObject({
      status: 'error',
      error: { code: 'tool_outcome_unknown', message: TOOL_CODES.tool_outcome_unknown },
    })
    expect(payload).not.toHaveProperty('durationMs')
  })
})

describe('tools that a model may not call', () => {
  const LOOKALIKES = [
    'mcp:files.write',
    'MCP:files.read',
    'mcp:files.read ',
    'mcp:files',
    'mcp:files.read.all',
    'mcp:files.reаd', // with a Cyrillic а
    '',
    '*',
    '__proto__',
  ]

  it.each(LOOKALIKES)('R-TOOL-1 R-TOOL-2 R-LIVE-6 R-LIVE-27: %j is not on the surface: nothing is called', toolId => {
    const run = withTools()
    says(run, wants(toolId))
    expect(eventsOf(run, 'agent.toolCalled')).toEqual([])
    expect(owedTo(run, 'call-tool')).toBeUndefined()
    // The model is asked again, and told that there is no such tool.
    expect(story(run).slice(-1)).toEqual(['assay.model.requested < provider.usage'])
    expect(owedTo(run, 'call-model')!.invocation.rounds).toEqual([
      { contents: 'thought-a-1', wanted: [{ toolId, argsHash: HASH }], results: {} },
    ])
  })

  it('R-TOOL-1: a name that is no tool at all, and one without an allowlist', () => {
    const nameless = withTools()
    says(nameless, wants({ argsHash: HASH }))
    const bare = withTools([])
    says(bare, wants(READ.toolId))
    for (const run of [nameless, bare]) expect(eventsOf(run, 'agent.toolCalled')).toEqual([])
  })

  it('R-TOOL-1: among foreign ones, those of the surface are called, one after the other', () => {
    const run = withTools()
    says(run, wants('x:other', READ.toolId, { argsHash: HASH }, SEND.toolId))
    expect(owedTo(run, 'call-tool')).toMatchObject({ position: 1 })
    returns(run)
    expect(owedTo(run, 'call-tool')).toMatchObject({ position: 3 })
    returns(run)
    expect(calls(run)).toEqual([`${READ.toolId} ok`, `${SEND.toolId} ok`])
    expect(owedTo(run, 'call-model')!.invocation.rounds[0]!.results).toEqual({
      1: { contents: 'result-a-1-1' },
      3: { contents: 'result-a-1-3' },
    })
  })

  it('R-TOOL-1: of seventeen calls in one answer the last is too many', () => {
    const run = withTools()
    says(run, wants(...Array.from({ length: 17 }, () => READ.toolId)))
    for (let n = 0; n < 16; n += 1) returns(run)
    expect(eventsOf(run, 'agent.toolCalled')).toHaveLength(16)
    expect(run.told().at(-1)).toBe('assay.model.requested a')
    expect(owedTo(run, 'call-model')!.invocation.rounds[0]!.wanted[16]).toEqual({ argsHash: HASH })
  })

  it('R-TOOL-4 R-LIVE-7 R-LIVE-31: without the scope it is told, forbidden, and not called', () => {
    const run = withTools([tool('mcp:files.write', { scopes: ['files:read', 'files:write'] }), READ])
    says(run, wants('mcp:files.write', READ.toolId))
    const { payload, cause } = eventsOf(run, 'agent.toolReturned')[0]!
    expect(payload).toEqual({
      agentId: AGENT,
      toolName: 'mcp:files.write',
      toolId: 'mcp:files.write',
      callId: `call-${cause}`,
      status: 'forbidden',
      error: {
        code: 'forbidden',
        message: expect.stringMatching(/nothing was called$/),
        details: { scope: 'tool', toolName: 'mcp:files.write', requiredScopes: ['files:read', 'files:write'] },
      },
    })
    expect(owedTo(run, 'call-tool')).toMatchObject({ toolId: READ.toolId, position: 1 })
    returns(run)
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
  })

  it.each([
    [['files:write'], 'ok'],
    [['files:read'], 'forbidden'],
    [[], 'forbidden'],
  ] as const)('R-TOOL-4: a principal who may %j is answered %s', (principalScope, status) => {
    const run = given(agentFlow())
    const started = {
      workflowId: 'sketch',
      workflowDigest: 'digest',
      inputs: {},
      transport: 'rest' as const,
      engineVersion: '1',
      owner: { tenant: 't1', principal: 'ann' },
      principalScope,
    }
    run.when({ type: 'StartRun', runId: 'run-1', started })
    briefs(run, { tools: [tool('mcp:files.write', { scopes: ['files:write'] })] })
    says(run, wants('mcp:files.write'))
    if (status === 'ok') returns(run)
    expect(calls(run)).toEqual([`mcp:files.write ${status}`])
    expect(eventsOf(run, 'agent.toolCalled')[0]!.payload.principal).toBe('ann')
  })

  it('R-TOOL-3: arguments off the schema of the tool are told, refused, and not passed on', () => {
    const run = withTools()
    says(run, wants({ toolId: READ.toolId, argsHash: HASH, problem: '/path must be a string' }))
    const { payload } = eventsOf(run, 'agent.toolReturned')[0]!
    expect(payload).toMatchObject({ status: 'error' })
    expect(payload.error).toEqual({ code: 'invalid_arguments', message: TOOL_CODES.invalid_arguments })
    expect(payload).not.toHaveProperty('durationMs')
    expect(owedTo(run, 'call-tool')).toBeUndefined()
    expect(JSON.stringify(run.log.map(event => event.payload))).not.toContain('must be a string')
    expect(run.told().at(-1)).toBe('assay.model.requested a')
  })

  it('R-TOOL-4: what is forbidden stays so, whatever its arguments', () => {
    const run = withTools([tool('mcp:files.write', { scopes: ['x'] })])
    says(run, wants({ toolId: 'mcp:files.write', argsHash: HASH, problem: 'no' }))
    expect(calls(run)).toEqual(['mcp:files.write forbidden'])
  })

  it('R-TOOL-3 R-TOOL-8: no event of a call holds what was passed or returned', () => {
    const run = withTools()
    says(run, wants(READ.toolId))
    returns(run)
    for (const { payload } of [...eventsOf(run, 'agent.toolCalled'), ...eventsOf(run, 'agent.toolReturned')])
      for (const key of ['inputs', 'outcome', 'arguments', 'result']) expect(payload).not.toHaveProperty(key)
  })
})

describe('rounds', () => {
  it('an agent that comes to no answer within its rounds has failed', () => {
    const run = atWork(given(agentFlow()), { tools: [READ], maxRounds: 2 })
    for (let n = 0; n < 2; n += 1) returns(says(run, wants(READ.toolId)))
    expect(story(run).slice(-4)).toEqual([
      'agent.toolReturned < agent.toolCalled',
      'agent.invocation.completed < agent.toolReturned',
      'node.failed < agent.invocation.completed',
      'run.failed',
    ])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'agent_rounds_exceeded' } })
  })

  it('the next request has room for all that was said before', () => {
    const run = atWork(given(agentFlow()), { tools: [READ], inputTokens: 100, maxOutputTokens: 500 })
    says(run, { said: wants(READ.toolId), replyTokens: 40 })
    returns(run, { resultTokens: 70 })
    expect(eventsOf(run, 'assay.model.requested').map(({ payload }) => payload.reservedTokens)).toEqual([600, 710])
  })
})
