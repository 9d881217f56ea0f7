import { isObject, type Json, type JsonObject, own } from '../json.js'
import { type Failure, failure } from '../problem.js'
import { ask } from './ask.js'
import type { HandoffSecret, HandoffTold } from './event.js'
import { changeVariable, settleNode } from './execute.js'
import type { Outcome } from './input.js'
import { isGated, isToldFirst, mapInputs, termsFor } from './mapping.js'
import { MASK, maskFailure } from './masking.js'
import type { PlanNode } from './plan.js'
import { resultsOf } from './evolve-workers.js'
import type { Active, NodeState, WorkerState } from './state.js'
import type { Turn } from './turn.js'

/**
 * Handing work to workers (contract agents §4). Each transition of each worker is one event whose cause is the
 * transition before it, back to the decision that named the worker. The order depends on the decision and on what the
 * workers do, never on the host: in parallel, too, results are merged in the order of the decision.
 */
type Handing = Extract<NodeState, { is: 'waiting' }> & {
  readonly wait: { readonly kind: 'handoff' }
  readonly workers: readonly WorkerState[]
}

/** The node, while it hands work over. */
function handing(node: NodeState): Handing | undefined {
  return node.is === 'waiting' && node.wait.kind === 'handoff' && node.workers ? (node as Handing) : undefined
}

/** Begins, merges and settles whatever can be now. */
export function proceed(turn: Turn, planNode: PlanNode): void {
  for (let move = turn.isRunning && moveOf(turn.active, planNode.index); move; ) {
    const { node, worker } = move
    const state = worker === undefined ? undefined : node.workers[worker]
    if (worker === undefined) settle(turn, planNode, node)
    else if (state?.is === 'completed') harvest(turn, planNode, node, worker, state)
    else begin(turn, planNode, node, worker)
    move = turn.isRunning && moveOf(turn.active, planNode.index)
  }
}

/** What a node that hands work over can do by itself: with one of its workers, or, with none left, settle. */
export function moveOf({ nodes }: Active, index: number): { node: Handing; worker: number | undefined } | undefined {
  const node = handing(nodes[index]!)
  // While it asks whether to merge, nothing moves but the workers themselves.
  if (!node || node.asked) return undefined
  const first = node.workers.findIndex(worker => worker.is !== 'done')
  if (first < 0) return { node, worker: undefined }
  // R-ORCH-15: one after the other, or as many as there are at once.
  const pending = node.workers.findIndex(worker => worker.is === 'pending')
  if (pending >= 0 && (pending === first || node.wait.policy === 'parallel')) return { node, worker: pending }
  return node.workers[first]!.is === 'completed' ? { node, worker: first } : undefined
}

/** R-ORCH-16: everything that is not a transition of its own is due to the decision. */
const dueTo = ({ wait, since }: Handing): number => wait.decided ?? since

/** R-MAP-6: mapped when the worker's turn has come, from what those before it have left. */
function begin(turn: Turn, planNode: PlanNode, node: Handing, worker: number): void {
  const workerId = node.wait.workers[worker]!
  const { mapped, unset } = mapInputs(termsFor(planNode.node.config, workerId), turn.active.variables)
  const secret = { inputs: { ...node.wait.inputs, ...mapped }, unset }
  tell(turn, planNode, { phase: 'dispatch.began', workerId }, dueTo(node), secret)
}

/** R-HANDOFF-2, R-HANDOFF-3 */
function tell(
  turn: Turn,
  { node: { id } }: PlanNode,
  told: Omit<HandoffTold, 'parentRunId'>,
  cause: number,
  secret?: HandoffSecret,
): void {
  const { phase, workerId, ...more } = told
  turn.emit({
    type: 'core.workflowChain.event',
    nodeId: id,
    payload: { phase, workerId, parentRunId: turn.runId, ...more },
    cause,
    ...(secret ? { secret } : {}),
  })
}

type Heard<Type extends Outcome['type']> = Extract<Outcome, { type: Type }>

/** R-HANDOFF-4, R-ORCH-17: the child is there, with what it was given. */
export function childStarted(turn: Turn, planNode: PlanNode, { worker, childRunId, agentId }: Heard<'ChildStarted'>) {
  const node = handing(turn.active.nodes[planNode.index]!)
  const state = node?.workers[worker]
  if (!node || state?.is !== 'dispatching') return
  const workerId = node.wait.workers[worker]!
  const nodeId = planNode.node.id
  const cause = dueTo(node)
  turn.emit({ type: 'node.dispatched', nodeId, payload: { childRunId, childWorkflowId: workerId }, cause })
  const before = turn.active.agentId ?? turn.active.orchestrator?.agentId
  if (agentId !== undefined && before !== undefined && agentId !== before) {
    const payload = { fromAgentId: before, toAgentId: agentId, reason: 'dispatch' }
    turn.emit({ type: 'agent.handoff', nodeId, payload, cause })
  }
  tell(turn, planNode, { phase: 'dispatch.succeeded', workerId, childRunId }, state.began)
}

