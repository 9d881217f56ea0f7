import { timeOut } from '../interrupt/decide.js'
import { failure } from '../problem.js'
import { resumeGate } from '../verification/decide.js'
import { type PlanNode, planNodeAt } from '../workflow/plan.js'
import type { Rules } from './decide.js'
import type { DecisionContext } from './decision-context.js'
import { nodeDueAt } from './limits.js'
import { beginNode, failAttempt, settleNode } from './node-lifecycle.js'
import { advance } from './schedule.js'
import { nodeAt } from './state.js'
import { questionOf, type Waiting } from './waiting.js'

/**
 * Timers, node timeouts and retries whose time has come, one by one in the order they fell due, each with what follows
 * from it: a host that was down for a while tells the same story as one that was not.
 */
export function timeCame(rules: Rules, context: DecisionContext): void {
  for (let due = firstDue(context); due !== undefined && !context.isFull; due = firstDue(context)) {
    const planNode = planNodeAt(context.plan, due)
    const node = nodeAt(context.active, due)
    if (node.is === 'retrying') beginNode(context, planNode, node.attempt, node.since, rules.capabilities)
    else if (node.is === 'waiting') fallDue(context, planNode, node)
    advance(context, rules.capabilities)
  }
}

/** The time of a node that waits has come: to be answered, to be judged again, to go on, or to give up. */
function fallDue(context: DecisionContext, planNode: PlanNode, node: Waiting): void {
  const asked = questionOf(node)
  if (asked) return timeOut(context, planNode, asked)
  if (node.on === 'workers' || node.on === 'gate') return resumeGate(context, planNode, node)
  if (node.wait.kind === 'timer' && !timesOut(planNode, node.wait.ms))
    return settleNode(context, planNode, node.wait, { kind: 'timer' }, node.since)
  const message = `the node may take ${planNode.timeoutMs} ms; raise settings.timeoutMs if it needs longer`
  const details = { limitMs: planNode.timeoutMs }
  failAttempt(context, planNode, failure('node_timeout', message, { details }), node.since)
}

/** Whether a wait of that length would be cut short, however late we look. */
const timesOut = ({ timeoutMs }: PlanNode, ms: number): boolean => timeoutMs > 0 && ms > timeoutMs

/** The open node that fell due first. */
function firstDue(context: DecisionContext): number | undefined {
  if (context.state.phase !== 'active' || context.state.mode.kind === 'stopping') return undefined
  let first: { index: number; at: number } | undefined
  for (const index of context.state.open) {
    const at = nodeDueAt(planNodeAt(context.plan, index), nodeAt(context.state, index), context.isRunning)
    if (at <= context.at && (first === undefined || at < first.at)) first = { index, at }
  }
  return first?.index
}
