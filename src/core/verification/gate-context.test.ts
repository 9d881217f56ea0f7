import { describe, expect, it } from 'vitest'
import {
  blocker,
  convenes,
  gateAt,
  inspects,
  judged,
  recordsOf,
  verdicts,
  votes,
  wantedOf,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentNode, answered, briefs, owedTo, says } from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import { MAX_CONTEXT_BYTES } from './gate-context.js'

/** What a verifier may hold the work against. */

const flow: Sketch = {
  nodes: {
    research: { type: 'core.identity', inputs: { payload: { type: 'variable', variableName: 'log' } } },
    a: agentNode({ config: { resultVariable: 'got' } }),
    after: { type: 'core.identity', inputs: { payload: { type: 'variable', variableName: 'got' } } },
  },
  edges: ['research > a', 'a > after'],
  variables: [
    { name: 'log', type: 'string' },
    { name: 'scratch', type: 'string', defaultValue: 'SCRATCH' },
    { name: 'key', type: 'string', sensitive: true },
    { name: 'got', type: 'string' },
  ],
}

type More = Parameters<typeof gateAt>[2]
const LOG = 'a1b2c3d Fix the pump'
const inputs = { log: LOG, key: 'hunter2-hunter2', verificationFeedback: { findings: ['OUTER-FINDING'] } }

const begun = (more: More, placement: 'phase_exit' | 'workflow_exit' | 'checkpoint' = 'phase_exit', from = inputs) =>
  says(briefs(given(flow).start(from, undefined, [gateAt('a', placement, more)])), answered('the work'))

const bundleIn = (run: Scenario) => owedTo(run, 'start-child')!.withheld!.bundle as JsonObject

describe.each(['phase_exit', 'checkpoint', 'workflow_exit'] as const)('at a %s', placement => {
  it('R-DWS-7 R-DWS-8 R-DWS-9 R-DWS-11: verifiers see the work and what the gate names, and nothing else of the run', () => {
    const context = ['inputs.log', 'nodes.research.output.payload']
    const run = inspects(begun({ context, requirements: { role: 'editor' } }, placement))
    const bundle = bundleIn(run)
    expect(bundle.context).toEqual([
      { ref: 'inputs.log', value: LOG },
      { ref: 'nodes.research.output.payload', value: LOG },
    ])
    expect(bundle.role).toBe('editor')
    expect(bundle.output).toEqual(placement === 'workflow_exit' ? { outputs: { payload: 'the work' } } : 'the work')
    expect(JSON.stringify(bundle)).not.toMatch(/SCRATCH|OUTER-FINDING|hunter2/)
  })

  it('the hash of the sources is told with the verdict, and the record has what they were', () => {
    const run = judged(begun({ context: ['inputs.log'] }, placement))
    const [started] = payloads(run, 'dws.verification.started')
    expect(started!.contextHash).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(recordsOf(run.log)).toMatchObject([
      { contextHash: started!.contextHash, context: [{ ref: 'inputs.log', value: LOG }], role: 'verifier' },
    ])
    expect(recordsOf(run.log)[0]!.criteria[0]!.evidenceFrom).toEqual(['verifier:assay.verifier', 'inputs.log'])
  })

  it('where nothing is named there is neither', () => {
    const run = inspects(begun({}, placement))
    expect([bundleIn(run).context, payloads(run, 'dws.verification.started')[0]!.contextHash]).toEqual([[], undefined])
  })
})

describe('at the exit', () => {
  it('R-DWS-9 R-DWS-11: what was said of an earlier attempt is no part of the work, whoever names it', () => {
    const run = begun({ exit_values: ['variables.got', 'variables.verificationFeedback'] }, 'workflow_exit')
    expect(wantedOf(run)!.result).toEqual({ outputs: { payload: 'the work' }, variables: { got: 'the work' } })
  })

  it('a value that the gate names and the run has not left could not be checked', () => {
    const run = inspects(begun({ exit_values: ['variables.nowhere'] }, 'workflow_exit'))
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { reason: 'unchecked' } }])
  })
})

