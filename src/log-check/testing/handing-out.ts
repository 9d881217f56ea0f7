import type { Heard } from './asking-nodes.js'
import { ask } from './asking-nodes.js'
import { isBounded, left, shareOf, spend } from './budgeting.js'
import { chance, pick } from './choice.js'
import type { SimulatedRun } from './simulated-run.js'
import type { Fate, Handoff, NodeState, Worker } from './simulated-state.js'
import type { Node, Workflow } from './workflows.js'

/** A workflow that does not exist. */
export const NOBODY = 'nobody'

const CHECKSUM = { checksum: 'c0'.repeat(32), algorithm: 'sha256' }

/** A node that has started has work to hand out: what was decided, or what its workflow says. */
export function handOut(run: SimulatedRun, node: Node, state: NodeState): void {
  const supervisor = run.supervisor()
  const decided = supervisor?.state.decision?.nextWorkerIds as string[] | undefined
  const isDispatch = node.typeId === 'core.dispatch'
  const workers = isDispatch ? (decided ?? []) : [String(node.config.workflowId)]
  state.handoff = {
    workers: workers.map((workerId): Worker => ({ workerId, phase: 'waiting', beganAt: 0, last: 0, status: 'failed' })),
    parallel: node.config.fanOutPolicy === 'parallel',
    cause: isDispatch ? (supervisor?.state.decidedAt ?? 0) : state.startedAt,
  }
}

/** One step of one worker. */
export function advanceWork(run: SimulatedRun, node: Node, state: NodeState, handoff: Handoff): void {
  const { workers, parallel } = handoff
  const open = workers.find(worker => worker.phase !== 'done')
  if (open === undefined) return finish(run, node, state, workers)
  if (!parallel) step(run, node, state, open)
  else if (open.phase === 'waiting') for (const worker of workers) step(run, node, state, worker)
  else {
    const next = workers.find(worker => worker.phase === 'began')
    const busy = workers.filter(worker => worker.phase === 'running' || worker === next)
    step(run, node, state, pick(run.world.choose, busy))
  }
  if (state.phase !== 'suspended') mergeDue(run, node, state)
}

/** What has been brought is merged at once, in order, as far as nobody must be asked. */
function mergeDue(run: SimulatedRun, node: Node, state: NodeState): void {
  const open = state.handoff?.workers.find(worker => worker.phase !== 'done')
  if (open?.phase !== 'ended') return
  collect(run, node, state, open)
  if (state.phase !== 'suspended') mergeDue(run, node, state)
}

function step(run: SimulatedRun, node: Node, state: NodeState, worker: Worker): void {
  const { cause } = state.handoff as Handoff
  if (worker.phase === 'waiting') {
    const { workers, parallel } = state.handoff as Handoff
    const beginners = parallel ? workers.filter(({ phase }) => phase === 'waiting').length : 1
    if (isBounded(run.standing.purse.budget)) worker.grant = shareOf(left(run), beginners)
    const secret = worker.grant === undefined ? undefined : { inputs: {}, unset: [], grant: worker.grant }
    tell(run, node, worker, 'dispatch.began', {}, cause, secret)
    worker.phase = 'began'
    worker.beganAt = worker.last
  } else if (worker.phase === 'began') begin(run, node, worker, cause)
  else follow(run, node, worker, worker.child as SimulatedRun)
}

/** A step of the chain, caused by the one before. */
function tell(
  run: SimulatedRun,
  node: Node,
  worker: Worker,
  phase: string,
  more: object,
  cause = worker.last,
  secret?: object,
): void {
  const { workerId, childRunId } = worker
  const child = childRunId === undefined ? {} : { childRunId }
  const payload = { phase, workerId, parentRunId: run.runId, ...child, ...more }
  worker.last = run.emit('core.workflowChain.event', node.id, payload, { cause, secret })
}

const failure = (code: string): object => ({ error: { code, error: code, message: 'it did not work' } })

function begin(run: SimulatedRun, node: Node, worker: Worker, cause: number): void {
  const { choose } = run.world
  if (worker.workerId === NOBODY || chance(choose, 8)) {
    tell(run, node, worker, 'dispatch.failed', failure('unknown_child_workflow'))
    worker.phase = 'done'
    return
  }
  const childRunId = `run_${run.world.ids}`
  const dispatched = { childRunId, childWorkflowId: worker.workerId }
  const event = run.idOf(run.emit('node.dispatched', node.id, dispatched, { cause }))
  const ends = ['own', 'own', 'own', 'own', 'cancelled', 'executions', 'duration'] as const
  const fate: Fate = { end: pick(choose, ends), pause: pick(choose, ['none', 'none', 'immediate']) }
  const workflow = { ...(run.childWorkflow as Workflow), id: worker.workerId }
  worker.child = run.spawn(workflow, fate, {
    runId: run.runId,
    nodeId: node.id,
    at: run.at,
    event,
    grant: worker.grant,
  })
  worker.childRunId = childRunId
  if (node.typeId === 'core.dispatch' && chance(choose, 4)) {
    const handover = { fromAgentId: 'host:one', toAgentId: 'host:two', reason: 'dispatch' }
    run.emit('agent.handoff', node.id, handover, { cause })
  }
  tell(run, node, worker, 'dispatch.succeeded', {})
  worker.phase = 'running'
}

