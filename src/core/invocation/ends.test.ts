import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import {
  agentFlow,
  agentNode,
  answered,
  atWork,
  briefs,
  eventsOf,
  says,
  tool,
  wants,
} from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import { MAX_VALUE_BYTES } from '../run/value-size.js'

const READ = tool('mcp:files.read')
const UNUSABLE = { kind: 'unusable', reason: 'parse-error', problem: 'p' } as const

describe('a call of a tool that nobody waits for any more', () => {
  const TIMED = { settings: { timeoutMs: 50 } }
  const ENDS: readonly [string, (run: Scenario) => Scenario][] = [
    ['a cancel', run => run.when({ type: 'CancelRun', by: 'ann' })],
    ['the end of its node’s time', run => run.after(51)],
    ['hosts that died of its run', run => run.when({ type: 'Quarantine', attempts: 4 })],
    ['a budget that another has exhausted', run => says(run, UNUSABLE, 'b')],
  ]

  it.each(ENDS)('R-LIVE-7 R-EVENT-2: after %s, it has its return, before the bracket closes', (_what, end) => {
    const run = given({ nodes: { a: agentNode(TIMED), b: agentNode() } }).start({}, { budget: { maxRetries: 0 } })
    says(briefs(briefs(run, { tools: [READ] }), {}, 'b'), wants(READ.toolId))
    const { length } = run.log
    end(run)
    const [called] = eventsOf(run, 'agent.toolCalled')
    const returned = eventsOf(run, 'agent.toolReturned')
    expect(returned).toHaveLength(1)
    expect(returned[0]).toMatchObject({
      cause: called!.sequence,
      payload: { callId: called!.payload.callId, status: 'error', error: { code: 'tool_outcome_unknown' } },
    })
    expect(returned[0]!.payload).not.toHaveProperty('durationMs')
    const ofAgent = run.told(length).filter(told => /^(agent|node)\.\S+ a$/.test(told))
    expect(ofAgent.slice(0, 2)).toEqual(['agent.toolReturned a', 'agent.invocation.completed a'])
  })
})

describe('a result that is too large to keep', () => {
  it('R-LIVE-11 R-LIVE-16: the bracket does not say that the agent has completed, since its node has not', () => {
    const run = says(atWork(given(agentFlow()), { checksResult: true }), answered('x'.repeat(MAX_VALUE_BYTES + 1)))
    expect(run.told().slice(-3)).toEqual(['agent.invocation.completed a', 'node.failed a', 'run.failed'])
    const [completed] = payloads(run, 'agent.invocation.completed')
    expect(completed).toMatchObject({ outcome: 'failed' })
    expect(completed).not.toHaveProperty('schemaValidated')
    expect(eventsOf(run, 'agent.decided')).toEqual([])
  })
})

describe('a result that a person has written in its place', () => {
  const unsure = () => says(atWork(given(agentFlow()), { checksResult: true }), answered({ ok: true }, 0.1))

  it('R-LIVE-11: is not said to fit the schema, which nobody has held it to', () => {
    const run = unsure().when(answer('a', { action: 'edit-accept', editedArtifactData: 'off the schema' }))
    expect(payloads(run, 'node.completed')[0]).toMatchObject({ outputs: { result: 'off the schema' } })
    const [completed] = payloads(run, 'agent.invocation.completed')
    expect(completed).toMatchObject({ outcome: 'completed' })
    expect(completed).not.toHaveProperty('schemaValidated')
  })

  it('R-LIVE-11: accepted as it was, it is', () => {
    const run = unsure().when(answer('a', { action: 'accept' }))
    expect(payloads(run, 'agent.invocation.completed')[0]).toMatchObject({ schemaValidated: true })
  })

  it('R-LIVE-13: must be written: an edit without one is refused, and the question stays open', () => {
    const run = unsure().when(answer('a', { action: 'edit-accept' }))
    expect(run.refusal?.code).toBe('validation_error')
    expect(payloads(run, 'node.completed')).toEqual([])
    run.when(answer('a', { action: 'edit-accept', editedArtifactData: null }))
    expect(payloads(run, 'node.completed')[0]).toMatchObject({ outputs: { result: null } })
  })
})
