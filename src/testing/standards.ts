import type { JsonObject } from '../core/json.js'

/** A gate document of the few facts a test is about; what is not said is as short as it may be. */
export const gateDocument = (more: JsonObject = {}): JsonObject => ({
  gate_id: 'report-gate',
  name: 'The report is right',
  position: { workflow_id: 'newsroom', phase_id: 'write', placement: 'phase_exit' },
  intent_refs: ['true-reports'],
  evaluation_criteria: [{ dimension: 'correctness', scale: { min: 1, max: 5, type: 'integer' }, pass_threshold: 4 }],
  verifier_requirements: {},
  gate_behaviour: {},
  ...more,
})

export const intentDocument = (more: JsonObject = {}): JsonObject => ({
  intent_id: 'true-reports',
  type: 'operational',
  title: 'Reports are true',
  statement: 'Every claim of a report has a source that says the same.',
  ...more,
})

export const knowledgeDocument = (more: JsonObject = {}): JsonObject => ({
  entry_id: 'house-style',
  title: 'House style',
  text: 'Short sentences. No adjectives that cannot be checked.',
  ...more,
})
