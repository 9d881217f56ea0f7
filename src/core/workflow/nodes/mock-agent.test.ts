import { describe, expect, it } from 'vitest'
import { given } from '../../../testing/given-when-then.js'
import { answer, payloads, trace } from '../../../testing/orchestration.js'
import type { JsonObject } from '../../json.js'
import { statusOf } from '../../run/state.js'

const agent = (config: JsonObject, { id = 'conformance-agent', pin = '' } = {}) => {
  const mock = { type: 'core.conformance.mock-agent', config, ...(pin === '' ? {} : { agent: { agentId: pin } }) }
  return { id, nodes: { mock, after: 'core.noop' }, edges: ['mock > after'] }
}
const ran = (config: JsonObject, configurable?: JsonObject) => given(agent(config)).start({}, configurable)
const ME = 'host:mock-agent:mock'

describe('what a scripted agent says', () => {
  it('R-MOCK-1 R-EVENT-2 R-EVENT-4: in one order, tools paired, the decision last', () => {
    const run = ran({
      mockReasoning: { summary: 's', streamChunks: ['one ', 'two'] },
      mockToolCalls: [
        { toolId: 'search', arguments: { q: 1 }, result: { hits: 0 }, durationMs: 5 },
        { toolId: 'fetch', error: { code: 'gone', message: 'It is gone', at: 3 } },
      ],
      mockHandoff: { toAgentId: 'core.other', reason: 'busy', context: { a: 1 } },
      mockDecision: { decision: { go: true }, confidence: 0.9 },
    })
    expect(trace(run)).toEqual([
      'run.started',
      'node.started mock [0]',
      'agent.reasoning.delta mock [1]',
      'agent.reasoning.delta mock [1]',
      'agent.reasoned mock [1]',
      'agent.toolCalled mock [1]',
      'agent.toolReturned mock [5]',
      'agent.toolCalled mock [1]',
      'agent.toolReturned mock [7]',
      'agent.handoff mock [1]',
      'agent.decided mock [1]',
      'node.completed mock [10]',
      'node.started after [11]',
      'node.completed after [12]',
      'run.completed [13]',
    ])
  })

  it('R-MOCK-2 R-EVENT-4: chunks are numbered, and the whole is what they add up to', () => {
    const run = ran({ mockReasoning: { summary: 'not this', streamChunks: ['one ', 'two'] } })
    expect(payloads(run, 'agent.reasoning.delta')).toMatchObject([
      { agentId: ME, delta: 'one ', sequence: 0 },
      { agentId: ME, delta: 'two', sequence: 1 },
    ])
    expect(payloads(run, 'agent.reasoned')).toEqual([{ agentId: ME, reasoning: 'one two', verbosity: 'summary' }])
  })

  it('R-MOCK-2: the summary is the reasoning', () => {
    expect(
      payloads(ran({ mockReasoning: { summary: 'short', trace: 'long', tokenCount: 3 } }), 'agent.reasoned'),
    ).toEqual([{ agentId: ME, reasoning: 'short', verbosity: 'summary' }])
    expect(payloads(ran({ mockReasoning: true }), 'agent.reasoned')).toHaveLength(1)
    expect(payloads(ran({}), 'agent.reasoned')).toEqual([])
  })

  it('R-EVENT-5: off says nothing of it, full says all', () => {
    const mockReasoning = { summary: 'short', trace: 'long', streamChunks: ['x'] }
    const off = ran({ mockReasoning, mockDecision: { decision: 1 } }, { reasoningVerbosity: 'off' })
    expect(off.told(2)).toEqual([
      'agent.decided mock',
      'node.completed mock',
      'node.started after',
      'node.completed after',
      'run.completed',
    ])
    const full = ran({ mockReasoning: { summary: 'short', trace: 'long' } }, { reasoningVerbosity: 'full' })
    expect(payloads(full, 'agent.reasoned')).toEqual([{ agentId: ME, reasoning: 'long', verbosity: 'full' }])
  })

  it('R-EVENT-5: a summary is limited to 512 tokens', () => {
    const [told] = payloads(ran({ mockReasoning: { summary: 'word '.repeat(5_000) } }), 'agent.reasoned')
    expect(String(told?.reasoning).split(' ').length).toBeLessThan(5_000)
  })

  it('R-MOCK-2 R-EVENT-2: a tool’s call and return share their id, and what came back is told as it was', () => {
    const run = ran({
      mockToolCalls: [
        { toolId: 'search', arguments: { q: 1 }, result: 'found', durationMs: 5 },
        { toolId: 'search', result: null },
        { toolId: 'fetch', error: { code: 'gone', message: 'It is gone', at: 3 } },
        { toolId: 'fetch', error: 'no' },
      ],
    })
    const tool = (toolName: string) => ({ agentId: ME, toolName, toolId: toolName })
    expect(payloads(run, 'agent.toolCalled')).toEqual([
      { ...tool('search'), inputs: { q: 1 }, callId: 'call-2' },
      { ...tool('search'), callId: 'call-4' },
      { ...tool('fetch'), callId: 'call-6' },
      { ...tool('fetch'), callId: 'call-8' },
    ])
    expect(payloads(run, 'agent.toolReturned')).toEqual([
      { ...tool('search'), outcome: 'found', status: 'ok', durationMs: 5, callId: 'call-2' },
      { ...tool('search'), outcome: null, status: 'ok', callId: 'call-4' },
      {
        ...tool('fetch'),
        error: { code: 'gone', message: 'It is gone', details: { at: 3 } },
        status: 'error',
        callId: 'call-6',
      },
      {
        ...tool('fetch'),
        error: { code: 'tool_failed', message: 'The tool says that it failed', details: { error: 'no' } },
        status: 'error',
        callId: 'call-8',
      },
    ])
  })

  it('R-MOCK-2 R-EVENT-3: a handoff says from whom to whom, and the run’s agent is the other one', () => {
    const run = ran({ agentId: 'core.me', mockHandoff: { toAgentId: 'core.other', reason: 'busy' } })
    expect(payloads(run, 'agent.handoff')).toEqual([
      { fromAgentId: 'core.me', toAgentId: 'core.other', reason: 'busy' },
    ])
    expect(run.state).toMatchObject({ agentId: 'core.other' })
  })

  it('R-MOCK-4: it is who the configuration says, else who its node pins, else itself', () => {
    const said = (sketch: ReturnType<typeof agent>) => payloads(given(sketch).start(), 'agent.decided')[0]?.agentId
    expect(said(agent({ agentId: 'core.config', mockConfidence: 1 }, { pin: 'core.pin' }))).toBe('core.config')
    expect(said(agent({ mockConfidence: 1 }, { pin: 'core.pin' }))).toBe('core.pin')
    expect(said(agent({ mockConfidence: 1 }))).toBe(ME)
  })

  it('R-MOCK-4: a confidence alone is one of some decision; the outputs are empty', () => {
    const run = ran({ mockConfidence: 0.9 })
    expect(payloads(run, 'agent.decided')).toEqual([{ agentId: ME, decision: expect.anything(), confidence: 0.9 }])
    expect(payloads(run, 'node.completed')[0]).toEqual({ nodeId: 'mock', outputs: {} })
  })

  it('R-EVENT-6: no secret of the run is said', () => {
    const run = given({
      ...agent({
        mockReasoning: { summary: 'the key is hunter2-secret' },
        mockToolCalls: [{ toolId: 't', arguments: { key: 'hunter2-secret' }, result: 'hunter2-secret' }],
        mockDecision: { decision: { key: 'hunter2-secret' } },
      }),
      variables: [{ name: 'key', type: 'string', sensitive: true }],
    }).start({ key: 'hunter2-secret' })
    expect(payloads(run, 'agent.toolCalled')).toMatchObject([{ inputs: { key: '[REDACTED]' }, callId: 'call-3' }])
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter2')
  })

  it('R-EVENT-3: nodes that only pass on say nothing of agents', () => {
    const run = given({ nodes: { a: 'core.noop', b: 'core.identity' }, edges: ['a > b'] }).start()
    expect(run.log.filter(({ type }) => type.startsWith('agent.'))).toEqual([])
  })
})

