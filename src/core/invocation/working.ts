import type { InvocationState } from './state.js'
import { present } from '../present.js'
import type { Outcome } from '../run/input.js'
import type { PlanNode } from '../workflow/plan.js'
import { nodeAt } from '../run/state.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { OnAgent } from '../run/waiting.js'

export type Heard<Type extends Outcome['type']> = Extract<Outcome, { type: Type }>

/** The node, while its agent is at work and has not come to a result. */
export function working(turn: DecisionContext, { index }: PlanNode): OnAgent | undefined {
  const node = turn.state.phase === 'active' ? nodeAt(turn.state, index) : undefined
  return node?.is === 'waiting' && node.on === 'agent' ? node : undefined
}

/** The same, where nothing has happened since that could have ended the work. */
export const stillWorking = (turn: DecisionContext, planNode: PlanNode): OnAgent =>
  present(working(turn, planNode), `agent at work in node "${planNode.node.id}"`)

/** What led to where the agent is: the cause of what it does next. */
export const ledTo = ({ now, started }: InvocationState): number => (now.is === 'between' ? now.cause : started)
