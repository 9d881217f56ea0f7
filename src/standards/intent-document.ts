import type { Json } from '../core/json.js'
import { Closed, DistinctBy, ListOf, May, OneOf, Text } from '../core/schema/kinds.js'
import { type Document, readAs } from '../core/schema/problems.js'
import type { Intent } from '../core/verification/gate.js'
import { CriterionKey, StandardId, WorkName } from './names.js'

const SuccessCriterion = Closed({
  key: CriterionKey({ description: 'What it is called in the record' }),
  description: Text(4_000, { description: 'What must be so' }),
})

export const IntentSchema = Closed({
  intent_id: StandardId({ description: 'What gates name it by' }),
  type: OneOf(['strategic', 'operational', 'constraint'], {
    description: 'What it is for. A constraint holds for every gate of its workflows, whether named there or not',
  }),
  title: Text(256, { description: 'What it is called' }),
  statement: Text(16_384, { description: 'What is wanted; verifiers read it' }),
  success_criteria: May(
    DistinctBy(
      ListOf(SuccessCriterion, 0, 50, { description: 'How it is told that it was reached', default: [] }),
      one => (one as { readonly key: string }).key,
    ),
  ),
  workflow_ids: May(
    DistinctBy(
      ListOf(WorkName(), 1, 50, { description: 'The workflows that a constraint holds for; all where left out' }),
      id => id,
    ),
  ),
})

/** What work is measured by, completed; or all that is wrong with it. */
export const completeIntent = (document: Json): Document<Intent> =>
  readAs<Intent>(IntentSchema, document, placeProblems)

const placeProblems = ({ type, workflow_ids }: Intent): string[] =>
  workflow_ids === undefined || type === 'constraint'
    ? []
    : [
        `workflow_ids says where a constraint holds, and this is ${type}; remove it, and name the intent in a gate's intent_refs`,
      ]