describe('a scripted agent that is not sure', () => {
  const unsure = { mockReasoning: true, mockDecision: { decision: { go: true }, confidence: 0.5 } }

  it('R-MOCK-1 R-LOWC-1: is held after all it has said', () => {
    const run = ran(unsure)
    expect(trace(run, 2)).toEqual([
      'agent.reasoned mock [1]',
      'agent.decided mock [1]',
      'interrupt.requested mock [3]',
      'node.suspended mock [4]',
    ])
    expect(payloads(run, 'node.suspended')).toMatchObject([
      { reason: 'low-confidence', agentId: ME, threshold: 0.7, observed: 0.5, kind: 'low-confidence' },
    ])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { decision: { go: true } } }])
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('R-LOWC-1: goes on when it is ratified, as it is or edited; the decision is not said twice', () => {
    for (const value of [{ action: 'accept' }, { action: 'edit-accept', editedArtifactData: { go: false } }]) {
      const run = ran(unsure).when(answer('mock', value))
      expect(statusOf(run.state)).toBe('completed')
      expect(payloads(run, 'agent.decided')).toHaveLength(1)
      expect(payloads(run, 'node.completed')[0]).toEqual({ nodeId: 'mock', outputs: {} })
    }
  })

  it('R-LOWC-1: fails when it is not', () => {
    const run = ran(unsure).when(answer('mock', { action: 'reject' }))
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'interrupt_rejected' } } })
    expect(ran(unsure).when(answer('mock', { action: 'maybe' })).refusal?.code).toBe('validation_error')
  })

  it('R-LOWC-3: without a confidence, or at the threshold, nobody is asked', () => {
    for (const config of [
      { mockDecision: { decision: 1 } },
      { mockConfidence: 0.7 },
      { mockDecision: { decision: 1, confidence: 0.7 }, mockConfidence: 0 },
    ])
      expect(statusOf(ran(config).state)).toBe('completed')
  })

  it('R-LOWC-4: the run says how sure it must be', () => {
    expect(statusOf(ran(unsure, { escalationThreshold: 0.5 }).state)).toBe('completed')
    expect(payloads(ran({ mockConfidence: 0.8 }, { escalationThreshold: 0.9 }), 'node.suspended')).toMatchObject([
      { threshold: 0.9 },
    ])
  })
})

