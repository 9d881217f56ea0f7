import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import {
  agentFlow,
  answered,
  atWork,
  briefs,
  eventsOf,
  owedTo,
  returns,
  says,
  story,
  tool,
  wants,
} from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import { MAX_VALUE_BYTES } from '../run/value-size.js'

const KEEP = tool('assay:artifact.create', { transport: 'native' })
const artifact = { artifactType: 'report', content: { text: 'all of it' } }

const asked = (calls = 1) =>
  says(atWork(given(agentFlow()), { tools: [KEEP] }), wants(...Array.from({ length: calls }, () => KEEP.toolId)))

describe('what a tool gives the run to keep', () => {
  it('is an artifact, told right after the tool has returned and caused by that', () => {
    const run = returns(asked(2), { artifact })
    expect(story(run).slice(-3)).toEqual([
      'agent.toolReturned < agent.toolCalled',
      'artifact.created < agent.toolReturned',
      'agent.toolCalled < agent.toolReturned',
    ])
    const [made] = eventsOf(run, 'artifact.created')
    expect(made).toMatchObject({
      nodeId: 'a',
      payload: { artifactId: `art-${made!.sequence}`, artifactType: 'report', nodeId: 'a' },
      secret: { content: { text: 'all of it' } },
    })
    expect(made!.secret).not.toHaveProperty('shown')
  })

  it('R-TOOL-8: its content is in no payload', () => {
    const run = says(returns(asked(), { artifact }), answered())
    expect(statusOf(run.state)).toBe('completed')
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('all of it')
  })

  it('the invocation goes on as if nothing had been kept', () => {
    const kept = returns(asked(), { artifact })
    const plain = returns(asked())
    expect(owedTo(kept, 'call-model')!.invocation.rounds).toEqual(owedTo(plain, 'call-model')!.invocation.rounds)
    expect(story(kept).at(-1)).toBe('assay.model.requested < agent.toolReturned')
  })

  it('an answer that comes twice is kept once', () => {
    const run = asked()
    const { since, call, position } = owedTo(run, 'call-tool')!
    returns(run, { artifact })
    const reply = { status: 'ok' as const, durationMs: 1, resultTokens: 1, artifact }
    run.when({ type: 'ToolAnswered', nodeId: 'a', since, call, position, answer: { ok: true, reply, contents: 'x' } })
    expect(eventsOf(run, 'artifact.created')).toHaveLength(1)
  })

  it('no more than a value may have; the node has failed', () => {
    const run = returns(asked(), { artifact: { artifactType: 'report', content: 'x'.repeat(MAX_VALUE_BYTES) } })
    expect(eventsOf(run, 'artifact.created')).toEqual([])
    expect(story(run).slice(-4)).toEqual([
      'agent.toolReturned < agent.toolCalled',
      'agent.invocation.completed < agent.toolReturned',
      'node.failed < agent.invocation.completed',
      'run.failed',
    ])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'value_too_large', retryable: false } })
  })
})

describe('secrets of the run in an artifact', () => {
  const secretive = () => {
    const run = given(agentFlow({}, { variables: [{ name: 'key', type: 'string', sensitive: true }] }))
    return says(briefs(run.start({ key: 'swordfish' }), { tools: [KEEP] }), wants(KEEP.toolId))
  }

  it('are kept for those who may read artifacts, and masked for agents', () => {
    const content = { open: 'sesame', lines: ['a', 'it is swordfish'] }
    const run = returns(secretive(), { artifact: { artifactType: 'report', content } })
    expect(eventsOf(run, 'artifact.created')[0]!.secret).toEqual({
      content,
      shown: { open: 'sesame', lines: ['a', '[REDACTED]'] },
    })
  })

  it('R-EVENT-6: are not told by its type', () => {
    const run = returns(secretive(), { artifact: { artifactType: 'x/swordfish', content: 1 } })
    expect(payloads(run, 'artifact.created')[0]).toMatchObject({ artifactType: '[REDACTED]' })
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('swordfish')
  })

  it('what a node hides among its outputs is masked in its artifact, too', () => {
    const inputs = { payload: { type: 'static' as const, value: 'swordfish' } }
    const a = { type: 'core.identity', inputs, artifactType: 'doc', outputSensitivity: { payload: true } }
    const [made] = eventsOf(given({ nodes: { a } }).start(), 'artifact.created')
    expect(made!.secret).toEqual({ content: { payload: 'swordfish' }, shown: { payload: '[REDACTED]' } })
  })
})
