import { ask } from '../interrupt/ask.js'
import { isObject, type Json, type JsonObject, own } from '../json.js'
import type { DecisionContext } from '../run/decision-context.js'
import { changeVariable, failAttempt } from '../run/node-lifecycle.js'
import { MASK } from '../run/redaction.js'
import { type NodeState, nodeAt } from '../run/state.js'
import { type OnWorkers, workersOf } from '../run/waiting.js'
import { judgedHash, occurrenceOf } from '../verification/attempt.js'
import type { PlanNode } from '../workflow/plan.js'
import { isToldFirst, needsMergeApproval, patienceOf, termsFor } from './mapping.js'
import { dueTo, handedTo, handoffOf, recordHandoff, type WorkerState } from './state.js'

type Ended = Extract<WorkerState, { is: 'completed' }>

/**
 * Merges what a worker has brought back, or asks first. A sub-workflow's harvest is told before the question, with the
 * checksum of what is to be merged; a dispatch tells it when it is merged (R-ATTEST-3, contract agents §28 D7).
 */
export function mergeResult(
  context: DecisionContext,
  planNode: PlanNode,
  node: OnWorkers,
  worker: number,
  ended: Ended,
): void {
  const workerId = handedTo(node, worker)
  if (!needsMergeApproval(planNode)) return merge(context, planNode, node, worker, ended, ended.outputs)
  if (isToldFirst(planNode)) tellHarvest(context, planNode, node, worker, ended, ended.outputs)
  const hidden = hiddenNames(context, planNode, workerId, ended)
  const shown = Object.entries(ended.outputs).map(([name, value]) => [name, hidden.includes(name) ? MASK : value])
  const data = {
    artifactId: ended.childRunId,
    artifactType: 'sub-run-output',
    title: `Merge what ${workerId} brings back?`,
    artifactData: Object.fromEntries(shown) as JsonObject,
    // What a gate has passed is merged as it is, or not at all.
    actions: ended.cleared ? ['accept', 'reject'] : ['accept', 'reject', 'edit-accept'],
  }
  ask(context, planNode, { kind: 'approval', data, ...patienceOf(planNode) }, ended.ended)
}

/** R-MAP-10: results that must not be seen: hidden where they come from, or where they would go. */
function hiddenNames(context: DecisionContext, { node }: PlanNode, workerId: string, { hidden }: Ended): string[] {
  const here = context.active.hidden.variables
  const bound = termsFor(node.config, workerId).outputs.filter(([parent]) => here.includes(parent))
  return [...hidden, ...bound.map(([, child]) => child)]
}

/** R-MAP-3, R-MAP-4: a name the child does not know is left as it is. */
const written = (planNode: PlanNode, workerId: string, outputs: JsonObject): [string, string, Json][] =>
  termsFor(planNode.node.config, workerId).outputs.flatMap(([parent, child]) => {
    const value = own(outputs, child)
    return value === undefined ? [] : [[parent, child, value] as [string, string, Json]]
  })

function merge(
  context: DecisionContext,
  planNode: PlanNode,
  node: OnWorkers,
  worker: number,
  ended: Ended,
  outputs: JsonObject,
): void {
  const workerId = handedTo(node, worker)
  const conflict = context.conflictAt('harvest', { nodeId: planNode.node.id, childRunId: ended.childRunId })
  if (conflict) return failAttempt(context, planNode, conflict, dueTo(node))
  const hidden = hiddenNames(context, planNode, workerId, ended)
  for (const [name, child, value] of written(planNode, workerId, outputs)) {
    const sensitive = hidden.includes(child) ? { sensitive: true } : {}
    changeVariable(context, planNode.node.id, { kind: 'variable', name, value, ...sensitive }, dueTo(node))
  }
  if (!isToldFirst(planNode)) tellHarvest(context, planNode, node, worker, ended, outputs)
}

function tellHarvest(
  context: DecisionContext,
  planNode: PlanNode,
  node: OnWorkers,
  worker: number,
  { childRunId, ended, attestation }: Ended,
  outputs: JsonObject,
): void {
  const workerId = handedTo(node, worker)
  const harvestedKeys = written(planNode, workerId, outputs).map(([name]) => name)
  const told = { phase: 'output.harvested' as const, workerId, childRunId, harvestedKeys }
  const place = { point: 'harvest' as const, workerId, occurrence: occurrenceOf(node.wait.workers, worker) }
  const resultHash = judgedHash(context.active, planNode.node.id, place)
  const secret = resultHash === undefined ? undefined : { resultHash }
  recordHandoff(context, planNode, attestation ? { ...told, attestation } : told, ended, secret)
}

/** The worker whose results are next to be merged: the one that a person is asked about. */
function inQuestion(node: NodeState): { readonly worker: number; readonly ended: Ended } | undefined {
  const workers = workersOf(node)
  const worker = workers.findIndex(state => state.is === 'completed')
  const ended = workers[worker]
  return ended?.is === 'completed' ? { worker, ended } : undefined
}

const editedIn = (value: Json): Json | undefined =>
  isObject(value) && value.action === 'edit-accept' ? value.editedArtifactData : undefined

/** What is wrong with a person's answer to whether results are merged. */
export function mergeProblems(node: NodeState, value: Json): string[] {
  const edited = editedIn(value)
  const asked = inQuestion(node)
  if (edited === undefined || asked === undefined) return []
  const field = 'resumeValue.editedArtifactData'
  if (!isObject(edited)) return [`${field} must be an object with the results by name`]
  const unknown = Object.keys(edited).filter(name => own(asked.ended.outputs, name) === undefined)
  return unknown.map(name => `${field}.${name} is not among the results of the worker`)
}

/** Whether an answer puts something in the place of a result that must not be seen. */
export function editsHidden(context: DecisionContext, planNode: PlanNode, value: Json): boolean {
  const node = handoffOf(nodeAt(context.active, planNode.index))
  const edited = editedIn(value)
  const asked = node && inQuestion(node)
  if (!asked || !isObject(edited)) return false
  const hidden = hiddenNames(context, planNode, handedTo(node, asked.worker), asked.ended)
  return hidden.some(name => own(edited, name) !== undefined)
}

/** A person has said whether to merge. R-ATTEST-4: anything but a yes merges nothing. */
export function mergeAnswered(context: DecisionContext, planNode: PlanNode, before: NodeState, value: Json): void {
  const node = handoffOf(nodeAt(context.active, planNode.index))
  const asked = inQuestion(before)
  if (!node || !asked || !isObject(value) || value.action === 'reject') return
  const { worker, ended } = asked
  const edited = editedIn(value)
  const outputs = isObject(edited) ? (unmasked(edited, ended.outputs) as JsonObject) : ended.outputs
  merge(context, planNode, node, worker, ended, outputs)
}

/** Who edits does not see what is masked, and so leaves it as it is. */
function unmasked(edited: Json, original: Json | undefined): Json {
  if (edited === MASK) return original ?? edited
  if (Array.isArray(edited))
    return edited.map((item, i) => unmasked(item, Array.isArray(original) ? original[i] : undefined))
  if (!isObject(edited)) return edited
  const fields = Object.entries(edited).map(([name, value]) => [
    name,
    unmasked(value, isObject(original) ? own(original, name) : undefined),
  ])
  return Object.fromEntries(fields) as JsonObject
}