describe('registering a scripted agent', () => {
  it.each<[string, JsonObject, string]>([
    ['an unknown key', { mockThought: 1 }, 'config.mockThought is not a known field'],
    ['an agent id that is too short', { agentId: 'ab' }, 'config.agentId must be text of 3 to 256 characters'],
    ['a confidence out of range', { mockConfidence: 1.1 }, 'config.mockConfidence must be a number from 0 to 1'],
    [
      'a tool call without result and error',
      { mockToolCalls: [{ toolId: 't' }] },
      'config.mockToolCalls[0] must have either a result or an error',
    ],
    [
      'a tool call with both',
      { mockToolCalls: [{ toolId: 't', result: 1, error: 2 }] },
      'config.mockToolCalls[0] must have either',
    ],
    ['a tool call without a tool', { mockToolCalls: [{ result: 1 }] }, 'config.mockToolCalls[0].toolId is required'],
    [
      'a tool call with an unknown key',
      { mockToolCalls: [{ toolId: 't', result: 1, x: 1 }] },
      'config.mockToolCalls[0].x is not a known field',
    ],
    [
      'a duration below zero',
      { mockToolCalls: [{ toolId: 't', result: 1, durationMs: -1 }] },
      'config.mockToolCalls[0].durationMs must be a number, 0 or more; got -1',
    ],
    ['calls that are no list', { mockToolCalls: {} }, 'config.mockToolCalls must be'],
    ['reasoning without a summary', { mockReasoning: { trace: 't' } }, 'config.mockReasoning.summary is required'],
    [
      'reasoning with an unknown key',
      { mockReasoning: { summary: 's', x: 1 } },
      'config.mockReasoning.x is not a known field',
    ],
    [
      'chunks that are no texts',
      { mockReasoning: { summary: 's', streamChunks: [1] } },
      'config.mockReasoning.streamChunks[0] must be text',
    ],
    ['a handoff to nobody', { mockHandoff: {} }, 'config.mockHandoff.toAgentId is required'],
    [
      'a handoff with an unknown key',
      { mockHandoff: { toAgentId: 'core.x', x: 1 } },
      'config.mockHandoff.x is not a known field',
    ],
    ['a decision without one', { mockDecision: { confidence: 1 } }, 'config.mockDecision.decision is required'],
    ['a decision too sure', { mockDecision: { decision: 1, confidence: 2 } }, 'config.mockDecision.confidence must be'],
  ])('R-MOCK-3: %s is refused', (_what, config, message) => {
    expect(() => given(agent(config))).toThrow(message)
  })

  it('R-MOCK-5: is refused outside conformance', () => {
    expect(() => given(agent({}, { id: 'mine' }))).toThrow('core.conformance.mock-agent is for conformance runs only')
    expect(statusOf(given(agent({}, { id: 'mine' }), ['assay.conformance']).start().state)).toBe('completed')
  })
})
