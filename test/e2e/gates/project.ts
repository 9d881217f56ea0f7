import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { loopOf, next } from '../../../src/testing/orchestration.js'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'

/** Work and the gates it has to pass. What is right and what is not, everybody knows from the answer itself. */

const RIGHT = 'Paris'
const WRONG = 'London'

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

/** One knows, one learns when it is told what is wrong, one never does. */
const WORKERS: readonly Sketch[] = [
  answers('sage', `"${RIGHT}"`),
  answers('learner', `has(variables.verificationFeedback) ? "${RIGHT}" : "${WRONG}"`),
  answers('mule', `"${WRONG}"`),
]

const outputMapping = { capital: 'answer' }
const variables = [{ name: 'capital', type: 'string' as const, defaultValue: 'unknown' }]

const asks = (id: string, worker: string, config: object = {}): Sketch => ({
  id,
  nodes: {
    ask: { type: 'core.subWorkflow', config: { workflowId: worker, outputMapping, ...config } },
    end: { type: 'core.end', inputs: { capital: { type: 'expression', expression: 'variables.capital' } } },
  },
  edges: ['ask > end'],
  variables,
})

const WORKFLOWS: readonly Sketch[] = [
  asks('passed', 'sage'),
  asks('revised', 'learner'),
  asks('rejected', 'mule'),
  asks('forced', 'mule'),
  asks('escalated', 'mule'),
  asks('unjudged', 'sage'),
  asks('attested', 'sage', { outputAttestation: { checksum: true, requireApproval: true } }),
  asks('left', 'learner'),
  asks('panel', 'sage'),
  {
    id: 'written',
    nodes: { ask: { type: 'core.agent', config: { agentId: 'local.gates.writer', resultVariable: 'capital' } } },
    variables: [{ name: 'capital', type: 'object' }],
  },
  loopOf(
    {
      rules: [
        { when: 'iteration == 1', decide: next('sage', 'mule') },
        { decide: { kind: 'terminate', successCriteria: [{ key: 'all-right', met: false }] } },
      ],
    },
    { id: 'supervised', dispatch: { outputMapping }, variables },
  ),
]

type Gated = {
  readonly workflow: string
  readonly gateId?: string
  readonly phase?: string
  readonly placement?: string
  /** Where in the output the capital stands. */
  readonly at?: string
  readonly behaviour?: object
  readonly panel?: object
}

const gate = ({ workflow, phase = 'ask', placement = 'phase_exit', at = '/answer', behaviour, panel }: Gated) => ({
  name: 'The capital is right',
  position: { workflow_id: workflow, phase_id: phase, placement },
  intent_refs: ['true'],
  evaluation_criteria: [
    { dimension: 'correctness', scale: { min: 0, max: 10, type: 'integer' }, pass_threshold: 7 },
    {
      dimension: 'form',
      scale: { min: 0, max: 1, type: 'integer' },
      pass_threshold: 1,
      probes: [{ type: 'regex', path: at, pattern: '^[A-Z]' }],
    },
  ],
  verifier_requirements: {},
  gate_behaviour: { retries: 1, retry_delay_ms: 10, ...behaviour },
  ...(panel && { multi_verifier: panel }),
  ...(placement === 'workflow_exit' && { exit_values: ['variables.capital'] }),
})

const GATES: readonly Gated[] = [
  { workflow: 'passed' },
  // Between the verdicts of two gates nothing is merged.
  { workflow: 'passed', gateId: 'passed-again' },
  { workflow: 'revised' },
  { workflow: 'rejected' },
  { workflow: 'forced', behaviour: { on_fail: 'conditional_pass' } },
  { workflow: 'escalated', behaviour: { on_fail: 'escalate', max_attempts: 1 } },
  { workflow: 'unjudged' },
  { workflow: 'attested' },
  { workflow: 'left', placement: 'workflow_exit', at: '/variables/capital' },
  { workflow: 'panel', panel: { verifier_count: 2, early_stop: false } },
  { workflow: 'written' },
  { workflow: 'supervised', phase: 'dispatch', behaviour: { max_attempts: 1 } },
]

const AGENT = {
  agentId: 'local.gates.writer',
  persona: 'writer',
  modelClass: 'general',
  systemPrompt: 'You name capitals.',
  handoff: { returnSchemaRef: 'schemas/answer.json' },
}
const ANSWER = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }

const INTENT = { type: 'operational', title: 'True', statement: 'The capital of France is named.' }

type Named = { readonly id?: string }

/** A workflow and those it names. */
function needed(id: string): readonly Sketch[] {
  const workflow = WORKFLOWS.find((one: Named) => one.id === id)!
  const text = JSON.stringify(workflow)
  return [workflow, ...WORKERS.filter(worker => text.includes(`"${worker.id}"`))]
}

/** A project folder with one of the workflows, what it needs, and its gates. */
export function writeProject(folder: string, id: string): string {
  const project = path.join(folder, `project-${id}`)
  for (const part of ['workflows', 'gates', 'intents', 'agents/schemas'])
    mkdirSync(path.join(project, part), { recursive: true })
  const write = (name: string, value: object) =>
    writeFileSync(path.join(project, `${name}.json`), JSON.stringify(value))
  for (const workflow of needed(id)) write(`workflows/${workflow.id}`, sketch(workflow))
  for (const one of GATES) if (one.workflow === id) write(`gates/${one.gateId ?? one.workflow}`, gate(one))
  write('intents/true', INTENT)
  if (id === 'written') {
    write('agents/writer', AGENT)
    write('agents/schemas/answer', ANSWER)
  }
  write('assay.config', { models: { maxTries: 1, maxRetries: 0, maxOutputTokens: 300 } })
  return project
}
