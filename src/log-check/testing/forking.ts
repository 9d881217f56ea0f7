import type { CheckedEvent, CheckedFork } from '../checked.js'
import { chance, pick } from './choice.js'
import type { SimulatedRun } from './simulated-run.js'
import type { Moment, Worker } from './simulated-state.js'
import { cancelOpen } from './stopping.js'

/** Takes over the source's log as far as it is told, and where things stood there. */
export function adopt(run: SimulatedRun, source: SimulatedRun, { mode, fromSeq }: CheckedFork, told: Moment): void {
  const idOf = new Map(source.events.map(event => [event.eventId, run.idOf(event.sequence)]))
  for (const event of source.events.slice(0, told.length)) {
    const { payload, eventId = '', causationId } = event
    const own = mode === 'replay' && event.sequence >= fromSeq && event.type === 'interrupt.requested'
    run.events.push({
      ...event,
      eventId: String(idOf.get(eventId)),
      causationId: idOf.get(causationId ?? '') ?? causationId ?? null,
      payload: own ? { ...(payload as object), runId: run.runId } : payload,
      epoch: run.epoch,
    })
  }
  run.at = run.events.at(-1)?.at ?? run.at
  run.moments.push(...source.moments.filter(moment => moment.length <= told.length))
  const { standing, nodes } = structuredClone(told)
  run.standing = standing
  for (const [id, state] of nodes) run.nodes.set(id, state)
}

/** The first own event of a branch. Time stood still for what it waits for; it may be given other bounds. */
export function branchOff(run: SimulatedRun, { sourceRunId, fromSeq }: CheckedFork): void {
  const { choose } = run.world
  const { standing } = run
  if (run.hasEnded()) return
  const before = run.at
  const limit = pick(choose, [undefined, undefined, 100, 1 + choose(9)])
  const turnLimit = pick(choose, [undefined, undefined, 100, 1 + choose(3)])
  standing.limit = limit ?? standing.limit
  standing.turnLimit = turnLimit ?? standing.turnLimit
  const configurable = {
    ...(limit === undefined ? {} : { recursionLimit: limit }),
    ...(turnLimit === undefined ? {} : { maxLoopIterations: turnLimit }),
  }
  const overlay = (limit ?? turnLimit) === undefined ? {} : { configurable }
  run.emit('assay.run.forked', undefined, { sourceRunId, fromSeq, ...overlay })
  for (const state of run.nodes.values()) {
    if (state.asked?.dueAt !== undefined) state.asked.dueAt += run.at - before
    for (const worker of state.handoff?.workers ?? []) startOver(worker)
  }
  standing.mode = 'running'
  standing.status = 'running'
}

/** The children of its source are not the branch's own: it has them started again. */
function startOver(worker: Worker): void {
  if (worker.phase !== 'running') return
  worker.phase = 'began'
  worker.last = worker.beganAt
  delete worker.childRunId
  delete worker.mirrored
}

/** A replay differs from its source here: the node that is at work fails, for nothing is known of its end. */
export function diverge(run: SimulatedRun, original: CheckedEvent, sourceRunId: string): void {
  const atSequence = run.events.length
  const nodeId = atWork(run)
  // A source that missed its own source here says just that.
  if (nodeId === undefined || JSON.stringify(original.payload).includes('replay_source_missing')) return
  // An agent that is cut off may say just what it said there.
  if (original.nodeId === nodeId && ['assay.model.lost', 'agent.invocation.completed'].includes(original.type)) return
  const alike = original.type === 'node.failed' && original.nodeId === nodeId
  run.emit('replay.diverged', undefined, {
    sourceRunId,
    atSequence,
    originalEventId: original.eventId,
    replayEventId: run.idOf(atSequence + 1),
    divergenceKind: alike ? 'output' : 'type-mismatch',
    divergencePoint: original.type,
  })
  missSource(run)
}

/** Nothing is recorded of what the run waits for. */
export function missSource(run: SimulatedRun): void {
  const nodeId = atWork(run)
  if (nodeId === undefined) return
  const error = { code: 'replay_source_missing', message: 'nothing is recorded here' }
  run.fail(nodeId, run.state(nodeId), error, false)
}

const atWork = (run: SimulatedRun): string | undefined =>
  run.workflow.nodes.find(({ id }) => ['running', 'suspended'].includes(run.state(id).phase))?.id

/** A replay is stopped, or given up by its host. It has no children to wait for. */
export function breakOff(run: SimulatedRun): void {
  cancelOpen(run)
  if (chance(run.world.choose, 2)) return run.end('cancelled', { reason: 'enough', cancelledBy: 'someone' })
  run.end('failed', { error: { code: 'run_quarantined', message: 'given up' } })
}
