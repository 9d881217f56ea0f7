import type { InvocationState } from './state.js'
import { present } from '../present.js'
import type { EffectOutcome } from '../run/input.js'
import type { PlanNode } from '../workflow/plan.js'
import { nodeAt } from '../run/state.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { OnAgent } from '../run/waiting.js'

export type OutcomeOf<Type extends EffectOutcome['type']> = Extract<EffectOutcome, { type: Type }>

/** The node, while its agent is at work and has not come to a result. */
export function working(context: DecisionContext, { index }: PlanNode): OnAgent | undefined {
  const node = context.state.phase === 'active' ? nodeAt(context.state, index) : undefined
  return node?.is === 'waiting' && node.on === 'agent' ? node : undefined
}

/** The same, where nothing has happened since that could have ended the work. */
export const stillWorking = (context: DecisionContext, planNode: PlanNode): OnAgent =>
  present(working(context, planNode), `agent at work in node "${planNode.node.id}"`)

/** What led to where the agent is: the cause of what it does next. */
export const ledTo = ({ now, started }: InvocationState): number => (now.is === 'between' ? now.cause : started)
