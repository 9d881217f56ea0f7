import { leave } from './complete.js'
import { startNode } from './node-lifecycle.js'
import { readiness, TOLERANT } from './graph.js'
import { moveOf, proceed } from '../handoff/decide.js'
import { invocationMove, proceedInvocation } from '../invocation/decide.js'
import { type PlanNode, planNodeAt } from '../workflow/plan.js'
import { type Active, nodeAt } from './state.js'
import { stop } from './stop.js'
import type { DecisionContext } from './decision-context.js'
import { gateMove, proceedGate } from '../verification/decide.js'

/** Starts and skips every node whose turn has come, and ends the run when nothing is left to come. */
export function advance(turn: DecisionContext, capabilities: ReadonlySet<string>): void {
  let moved = true
  while (moved && turn.isRunning && !turn.isFull) {
    moved = handOver(turn) || verify(turn) || invoke(turn)
    if (!turn.isRunning) break
    for (const index of turn.active.touched) {
      const ready = readiness(turn.plan, turn.active, index)
      if (ready.is === 'wait') continue
      const planNode = planNodeAt(turn.plan, index)
      if (ready.is === 'start') {
        startNode(turn, planNode, 0, ready.cause, capabilities)
        if (planNode.type.hands) proceed(turn, planNode)
      } else {
        const nodeId = planNode.node.id
        turn.emit({ type: 'node.skipped', nodeId, payload: { nodeId, reason: ready.reason }, cause: ready.cause })
      }
      moved = true
      if (!turn.isRunning || turn.isFull) break
    }
  }
  if (turn.isRunning && isQuiet(turn)) finish(turn)
  if (turn.state.phase === 'active' && turn.state.mode.kind === 'pausing' && !isBusy(turn.state)) {
    const { drainPolicy, reason } = turn.state.mode
    turn.emit({ type: 'run.paused', payload: { drainPolicy, ...(reason === undefined ? {} : { reason }) } })
  }
}

/** Moves on the nodes that hand work over; says whether there was one. */
function handOver(turn: DecisionContext): boolean {
  const index = turn.active.open.find(open => moveOf(turn, turn.active, open) !== undefined)
  if (index === undefined) return false
  proceed(turn, planNodeAt(turn.plan, index))
  return true
}

/** Moves on the gates that can be; says whether there was one. */
function verify(turn: DecisionContext): boolean {
  if (!turn.isRunning || !turn.active.gated) return false
  const index = turn.active.open.find(open => canVerify(turn, turn.active, open))
  if (index === undefined) return false
  proceedGate(turn, planNodeAt(turn.plan, index))
  return true
}

const canVerify = ({ plan }: Pick<DecisionContext, 'plan'>, state: Active, index: number): boolean =>
  gateMove(state, planNodeAt(plan, index), nodeAt(state, index)) !== undefined

/** Moves on the agents that can be; says whether there was one. */
function invoke(turn: DecisionContext): boolean {
  const index = turn.isRunning
    ? turn.active.open.find(open => invocationMove(turn.active, open) !== undefined)
    : undefined
  if (index === undefined) return false
  proceedInvocation(turn, planNodeAt(turn.plan, index))
  return true
}

/** True when a later decision could start, skip or hand over something at once. */
export const hasReadyNodes = (turn: Pick<DecisionContext, 'plan'>, state: Active): boolean =>
  state.mode.kind === 'running' &&
  (state.touched.some(index => readiness(turn.plan, state, index).is !== 'wait') ||
    state.open.some(
      index =>
        moveOf(turn, state, index) !== undefined ||
        invocationMove(state, index) !== undefined ||
        canVerify(turn, state, index),
    ))

const isQuiet = (turn: DecisionContext): boolean => turn.active.open.length === 0 && !hasReadyNodes(turn, turn.active)

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

function finish(turn: DecisionContext): void {
  const unhandled = turn.plan.nodes.find(planNode => isUnhandledFailure(turn, planNode))
  const failed = unhandled && nodeAt(turn.active, unhandled.index)
  if (unhandled && failed?.is === 'failed')
    return stop(turn, { outcome: 'failed', error: failed.error, failedNodeId: unhandled.node.id })
  leave(turn)
}

/** A failure is handled when a node behind a tolerant edge ran because of, or in spite of, it. */
const isUnhandledFailure = (turn: DecisionContext, { index, outbound }: PlanNode): boolean =>
  nodeAt(turn.active, index).is === 'failed' &&
  !outbound.some(
    edge => TOLERANT.has(edge.rule) && ['completed', 'failed'].includes(nodeAt(turn.active, edge.target).is),
  )