export function childRefused(turn: Turn, planNode: PlanNode, { worker, error }: Heard<'ChildRefused'>): void {
  const node = handing(turn.active.nodes[planNode.index]!)
  const state = node?.workers[worker]
  if (!node || state?.is !== 'dispatching') return
  const workerId = node.wait.workers[worker]!
  tell(turn, planNode, { phase: 'dispatch.failed', workerId, error: spelled(turn, error) }, state.began)
}

/** The worker that this run knows to be at work under that id. */
function atWork(turn: Turn, { nodeId, childRunId }: { readonly nodeId: string; readonly childRunId: string }) {
  const planNode = turn.plan.nodes[turn.plan.indexOf.get(nodeId) ?? -1]
  const node = planNode && handing(turn.active.nodes[planNode.index]!)
  const k = node?.workers.findIndex(worker => worker.is === 'running' && worker.childRunId === childRunId) ?? -1
  const worker = node?.workers[k]
  return planNode && node && worker?.is === 'running'
    ? { planNode, worker, workerId: node.wait.workers[k]! }
    : undefined
}

/** A child waits for someone, or no longer does, and so does this run. */
export function childWaits(turn: Turn, { nodeId, childRunId, status }: Heard<'ChildWaits'>): void {
  const found = atWork(turn, { nodeId, childRunId })
  if (!found || (found.worker.childStatus ?? 'running') === status) return
  const payload = { nodeId, childRunId, status }
  turn.emit({ type: 'assay.child.status', nodeId, payload, cause: found.worker.succeeded })
}

/** A child has ended. Returns the node that waited for it, if one did. */
export function childEnded(turn: Turn, input: Heard<'ChildEnded'>): PlanNode | undefined {
  const found = atWork(turn, input)
  if (!found) return undefined
  const { planNode, workerId } = found
  const { succeeded } = found.worker
  const { childRunId, status } = input
  if (status === 'completed') {
    const secret = results(turn, planNode, workerId, input)
    tell(turn, planNode, { phase: 'child.completed', workerId, childRunId }, succeeded, secret)
  } else {
    const told = input.error ?? failure(`child_${status}`, `child run ${childRunId} was ${status}`)
    const error = spelled(turn, told)
    tell(turn, planNode, { phase: `child.${status}`, workerId, childRunId, error }, succeeded)
  }
  return planNode
}

/** R-HANDOFF-5: what it brings back; nothing when nothing is mapped. */
function results(
  turn: Turn,
  { node }: PlanNode,
  workerId: string,
  { variables, hidden, checksum }: Heard<'ChildEnded'>,
): HandoffSecret | undefined {
  const { outputs } = termsFor(node.config, workerId)
  if (outputs.length === 0) return undefined
  const attestation = checksum === undefined ? {} : { attestation: { checksum, algorithm: 'sha256' as const } }
  // R-MAP-10: what is hidden here must not be seen on its way either.
  const hiddenHere = outputs
    .filter(([parent]) => turn.active.hidden.variables.includes(parent))
    .map(([, child]) => child)
  return { outputs: variables, hidden: [...new Set([...hidden, ...hiddenHere])], ...attestation }
}

/** §1.3: both spellings of the code, and nothing that must not be seen. */
function spelled(turn: Turn, told: Failure): NonNullable<HandoffTold['error']> {
  const { code, message, details } = maskFailure(turn.active, told)
  return { code, error: code, message, ...(details === undefined ? {} : { details: details as JsonObject }) }
}

type Ended = Extract<WorkerState, { is: 'completed' }>

/**
 * Merges what a worker has brought back, or asks first. A sub-workflow's harvest is told before the question, with the
 * checksum of what is to be merged; a dispatch tells it when it is merged (R-ATTEST-3, contract agents §28 D7).
 */
