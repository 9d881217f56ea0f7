import { describe, expect, it } from 'vitest'
import {
  convenes,
  faults,
  gateAt,
  inspects,
  judged,
  recordsOf,
  subFlow,
  verdicts,
  verifiersOwed,
  votes,
  wantedOf,
  works,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { AGENT, agentFlow, agentNode, answered, briefs, eventsOf, says } from '../../testing/invocations.js'
import { begins, ends, payloads } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import { statusOf } from '../run/state.js'

type Wanted = Parameters<typeof gateAt>[2]

const held = (gate: Wanted = {}, configurable = {}) =>
  given(subFlow()).start({}, configurable, [gateAt('a', 'phase_exit', gate)])

const lastFault = (run: Scenario) => payloads(run, 'assay.verifier.ended').at(-1)?.fault
const SPENT = { costNano: 0, toolCalls: 0, retries: 0 }

describe('what a worker hides', () => {
  const hiding = (gate?: Wanted) => {
    const run = begins(held(gate), 'c1', { nodeId: 'a' })
    return ends(run, 'c1', { x: 'plain words' }, { nodeId: 'a', hidden: ['x'] })
  }

  it('R-DWS-7 R-DWS-29: is for the host’s own probes alone, and its pass is a person’s to confirm', () => {
    const run = hiding()
    expect(wantedOf(run)!.result).toEqual({ x: 'plain words' })
    inspects(run)
    expect(verifiersOwed(run)).toHaveLength(1)
    expect(JSON.stringify(verifiersOwed(run))).not.toContain('plain words')
    votes(convenes(run), 0)
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { reason: 'unseen' } }])
    expect(payloads(run, 'output.harvested')).toEqual([])
  })

  it('R-DWS-29: allow_hidden merges it without', () => {
    const run = judged(hiding({ behaviour: { allow_hidden: true } }))
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(payloads(run, 'output.harvested')).toHaveLength(1)
  })
})

describe('an agent’s result that is to stand where the log must not show it', () => {
  const secret = 'hunter2-hunter2'

  it.each<[string, Sketch]>([
    ['an output that is declared sensitive', { nodes: { a: { ...agentNode(), outputSensitivity: { result: true } } } }],
    [
      'a variable that is',
      {
        nodes: { a: agentNode({ config: { resultVariable: 'key' } }) },
        variables: [{ name: 'key', type: 'string', sensitive: true }],
      },
    ],
  ])('R-DWS-7 R-DWS-29: %s: verifiers and readers of the record do not see it', (_, flow) => {
    const run = says(briefs(given(flow).start({}, undefined, [gateAt('a', 'phase_exit')])), answered(secret))
    expect(wantedOf(run)).toMatchObject({ result: secret, output: '[REDACTED]' })
    inspects(run)
    expect(verifiersOwed(run)).toHaveLength(1)
    expect(JSON.stringify(verifiersOwed(run))).not.toContain(secret)
    votes(convenes(run), 0)
    expect(recordsOf(run.log)).toHaveLength(1)
    expect(JSON.stringify(recordsOf(run.log))).not.toContain(secret)
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { reason: 'unseen' } }])
  })
})

describe('an agent that worked in the worker’s own run', () => {
  const ended = (gate: Wanted) => {
    const run = begins(held({ verifiers: [{ agent_id: AGENT }], ...gate }), 'c1', { nodeId: 'a' })
    const end = { type: 'ChildEnded', nodeId: 'a', childRunId: 'c1', status: 'completed' } as const
    return run.when({ ...end, variables: { x: 1 }, hidden: [], agents: [AGENT] })
  }

  it('R-VERIFY-7 A13: is no judge of what the worker brought', () => {
    const run = inspects(ended({}))
    expect(lastFault(run)).toBe('self_verification')
    expect(verifiersOwed(run)).toEqual([])
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('R-VERIFY-8 A13: is seen to have been, where the gate allows it', () => {
    const run = judged(ended({ requirements: { allow_self_verification: true } }))
    expect(verdicts(run)).toMatchObject([{ criteria: ['correctness', 'self-verification'] }])
  })
})

describe('a verifier that will not answer the next time either', () => {
  it('R-DWS-36: who did the work: a person is asked at once', () => {
    const own = gateAt('a', 'phase_exit', { verifiers: [{ agent_id: AGENT }] })
    const run = inspects(says(briefs(given(agentFlow()).start({}, undefined, [own])), answered('x')))
    expect(eventsOf(run, 'assay.verification.held')).toEqual([])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { reason: 'unsettled' } }])
  })

  it.each(['unknown_agent', 'recursion_limit_exceeded', 'budget_model_denied', 'prompt_variable_unresolved'])(
    'R-DWS-36: %s: a person is asked at once',
    code => {
      const run = faults(convenes(inspects(works(held(), 'c1'))), 0, 'failed', { code })
      expect(lastFault(run)).toBe(code)
      expect(eventsOf(run, 'assay.verification.held')).toEqual([])
      expect(statusOf(run.state)).toBe('waiting-approval')
    },
  )

  it('R-DWS-36: beside one that might, both are asked again', () => {
    const run = convenes(inspects(works(held({ quorum: { verifier_count: 2 } }), 'c1')))
    faults(run, 0, 'failed', { code: 'unknown_agent' })
    faults(run, 1)
    expect(payloads(run, 'assay.verification.held')).toMatchObject([{ round: 1, faults: 2 }])
  })
})

describe('a verifier that somebody has cancelled', () => {
  it('R-DWS-36: is missing, and the next is asked in its place', () => {
    const run = convenes(inspects(works(held({ quorum: { verifier_count: 3 } }), 'c1')))
    faults(run, 0, 'cancelled')
    expect(lastFault(run)).toBe('verifier_cancelled')
    votes(votes(convenes(run), 1), 2)
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
  })
})

describe('a budget that is used up', () => {
  it('R-DWS-28 §23.2: before a second round: no verifier is started, and the run says why', () => {
    const run = convenes(inspects(works(held({}, { budget: { maxTokens: 100 } }), 'c1')))
    faults(run, 0, 'failed', { spent: { ...SPENT, tokens: 100 } })
    run.after(2_000)
    expect(payloads(run, 'assay.verifier.began')).toHaveLength(1)
    expect(verifiersOwed(run)).toEqual([])
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'budget_exhausted' } } })
    expect(verdicts(run)).toEqual([])
  })
})