function follow(run: SimulatedRun, node: Node, worker: Worker, child: SimulatedRun): void {
  const ended = child.work()
  run.at = Math.max(run.at, child.at)
  if (ended) return end(run, node, worker, child)
  const waits = child.waiting()
  if (waits === worker.mirrored) return
  if (waits === undefined) delete worker.mirrored
  else worker.mirrored = waits
  const status = { nodeId: node.id, childRunId: child.runId, status: waits ?? 'running' }
  run.emit('assay.child.status', node.id, status, { cause: worker.last })
}

/** The child has ended; what it brought is still to be merged. */
function end(run: SimulatedRun, node: Node, worker: Worker, child: SimulatedRun): void {
  worker.status = child.standing.status as Worker['status']
  delete worker.mirrored
  const { spent } = child.standing.purse
  const told = worker.status === 'completed' ? {} : failure('child_ended')
  tell(run, node, worker, `child.${worker.status}`, told, worker.last, { spent: { ...spent } })
  const wanted = worker.status === 'completed' && (namesFor(node, worker).length > 0 || isGuarded(node))
  worker.phase = wanted ? 'ended' : 'done'
  spend(run, spent, worker.last)
}

const namesFor = ({ config }: Node, { workerId }: Worker): string[] => {
  const own = (config.perWorkerOutputMappings as Record<string, object> | undefined)?.[workerId]
  return Object.keys(own ?? (config.outputMapping as object | undefined) ?? {})
}

const isGuarded = ({ config }: Node): boolean =>
  (config.outputAttestation as { requireApproval?: boolean } | undefined)?.requireApproval === true

function collect(run: SimulatedRun, node: Node, state: NodeState, worker: Worker): void {
  const isDispatch = node.typeId === 'core.dispatch'
  const names = namesFor(node, worker)
  if (!isGuarded(node)) return merge(run, node, state, worker)
  if (!isDispatch && names.length > 0) harvest(run, node, worker, names)
  const actions = ['accept', 'reject', 'edit-accept']
  const data = { artifactId: 'outputs', artifactType: 'json', title: 'Merge?', actions, edits: [{ result: 2 }] }
  ask(run, node, state, { kind: 'approval', data })
}

/** Someone has looked at what a worker brought. */
export function mergeAnswered(run: SimulatedRun, node: Node, state: NodeState, { rejected }: Heard): void {
  const worker = state.handoff?.workers.find(({ phase }) => phase === 'ended') as Worker
  if (!rejected) merge(run, node, state, worker)
  else {
    worker.status = 'failed'
    worker.phase = 'done'
  }
  if (node.typeId === 'core.subWorkflow') finish(run, node, state, [worker])
  else mergeDue(run, node, state)
}

function merge(run: SimulatedRun, node: Node, state: NodeState, worker: Worker): void {
  const { cause } = state.handoff as Handoff
  const names = namesFor(node, worker).filter(() => !chance(run.world.choose, 4))
  for (const name of names) run.changeVariable(node, name, cause)
  const told = node.typeId === 'core.subWorkflow' && isGuarded(node)
  if (!told && namesFor(node, worker).length > 0) harvest(run, node, worker, names)
  worker.phase = 'done'
}

function harvest(run: SimulatedRun, node: Node, worker: Worker, harvestedKeys: readonly string[]): void {
  const attested = node.config.outputAttestation === undefined ? {} : { attestation: CHECKSUM }
  tell(run, node, worker, 'output.harvested', { harvestedKeys, ...attested })
}

function finish(run: SimulatedRun, node: Node, state: NodeState, workers: readonly Worker[]): void {
  const { cause } = state.handoff as Handoff
  const last = workers.at(-1)
  const child = last?.childRunId === undefined ? {} : { childRunId: last.childRunId }
  const outputs = { ...child, childStatus: last?.status }
  if (node.typeId === 'core.dispatch') {
    const told = workers.map(({ workerId, status, childRunId }) => ({
      workerId,
      status,
      ...(childRunId && { childRunId }),
    }))
    return run.complete(node, { ...outputs, workers: told }, cause)
  }
  const absorbed = node.config.onChildFailure === 'absorb' && last?.childRunId !== undefined
  // What was refused is the child's no longer.
  const { status } = last?.child?.standing ?? { status: last?.status }
  if (last?.status === 'completed' || absorbed) return run.complete(node, { ...outputs, childStatus: status }, cause)
  run.fail(node.id, state, { code: 'child_failed', message: 'the child failed' }, false)
}

/** The run stops: its children do too, and each tells how. */
export function recall(run: SimulatedRun, node: Node, { workers }: Handoff): void {
  for (const worker of workers) {
    const { child } = worker
    if (worker.phase !== 'running' || child === undefined) continue
    if (child.standing.mode !== 'ended') child.cancel('parent-cancelled', run.runId)
    run.at = Math.max(run.at, child.at)
    end(run, node, worker, child)
  }
}