describe('sources that cannot be had', () => {
  it.each<[string, string, string, Partial<typeof inputs>, string]>([
    ['leads nowhere', 'inputs.nobody', 'context_missing', {}, 'it was given log, key, verificationFeedback'],
    ['leads nowhere inside', 'nodes.research.output.text', 'context_missing', {}, 'there is payload'],
    ['is of a node that has not ended', 'nodes.after.output', 'context_missing', {}, 'had not completed'],
    ['was said of an earlier attempt', 'inputs.verificationFeedback', 'context_missing', {}, 'was given no input'],
    ['must not be seen', 'inputs.key', 'context_hidden', {}, 'must not be seen'],
    ['holds what must not be seen', 'inputs.log', 'context_hidden', { log: 'is hunter2-hunter2' }, 'must not be seen'],
    ['is too large', 'inputs.log', 'context_too_large', { log: 'x'.repeat(MAX_CONTEXT_BYTES) }, 'takes more than'],
  ])(
    'R-DWS-36: what %s could not be checked: no verifier is asked, no attempt is spent, and the operator is told',
    (_, ref, fault, more, why) => {
      const run = inspects(begun({ context: [ref] }, 'phase_exit', { ...inputs, ...more }))
      expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ vote: 'none', fault }])
      expect(owedTo(run, 'start-child')).toBeUndefined()
      expect([payloads(run, 'assay.verification.held'), verdicts(run)]).toEqual([[], []])
      expect(statusOf(run.state)).toBe('waiting-approval')
      const [asked] = payloads(run, 'interrupt.requested')
      expect(asked).toMatchObject({ data: { reason: 'unchecked', unchecked: [{ dimension: 'correctness' }] } })
      expect(JSON.stringify(asked!.data)).toContain(why)
      expect(recordsOf(run.log)).toMatchObject([
        { verdict: 'could_not_check', criteria: [{ dimension: 'correctness', outcome: 'could_not_check' }] },
      ])
      run.when(answer('a', { action: 'accept' }))
      expect(verdicts(run)).toMatchObject([{ agentId: 'host:human-override', verdict: 'pass' }])
    },
  )
})

describe('R-DWS-36: a verifier that could not check', () => {
  const unseen = { scores: { correctness: { could_not_check: 'there is no log' } } }

  it('asks the operator, and wastes no turn of the worker', () => {
    const run = votes(convenes(inspects(begun({}))), 0, unseen)
    expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ vote: 'none', fault: 'could_not_check' }])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      { data: { reason: 'unchecked', unchecked: [{ dimension: 'correctness', reason: 'there is no log' }] } },
    ])
    expect([verdicts(run), payloads(run, 'assay.rework.began')]).toEqual([[], []])
    run.when(answer('a', { action: 'refine', refineFeedback: { scope: 'whole' } }))
    expect(verdicts(run)).toMatchObject([{ verdict: 'revise' }])
  })

  it('at a gate that does not block is recorded, and nobody is asked', () => {
    const run = votes(convenes(inspects(begun({ behaviour: { blocking: false } }))), 0, unseen)
    const [held] = payloads(run, 'assay.verification.held')
    expect(held).toMatchObject({ proceeds: true })
    expect(recordsOf(run.log)).toMatchObject([{ verdict: 'could_not_check' }])
    expect([payloads(run, 'interrupt.requested'), verdicts(run)]).toEqual([[], []])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('is a missing vote among several: the others may decide, and what it found is kept', () => {
    const three = {
      verifiers: ['j.one', 'j.two', 'j.three'].map(agent_id => ({ agent_id })),
      quorum: { early_stop: false },
    }
    const run = convenes(inspects(begun(three)))
    votes(run, 0, { ...unseen, findings: [blocker('correctness', 'warning')] })
    votes(votes(run, 1), 2)
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
    expect(recordsOf(run.log)).toMatchObject([
      { verdict: 'conditional_pass', faults: [{ code: 'could_not_check' }], findings: [{ finding_id: 'v1-1' }] },
    ])
  })

  it('is never a pass, not even where any one vote is enough', () => {
    const two = {
      verifiers: [{ agent_id: 'j.one' }, { agent_id: 'j.two' }],
      quorum: { quorum_strategy: 'any' as const },
    }
    const run = convenes(inspects(begun(two)))
    votes(run, 0, unseen)
    votes(convenes(run), 1, unseen)
    expect([statusOf(run.state), verdicts(run)]).toEqual(['waiting-approval', []])
  })
})

describe('a probe whose path leads nowhere', () => {
  const probes = [{ probe_id: 'p', type: 'equals' as const, path: '/text', value: 1 }]
  const evidence = [
    {
      probeId: 'p',
      dimension: 'correctness',
      outcome: 'unavailable' as const,
      evidence: [{ evidence_type: 'artifact_reference' as const, ref: '/text', detail: 'nothing at /text' }],
      lasting: true as const,
    },
  ]

  it('R-DWS-36: is not tried again, costs no attempt, and the operator is told what is there', () => {
    const run = inspects(begun({ criteria: [{ dimension: 'correctness', probes }] }), { evidence })
    expect(payloads(run, 'assay.verification.held')).toEqual([])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      {
        data: {
          reason: 'unchecked',
          unchecked: [{ dimension: 'correctness', reason: 'p at /text: nothing at /text' }],
        },
      },
    ])
    expect([verdicts(run), payloads(run, 'assay.rework.began')]).toEqual([[], []])
  })
})
