import fs from 'node:fs'
import path from 'node:path'
import type { JsonObject } from '../../../src/core/json.js'

/** A project with one worker, who writes about the weather, and a gate that asks one verifier. */
export function writeProject(folder: string): void {
  for (const name of ['agents/schemas', 'workflows', 'gates', 'intents'])
    fs.mkdirSync(path.join(folder, name), { recursive: true })
  for (const [name, value] of Object.entries(FILES))
    fs.writeFileSync(path.join(folder, name), JSON.stringify(value, null, 2))
}

const vote = (correctness: number) => ({
  json: {
    scores: { correctness },
    findings:
      correctness > 4
        ? []
        : [
            {
              dimension: 'correctness',
              classification: correctness > 3 ? 'advisory' : 'warning',
              description: 'It does not say where.',
              evidence: [{ evidence_type: 'artifact_reference', ref: '/text', detail: 'It hails.' }],
            },
          ],
  },
  confidence: 0.9,
})

const says = (text: string, days: number) => ({ json: { text, days }, confidence: 0.9 })

/** Of itself the verifier sees only what contradicts itself; it likes snow best, hail least, and hail for fog. */
const SCRIPT = [
  { agent: 'local.weather.writer', when: { contains: 'rain' }, reply: says('It rains.', 31) },
  { agent: 'local.weather.writer', when: { contains: 'snow' }, reply: says('It snows.', 12) },
  { agent: 'local.weather.writer', reply: says('It hails.', 2) },
  { agent: 'assay.verifier', when: { contains: 'the opposite holds' }, reply: vote(1) },
  { agent: 'assay.verifier', when: { contains: 'Nobody can judge' }, reply: { refuse: true } },
  { agent: 'assay.verifier', when: { contains: 'Write about fog.' }, reply: vote(5) },
  { agent: 'assay.verifier', when: { contains: 'It rains.' }, reply: vote(4) },
  { agent: 'assay.verifier', when: { contains: 'It hails.' }, reply: vote(3) },
  { agent: 'assay.verifier', reply: vote(5) },
]

const position = { workflow_id: 'weather', phase_id: 'write', placement: 'phase_exit' }
const correctness = { dimension: 'correctness', scale: { min: 1, max: 5, type: 'integer' }, pass_threshold: 4 }
const shape = {
  dimension: 'shape',
  scale: { min: 0, max: 1, type: 'integer' },
  pass_threshold: 1,
  probes: [
    {
      type: 'json-schema',
      schema: {
        type: 'object',
        required: ['text', 'days'],
        properties: { text: { type: 'string', minLength: 1 }, days: { type: 'number' } },
      },
    },
  ],
}

/** The gate at that threshold. */
export const at = (pass_threshold: number): JsonObject => ({
  gate_id: 'weather-gate',
  name: 'The weather is right',
  position,
  intent_refs: ['true-weather'],
  evaluation_criteria: [{ ...correctness, pass_threshold }, shape],
  verifier_requirements: {},
  gate_behaviour: { max_attempts: 1, retries: 0 },
})

const node = (id: string, typeId: string, config: object, inputs: object = {}) => ({
  id,
  typeId,
  name: id,
  position: { x: 0, y: 0 },
  config,
  inputs,
})

const workflow = (id: string, nodes: object[]) => ({
  id,
  name: id,
  version: '1',
  nodes,
  edges: [],
  triggers: [],
  variables: [{ name: 'task', type: 'string', defaultValue: 'Write.' }],
  metadata: {},
  settings: {},
})

const write = node(
  'write',
  'core.agent',
  { agentId: 'local.weather.writer' },
  { task: { type: 'variable', variableName: 'task' } },
)

const FILES: { readonly [name: string]: object } = {
  'assay.config.yaml': {
    models: { script: 'script.json' },
    prices: { 'scripted:*': { input: 1, output: 2 } },
  },
  'script.json': SCRIPT,
  'agents/writer.json': {
    agentId: 'local.weather.writer',
    persona: 'Writer',
    modelClass: 'writing',
    systemPrompt: 'You write about the weather.',
    handoff: { returnSchemaRef: 'schemas/report.json' },
  },
  'agents/schemas/report.json': { type: 'object', required: ['text', 'days'] },
  'workflows/weather.json': workflow('weather', [write]),
  'workflows/spare.json': workflow('spare', [write]),
  'workflows/sourced.json': workflow('sourced', [write]),
  /** Judges by what was asked for, which no result says. */
  'gates/sourced.json': {
    name: 'It is what was asked for',
    position: { ...position, workflow_id: 'sourced' },
    intent_refs: ['true-weather'],
    evaluation_criteria: [correctness],
    verifier_requirements: {},
    context: ['inputs.task'],
    gate_behaviour: { max_attempts: 1, retries: 0 },
  },
  'intents/true-weather.json': {
    type: 'operational',
    title: 'Reports of the weather are true',
    statement: 'It says what the weather was, and for how long.',
  },
  /** Has no probes and asks nobody twice. */
  'gates/asks-only.json': {
    name: 'Somebody likes it',
    position: { ...position, workflow_id: 'spare' },
    intent_refs: ['true-weather'],
    evaluation_criteria: [correctness],
    verifier_requirements: { verifiers: ['local.weather.silent'] },
    gate_behaviour: { max_attempts: 1, retries: 0 },
  },
  'agents/silent.json': {
    agentId: 'local.weather.silent',
    persona: 'Silent',
    modelClass: 'writing',
    systemPrompt: 'You never answer.',
  },
}
