import { loopOf, next } from '../../../src/testing/orchestration.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import type { Making } from './two-hosts.js'
import { peer } from './workflows.js'

/** Work that B does and A holds to its gates: one worker knows, one learns when it is told what is wrong, one never does. */

export const RIGHT = 'Paris'
export const WRONG = 'London'
export const UNTOUCHED = 'unknown'

const answers = (id: string, expression: string): Sketch => ({
  id,
  nodes: {
    answer: {
      type: 'core.setVariable',
      config: { name: 'answer' },
      inputs: { value: { type: 'expression', expression } },
    },
  },
})

const ON_B: readonly Sketch[] = [
  answers('sage', `"${RIGHT}"`),
  answers('learner', `has(variables.verificationFeedback) ? "${RIGHT}" : "${WRONG}"`),
  answers('mule', `"${WRONG}"`),
]

const outputMapping = { capital: 'answer' }
const variables = [{ name: 'capital', type: 'string' as const, defaultValue: UNTOUCHED }]

const asks = (id: string, worker: string): Sketch => ({
  id,
  nodes: { ask: { type: 'core.subWorkflow', config: { workflowId: peer(worker), outputMapping } } },
  variables,
})

const ON_A: readonly Sketch[] = [
  asks('passed', 'sage'),
  asks('revised', 'learner'),
  asks('rejected', 'mule'),
  loopOf(
    {
      rules: [
        { when: 'iteration == 1', decide: next(peer('learner')) },
        { decide: { kind: 'terminate', successCriteria: [{ key: 'right', met: false }] } },
      ],
    },
    { id: 'supervised', dispatch: { outputMapping }, variables },
  ),
]

const gate = (workflow: string, phase = 'ask') => ({
  name: 'The capital is right',
  position: { workflow_id: workflow, phase_id: phase, placement: 'phase_exit' },
  intent_refs: ['true'],
  evaluation_criteria: [{ dimension: 'correctness', scale: { min: 0, max: 10, type: 'integer' }, pass_threshold: 7 }],
  verifier_requirements: {},
  gate_behaviour: { max_attempts: 2, retries: 0, retry_delay_ms: 1 },
})

/** Anything but the right answer has a blocking finding. */
const SCRIPT = [
  {
    role: 'verifier',
    when: { contains: WRONG },
    reply: {
      json: {
        scores: { correctness: 1 },
        findings: [
          {
            dimension: 'correctness',
            classification: 'blocking',
            description: 'It is another city.',
            evidence: [{ evidence_type: 'comparison', ref: '/answer', detail: 'an atlas says otherwise' }],
            recommendation: 'Look it up.',
          },
        ],
      },
      confidence: 0.95,
    },
  },
  { role: 'verifier', reply: { json: { scores: { correctness: 9 }, findings: [] }, confidence: 0.95 } },
]

export const GATED: Omit<Making, 'folder'> = {
  a: ON_A,
  b: ON_B,
  filesOfA: {
    'gates/passed.json': gate('passed'),
    'gates/revised.json': gate('revised'),
    'gates/rejected.json': gate('rejected'),
    'gates/supervised.json': gate('supervised', 'dispatch'),
    'intents/true.json': { type: 'operational', title: 'True answers', statement: 'The answer is right.' },
    'scripted.json': SCRIPT,
  },
  settingsOfA: { models: { script: 'scripted.json' } },
}
