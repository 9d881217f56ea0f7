import { handoffMove, proceedHandoff } from '../handoff/decide.js'
import { invocationMove, proceedInvocation } from '../invocation/decide.js'
import { Meter, OVER_BUDGET } from '../meter.js'
import { failure } from '../problem.js'
import { gateMove, proceedGate } from '../verification/decide.js'
import { WORK_LIMITS } from '../work-limits.js'
import { type PlanNode, planNodeAt } from '../workflow/plan.js'
import { leave } from './complete.js'
import type { DecisionContext, RunLimits } from './decision-context.js'
import type { StopRequested } from './events.js'
import { type Readiness, readiness, TOLERANT } from './graph.js'
import { beginNode } from './node-lifecycle.js'
import { type Active, nodeAt } from './state.js'
import { stop } from './stop.js'

/** Starts and skips every node whose turn has come, and ends the run when nothing is left to come. */
export function advance(context: DecisionContext, capabilities: ReadonlySet<string>): void {
  let moved = true
  while (moved && context.isRunning && !context.isFull) {
    moved = handOver(context) || verify(context) || invoke(context)
    if (!context.isRunning) break
    for (const index of context.active.touched) {
      const planNode = planNodeAt(context.plan, index)
      const ready = looked(context, planNode)
      if (ready === undefined) return
      if (ready.is === 'wait') {
        // Looking in vain counts, too; and a decision that comes to nothing else would be owed for ever.
        if (!context.isFull) continue
        if (context.length === 0) stop(context, tooMuchToLookAt(context, planNode))
        break
      }
      context.beginStep()
      if (ready.is === 'start') {
        beginNode(context, planNode, 0, ready.cause, capabilities)
        if (planNode.type.hands) proceedHandoff(context, planNode)
      } else {
        const nodeId = planNode.node.id
        context.emit({ type: 'node.skipped', nodeId, payload: { nodeId, reason: ready.reason }, cause: ready.cause })
      }
      moved = true
      if (!context.isRunning || context.isFull) break
    }
  }
  if (context.isRunning && isQuiet(context)) finish(context)
  if (context.state.phase === 'active' && context.state.mode.kind === 'pausing' && !isBusy(context.state)) {
    const { drainPolicy, reason } = context.state.mode
    context.emit({ type: 'run.paused', payload: { drainPolicy, ...(reason === undefined ? {} : { reason }) } })
  }
}

/** Whether a node's turn has come, as a step of its own; undefined when the run has stopped because that takes too much. */
function looked(context: DecisionContext, planNode: PlanNode): Readiness | undefined {
  const meter = context.beginStep()
  try {
    return readiness(context.plan, context.active, planNode.index, meter)
  } catch (error) {
    if (error !== OVER_BUDGET) throw error
    stop(context, tooMuchToLookAt(context, planNode))
    return undefined
  }
}

function tooMuchToLookAt({ worked }: DecisionContext, { node }: PlanNode): StopRequested {
  const message = `whether node "${node.id}" may start, and those looked at before it, takes more than ${Math.floor(worked)} steps over this data; let the conditions of its edges ask less, or of less data`
  return {
    outcome: 'failed',
    error: failure('step_budget_exceeded', message, { retryable: false }),
    failedNodeId: node.id,
  }
}

/** Moves on the nodes that hand work over; says whether there was one. */
function handOver(context: DecisionContext): boolean {
  const index = context.active.open.find(open => handoffMove(context, context.active, open) !== undefined)
  if (index === undefined) return false
  proceedHandoff(context, planNodeAt(context.plan, index))
  return true
}

/** Moves on the gates that can be; says whether there was one. */
function verify(context: DecisionContext): boolean {
  if (!context.isRunning || !context.active.gated) return false
  const index = context.active.open.find(open => canVerify(context, context.active, open))
  if (index === undefined) return false
  proceedGate(context, planNodeAt(context.plan, index))
  return true
}

const canVerify = ({ plan }: Pick<DecisionContext, 'plan'>, state: Active, index: number): boolean =>
  gateMove(state, planNodeAt(plan, index), nodeAt(state, index)) !== undefined

/** Moves on the agents that can be; says whether there was one. */
function invoke(context: DecisionContext): boolean {
  const index = context.isRunning
    ? context.active.open.find(open => invocationMove(context.active, open) !== undefined)
    : undefined
  if (index === undefined) return false
  proceedInvocation(context, planNodeAt(context.plan, index))
  return true
}

/** What there is to look at: the plan, and how much of it may be looked at. */
export type Outlook = Pick<DecisionContext, 'plan'> & { readonly limits?: Pick<RunLimits, 'work'> }

/**
 * True when a later decision could start, skip or hand over something at once; also when to find that out takes more than
 * a decision may, which the next one will say. A state never changes, so each is looked at once.
 */
export function hasReadyNodes(context: Outlook, state: Active): boolean {
  if (state.mode.kind !== 'running') return false
  const known = readyNodes.get(state)
  if (known !== undefined) return known
  const found = isTurnOfAny(context, state) || canMoveAny(context, state)
  readyNodes.set(state, found)
  return found
}

const readyNodes = new WeakMap<Active, boolean>()

function isTurnOfAny({ plan, limits }: Outlook, state: Active): boolean {
  const { decision } = limits?.work ?? WORK_LIMITS
  const meter = new Meter(decision)
  try {
    return state.touched.some(index => readiness(plan, state, index, meter).is !== 'wait')
  } catch (error) {
    if (error !== OVER_BUDGET) throw error
    return true
  }
}

const canMoveAny = (context: Outlook, state: Active): boolean =>
  state.open.some(
    index =>
      handoffMove(context, state, index) !== undefined ||
      invocationMove(state, index) !== undefined ||
      canVerify(context, state, index),
  )

const isQuiet = (context: DecisionContext): boolean =>
  context.active.open.length === 0 && !hasReadyNodes(context, context.active)

/** Does the host itself have something in hand that a draining pause waits for? */
const isBusy = (state: Active): boolean =>
  state.open.some(index => {
    const node = nodeAt(state, index)
    if (node.is !== 'waiting') return false
    // An agent can rest between two calls as well as any other node between two runs.
    if (node.on === 'agent') return !node.asked && node.invocation.now.is !== 'between'
    // What is being judged can wait as well as what waits for others.
    return node.on === 'host' || node.on === 'brief'
  })

function finish(context: DecisionContext): void {
  const unhandled = context.plan.nodes.find(planNode => isUnhandledFailure(context, planNode))
  const failed = unhandled && nodeAt(context.active, unhandled.index)
  if (unhandled && failed?.is === 'failed')
    return stop(context, { outcome: 'failed', error: failed.error, failedNodeId: unhandled.node.id })
  leave(context)
}

/** A failure is handled when a node behind a tolerant edge ran because of, or in spite of, it. */
const isUnhandledFailure = (context: DecisionContext, { index, outbound }: PlanNode): boolean =>
  nodeAt(context.active, index).is === 'failed' &&
  !outbound.some(
    edge => TOLERANT.has(edge.rule) && ['completed', 'failed'].includes(nodeAt(context.active, edge.target).is),
  )
