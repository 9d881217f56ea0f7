import { chance } from './choice.js'
import { recall } from './handing-out.js'
import { closeLive, isLive, lose } from './live-agents.js'
import type { SimulatedRun } from './simulated-run.js'
import { CutOff, HANDS_OUT } from './simulated-state.js'
import type { Node } from './workflows.js'

/** A pause, and the end of it. */
export function pause(run: SimulatedRun): void {
  const { choose } = run.world
  run.pauseLeft = false
  const drain = run.fate.pause === 'drain'
  const policy = { drainPolicy: drain ? 'drain-current-node' : 'immediate' }
  if (drain) {
    run.emit('assay.pause.requested', undefined, policy)
    if (drained(run)) return
  }
  if (!drain) for (const node of run.workflow.nodes) cutOff(run, node)
  run.emit('run.paused', undefined, policy)
  run.standing.mode = 'paused'
  run.standing.status = 'paused'
  if (run.fate.end === 'cut' && chance(choose, 2)) throw new CutOff()
  for (const node of run.workflow.nodes) {
    const state = run.state(node.id)
    if (drain || state.phase !== 'running' || isLive(node)) continue
    // A host may let the wait for a child go on, or start it again when there is no child yet.
    const untouched = state.handoff?.workers.every(({ phase }) => phase === 'waiting' || phase === 'began')
    if (state.handoff === undefined || (untouched && chance(choose, 2))) state.phase = 'interrupted'
  }
  run.remember()
  run.emit('run.resumed', undefined, {})
  run.standing.mode = 'running'
  run.standing.status = 'running'
}

/** An agent goes on from its latest round; the call it is in is made again. */
function cutOff(run: SimulatedRun, node: Node): void {
  const state = run.state(node.id)
  const { live, phase } = state
  if (phase === 'running' && live?.now === 'thinking') lose(run, node, state, live)
}

/** Lets the nodes that are at work settle; true when the run ended by that. */
function drained(run: SimulatedRun): boolean {
  for (const node of run.workflow.nodes) {
    const state = run.state(node.id)
    // Waiting for a child may take days, so it does not hold up a pause.
    while (state.phase === 'running' && !HANDS_OUT.includes(node.typeId) && state.live?.now !== 'between') {
      run.advance(node, state)
      if (run.hasEnded()) return true
    }
  }
  return false
}

export function cancel(run: SimulatedRun, reason: string, parentRunId: string | undefined): void {
  const payload = { reason, ...(parentRunId === undefined ? { cancelledBy: 'someone' } : { parentRunId }) }
  run.standing.mode = 'cancelling'
  stop(run, { outcome: 'cancelled', ...payload })
  run.end('cancelled', payload)
}

export function timeOut(run: SimulatedRun): void {
  const error = { code: 'run_timeout', message: 'took too long' }
  breach(run, error, { kind: 'run-duration', limit: 5, observed: 6 + run.world.choose(9) })
}

export function exceedExecutions(run: SimulatedRun, nodeId: string): void {
  const error = { code: 'recursion_limit_exceeded', message: 'too many executions' }
  const { limit, executions } = run.standing
  breach(run, error, { kind: 'node-executions', limit, observed: executions + 1, nodeId })
}

export function exceedTurns(run: SimulatedRun, nodeId: string, limit: number, turns: number): void {
  const error = { code: 'loop_limit_exceeded', message: 'too many turns' }
  breach(run, error, { kind: 'loop-iterations', limit, observed: turns + 1, nodeId })
}

export function breach(
  run: SimulatedRun,
  error: object,
  told: { readonly nodeId?: string; readonly [field: string]: unknown },
): void {
  const failed = told.nodeId === undefined ? {} : { failedNodeId: told.nodeId }
  stop(run, { outcome: 'failed', error, ...failed, breach: told })
  run.emit('cap.breached', undefined, told)
  run.end('failed', { error, ...failed })
}

/** Nothing new from here on: children are cancelled, open nodes too. */
export function stop(run: SimulatedRun, payload: object): void {
  run.emit('assay.stop.requested', undefined, payload)
  cancelOpen(run)
}

export function cancelOpen(run: SimulatedRun): void {
  for (const node of run.workflow.nodes) {
    const state = run.state(node.id)
    if (!['running', 'suspended', 'retrying', 'interrupted'].includes(state.phase)) continue
    if (state.handoff !== undefined) recall(run, node, state.handoff)
    if (state.live !== undefined) closeLive(run, node, state, 'failed', state.live.started)
    run.settle(node.id, 'cancelled', { nodeId: node.id, reason: 'the run is stopping' })
  }
}
