import type { InvocationState } from '../agent/invocation.js'
import type { Invoking } from './event.js'
import type { Outcome } from './input.js'
import type { PlanNode } from './plan.js'
import type { NodeState, Paid } from './state.js'
import type { Turn } from './turn.js'

export type Heard<Type extends Outcome['type']> = Extract<Outcome, { type: Type }>

export type Waiting = Extract<NodeState, { is: 'waiting' }>

/** A node whose agent is at work. */
export type Working = Waiting & { readonly wait: Invoking; readonly invocation: InvocationState }

/** The node, while its agent is at work. */
export function working(turn: Turn, { index }: PlanNode): Working | undefined {
  const node = turn.state.phase === 'active' ? turn.active.nodes[index]! : undefined
  return node?.is === 'waiting' && node.wait.kind === 'agent' && node.invocation ? (node as Working) : undefined
}

/** What led to where the agent is: the cause of what it does next. */
export const ledTo = ({ now, started }: InvocationState): number => (now.is === 'between' ? now.cause : started)

export const NOTHING_PAID: Paid = { calls: 0, uses: 0 }
