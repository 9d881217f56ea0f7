import type { Json } from '../core/json.js'
import type { Intent } from '../core/verification/gate.js'
import { key, standardId, workflowId } from './names.js'
import { distinct, list, may, must, object, oneOf, orElse, type Read, readWhole, refined, text } from './reader.js'

/** What work is measured by, completed; or all that is wrong with it. */
export function completeIntent(
  document: Json,
): { readonly ok: true; readonly intent: Intent } | { readonly ok: false; readonly problems: readonly string[] } {
  const read = readWhole(document, intent)
  return read.ok ? { ok: true, intent: read.value } : read
}

const successCriterion = object({ key: must(key), description: must(text(4_000)) })

const intent: Read<Intent> = refined(
  object({
    intent_id: must(standardId),
    type: must(oneOf('strategic', 'operational', 'constraint')),
    title: must(text(256)),
    statement: must(text(16_384)),
    success_criteria: orElse(
      distinct(list(successCriterion, 0, 50), one => one.key, 'key'),
      [],
    ),
    workflow_ids: may(distinct(list(workflowId, 1, 50), id => id)),
  }),
  (taken, _field, problems) => {
    if (taken.workflow_ids !== undefined && taken.type !== 'constraint')
      problems.push(
        `workflow_ids says where a constraint holds, and this is ${taken.type}; remove it, and name the intent in a gate's intent_refs`,
      )
    return taken
  },
)
