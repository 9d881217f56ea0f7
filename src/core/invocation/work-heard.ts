import { journalUsed } from '../journal/decide.js'
import { divergeAtRefusal } from '../replay/refusal.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { EffectOutcome } from '../run/input.js'
import type { PlanNode } from '../workflow/plan.js'
import { briefed } from './decide.js'
import { effectAnswered } from './effect-answered.js'
import { modelAnswered, modelLost, modelReasoned } from './model-call.js'
import { toolAnswered } from './tool-call.js'

type OfWork =
  | 'AgentBriefed'
  | 'ModelReasoned'
  | 'ModelAnswered'
  | 'ModelLost'
  | 'ToolAnswered'
  | 'EffectAnswered'
  | 'JournalUsed'
  | 'RefusalDiverged'

/** What an agent's work, an effect or a look into the journal has brought. */
export function workHeard(
  context: DecisionContext,
  planNode: PlanNode,
  input: Extract<EffectOutcome, { type: OfWork }>,
): void {
  switch (input.type) {
    case 'AgentBriefed':
      return briefed(context, planNode, input)
    case 'ModelReasoned':
      return modelReasoned(context, planNode, input)
    case 'ModelAnswered':
      return modelAnswered(context, planNode, input)
    case 'ModelLost':
      return modelLost(context, planNode, input)
    case 'ToolAnswered':
      return toolAnswered(context, planNode, input)
    case 'EffectAnswered':
      return effectAnswered(context, planNode, input)
    case 'JournalUsed':
      return journalUsed(context, planNode, input)
    case 'RefusalDiverged':
      return divergeAtRefusal(context, planNode, input.told)
  }
}