function harvest(turn: Turn, planNode: PlanNode, node: Handing, worker: number, ended: Ended): void {
  const workerId = node.wait.workers[worker]!
  if (!isGated(planNode)) return merge(turn, planNode, node, worker, ended, ended.outputs)
  if (isToldFirst(planNode)) tellHarvest(turn, planNode, node, worker, ended, ended.outputs)
  const shown = Object.entries(ended.outputs).map(([name, value]) => [name, ended.hidden.includes(name) ? MASK : value])
  const data = {
    artifactId: ended.childRunId,
    artifactType: 'sub-run-output',
    title: `Merge what ${workerId} brings back?`,
    artifactData: Object.fromEntries(shown) as JsonObject,
    actions: ['accept', 'reject', 'edit-accept'],
  }
  ask(turn, planNode, { kind: 'approval', data }, ended.ended)
}

/** R-MAP-3, R-MAP-4: a name the child does not know is left as it is. */
const written = (planNode: PlanNode, workerId: string, outputs: JsonObject): [string, string, Json][] =>
  termsFor(planNode.node.config, workerId).outputs.flatMap(([parent, child]) => {
    const value = own(outputs, child)
    return value === undefined ? [] : [[parent, child, value] as [string, string, Json]]
  })

function merge(turn: Turn, planNode: PlanNode, node: Handing, worker: number, ended: Ended, outputs: JsonObject): void {
  const workerId = node.wait.workers[worker]!
  for (const [name, child, value] of written(planNode, workerId, outputs)) {
    const sensitive = ended.hidden.includes(child)
    changeVariable(
      turn,
      planNode.node.id,
      { kind: 'variable', name, value, ...(sensitive ? { sensitive } : {}) },
      dueTo(node),
    )
  }
  if (!isToldFirst(planNode)) tellHarvest(turn, planNode, node, worker, ended, outputs)
}

function tellHarvest(
  turn: Turn,
  planNode: PlanNode,
  node: Handing,
  worker: number,
  { childRunId, ended, attestation }: Ended,
  outputs: JsonObject,
): void {
  const workerId = node.wait.workers[worker]!
  const harvestedKeys = written(planNode, workerId, outputs).map(([name]) => name)
  const told = { phase: 'output.harvested' as const, workerId, childRunId, harvestedKeys }
  tell(turn, planNode, attestation ? { ...told, attestation } : told, ended)
}

/** What is wrong with a person's answer to whether results are merged. */
export function mergeProblems(node: NodeState, value: Json): string[] {
  const edited = isObject(value) && value.action === 'edit-accept' ? value.editedArtifactData : undefined
  const ended = node.is === 'waiting' ? node.workers?.find(worker => worker.is === 'completed') : undefined
  if (edited === undefined || ended === undefined) return []
  const field = 'resumeValue.editedArtifactData'
  if (!isObject(edited)) return [`${field} must be an object with the results by name`]
  const unknown = Object.keys(edited).filter(name => own(ended.outputs, name) === undefined)
  return unknown.map(name => `${field}.${name} is not among the results of the worker`)
}

/** Whether an answer puts something in the place of a result that must not be seen. */
export function editsHidden(node: NodeState, value: Json): boolean {
  const ended = node.is === 'waiting' ? node.workers?.find(worker => worker.is === 'completed') : undefined
  const edited = isObject(value) ? value.editedArtifactData : undefined
  return isObject(edited) && ended !== undefined && ended.hidden.some(name => own(edited, name) !== undefined)
}

/** A person has said whether to merge. R-ATTEST-4: anything but a yes merges nothing. */
export function mergeAnswered(turn: Turn, planNode: PlanNode, before: NodeState, value: Json): void {
  const node = handing(turn.active.nodes[planNode.index]!)
  const worker = before.is === 'waiting' ? (before.workers ?? []).findIndex(state => state.is === 'completed') : -1
  const ended = before.is === 'waiting' ? before.workers?.[worker] : undefined
  if (node && ended?.is === 'completed' && isObject(value) && value.action !== 'reject') {
    const outputs = isObject(value.editedArtifactData) ? unmasked(value.editedArtifactData, ended) : ended.outputs
    merge(turn, planNode, node, worker, ended, outputs)
  }
}

/** Who edits does not see what is hidden, and so leaves it as it is. */
const unmasked = (edited: JsonObject, { outputs, hidden }: Ended): JsonObject =>
  Object.fromEntries(
    Object.entries(edited).map(([name, value]) => [
      name,
      hidden.includes(name) && value === MASK ? outputs[name]! : value,
    ]),
  )

/** R-LOOP-8: every worker has come to an end of its own; whoever handed the work over goes on. */
function settle(turn: Turn, planNode: PlanNode, node: Handing): void {
  const workers = resultsOf(node)
  settleNode(turn, planNode, node.wait, { kind: 'handed', workers }, dueTo(node))
}
