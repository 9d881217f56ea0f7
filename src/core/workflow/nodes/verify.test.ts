import { describe, expect, test } from 'vitest'
import { hostWorkflow } from '../../../engine/plans/host-workflows.js'
import { Scenario } from '../../../testing/given-when-then.js'
import { answered, briefs, owedTo, says, story } from '../../../testing/invocations.js'
import { LIMITS } from '../../../testing/limits.js'
import { payloads } from '../../../testing/orchestration.js'
import { sketch } from '../../../testing/workflow.js'
import type { JsonObject } from '../../json.js'
import { statusOf } from '../../run/state.js'
import { compile, isPlan } from '../compile.js'
import { coreNodeTypes } from './registry.js'
import { VERIFIER_WORKFLOW } from './verify.js'

const nodeTypes = new Map(coreNodeTypes.map(type => [type.typeId, type]))
const SCHEMA = { type: 'object' }
const BUNDLE = { output: { text: 'x' }, intents: [], constraints: [], knowledge: [], evidence: [], criteria: [] }
const { output: _output, ...NO_OUTPUT } = BUNDLE
const RESULT = { scores: { correctness: 4 }, findings: [] }

function started(inputs: JsonObject): Scenario {
  const capabilities = new Set<string>()
  const plan = compile(hostWorkflow(VERIFIER_WORKFLOW)!, 'digest', { nodeTypes, capabilities, accepted: true })
  if (!isPlan(plan)) throw new Error(plan.message)
  return new Scenario({ plan, limits: LIMITS, capabilities }).start(inputs)
}

const given = (agentId: string) => started({ agentId, bundle: BUNDLE, schema: SCHEMA })

describe('the node of a verifier', () => {
  test('R-DWS-4 R-DWS-33: an agent is asked for its verdict on the bundle, and is given nothing besides', () => {
    const { wait, workflowPrompts } = owedTo(given('local.acme.critic'), 'prepare-agent', 'verify')!
    expect(wait).toEqual({
      kind: 'agent',
      agent: { agentId: 'local.acme.critic' },
      role: 'verifier',
      task: BUNDLE,
      ordinal: 0,
      returnSchema: SCHEMA,
    })
    expect(workflowPrompts).toEqual({})
  })

  test('the host’s own verifier needs no catalogue', () => {
    const { wait } = owedTo(given('assay.verifier'), 'prepare-agent', 'verify')!
    expect(wait.agent).toEqual({ agentId: 'assay.verifier', inline: { systemPrompt: expect.any(String) } })
  })

  test.each([1, 0.2, undefined])(
    'what it came to is the run’s, at confidence %s, and no person is asked',
    confidence => {
      const run = briefs(given('assay.verifier'), { checksResult: true, threshold: 0.9 }, 'verify')
      says(run, answered(RESULT, confidence), 'verify')
      const verification = { result: RESULT, ...(confidence === undefined ? {} : { confidence }) }
      expect(run.state).toMatchObject({
        phase: 'ended',
        outcome: { status: 'completed', outputs: { ...verification, result: '[REDACTED]' } },
        variables: { verification },
        hidden: { variables: ['verification'] },
      })
      expect(story(run)).not.toContain('interrupt.requested < agent.decided')
    },
  )

  test('R-DWS-36: a verifier that refuses fails its run, and is not asked again', () => {
    const run = briefs(given('assay.verifier'), {}, 'verify')
    says(run, { kind: 'refused' }, 'verify')
    expect(statusOf(run.state)).toBe('failed')
    expect(payloads(run, 'run.failed')[0]).toMatchObject({ error: { code: 'envelope_refusal', retryable: false } })
    expect(run.owed).toEqual([])
  })

  test.each<[string, JsonObject]>([
    ['nothing', {}],
    ['no agent', { bundle: BUNDLE, schema: SCHEMA }],
    ['no schema', { agentId: 'assay.verifier', bundle: BUNDLE }],
    ['a bundle that is none', { agentId: 'assay.verifier', bundle: { output: 1 }, schema: SCHEMA }],
    ['a bundle without an output', { agentId: 'assay.verifier', bundle: NO_OUTPUT, schema: SCHEMA }],
  ])('a run that was given %s fails and says what it needs', (_what, inputs) => {
    const run = started(inputs)
    expect(payloads(run, 'run.failed')[0]).toMatchObject({
      error: { code: 'invalid_input', message: expect.stringContaining('{agentId, bundle, schema}'), retryable: false },
    })
  })

  test('R-DWS-12: no workflow but the host’s own may have one, whatever it is called', () => {
    for (const id of ['mine', 'conformance-mine', VERIFIER_WORKFLOW]) {
      const definition = sketch({ id, nodes: { v: 'assay.verify' } })
      const refused = compile(definition, 'd', { nodeTypes, capabilities: new Set(['assay.conformance']) })
      expect(refused).toMatchObject({
        code: 'validation_error',
        message: expect.stringContaining('for the host alone'),
      })
    }
  })
})
