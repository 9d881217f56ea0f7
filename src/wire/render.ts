import type { Json, JsonObject } from '../core/json.js'
import { own, withKey } from '../core/json.js'
import { MASK } from '../core/run/redaction.js'
import { type Active, childStatusOf, type Ended, isWaiting, type NodeState } from '../core/run/state.js'
import { isSuspended, questionOf } from '../core/run/waiting.js'
import type { Plan } from '../core/workflow/plan.js'
import type { InspectedRun } from '../engine/api.js'
import type { StoredEvent } from '../engine/ports/event-log.js'
import type { ChildRow, RunRow } from '../engine/ports/run-index.js'
import type { InterruptDoc } from './interrupt.js'
import { renderAgents, renderHandoff, renderInvocation, renderSpend } from './render-agents.js'
import { renderConvergence } from './render-gates.js'
import type { NodeSnapshot, RunRowAnswer, RunSnapshot } from './run.js'

export const EVENT_SCHEMA_VERSION = 1
export const EVENT_LOG_SCHEMA_VERSION = 2

const iso = (at: number): string => new Date(at).toISOString()

/** The RunEventDoc as JSON. The payload is spliced in as the text it is stored as; `secret` never leaves. */
export function renderEvent(runId: string, event: StoredEvent, options: { readonly engineVersion: string }): string {
  let text = `{"eventId":"${runId}:${event.sequence}","runId":"${runId}","type":${JSON.stringify(event.type)},"payload":${event.payload},"timestamp":"${iso(event.at)}","sequence":${event.sequence},"schemaVersion":${EVENT_SCHEMA_VERSION},"engineVersion":"${options.engineVersion}"`
  if (event.nodeId !== null) text += `,"nodeId":${JSON.stringify(event.nodeId)}`
  if (event.cause !== null) text += `,"causationId":"${runId}:${event.cause}"`
  else if (event.foreignCause !== null) text += `,"causationId":${JSON.stringify(event.foreignCause)}`
  return `${text}}`
}

/**
 * A run as its owner may see it: variables, inputs and channels declared `sensitive` are masked. `interrupt` is what it
 * asks, with a link if the reader may answer.
 */
export function renderSnapshot(
  view: InspectedRun,
  childRuns: readonly ChildRow[] = [],
  interrupt?: InterruptDoc,
): RunSnapshot {
  const { state, plan, runId, status } = view
  const snapshot: Mutable<RunSnapshot> = {
    runId,
    workflowId: plan.definition.id,
    status,
    eventLogSchemaVersion: EVENT_LOG_SCHEMA_VERSION,
  }
  if (state.phase === 'absent') return snapshot
  const { started } = state
  const channels = masked(state.channels, name => state.hidden.channels.includes(name))
  snapshot.workflowId = started.workflowId
  snapshot.owner = started.owner
  snapshot.startedAt = iso(state.startedAt)
  snapshot.inputs = started.inputs
  snapshot.variables = overlaid(
    masked(state.variables, name => state.hidden.variables.includes(name)),
    channels,
  )
  snapshot.nodeStates = nodeStates(state.nodes, plan)
  Object.assign(snapshot, renderAgents(plan, state), renderSpend(state), renderConvergence(state))
  if (plan.channels.size > 0 || Object.keys(channels).length > 0) snapshot.channels = channels
  if (started.tags !== undefined) snapshot.tags = [...started.tags]
  if (started.metadata !== undefined) snapshot.metadata = started.metadata
  if (started.configurable !== undefined) snapshot.configurable = started.configurable
  addOrigin(snapshot, state)
  if (childRuns.length > 0) snapshot.childRuns = childRuns.map(child => ({ runId: child.runId, status: child.status }))
  const waits = isWaiting(status) && state.phase === 'active'
  const current = waits ? (interrupt?.nodeId ?? waitingNode(plan, state)) : undefined
  if (current !== undefined) snapshot.currentNodeId = current
  if (interrupt !== undefined) snapshot.interrupt = interrupt
  if (state.phase === 'ended') addOutcome(snapshot, state)
  return snapshot
}

/** A fork is nobody's child, whatever its source was. */
function addOrigin(snapshot: Mutable<RunSnapshot>, { fork, started, diverged }: Active | Ended): void {
  if (diverged) snapshot.diverged = true
  if (fork !== undefined) {
    const { sourceRunId, fromSeq, mode, sourceLength } = fork
    snapshot.forkedFrom = { runId: sourceRunId, fromSeq, mode, sourceLength }
    return
  }
  if (started.parentRunId !== undefined) snapshot.parentRunId = started.parentRunId
  if (started.parentNodeId !== undefined) snapshot.parentNodeId = started.parentNodeId
  if (started.gatedBy !== undefined) snapshot.gatedBy = [...started.gatedBy]
}

/** The node that waits for someone: its own question comes before one that a child asks. */
function waitingNode(plan: Plan, { nodes, open }: Active): string | undefined {
  const index =
    open.find(at => questionOf(nodes[at]) !== undefined) ?? open.find(at => childStatusOf(nodes[at]) !== undefined)
  return index === undefined ? undefined : plan.nodes[index]?.node.id
}

function addOutcome(snapshot: Mutable<RunSnapshot>, state: Ended): void {
  const { outcome } = state
  snapshot.completedAt = iso(state.endedAt)
  if (outcome.status === 'completed') snapshot.outputs = outcome.outputs
  if (outcome.status !== 'failed') return
  const { code, message, details } = outcome.error
  snapshot.error = details === undefined ? { code, message } : { code, message, details }
}

function masked(values: JsonObject, isSensitive: (name: string) => boolean | undefined): JsonObject {
  let result = values
  for (const name of Object.keys(values)) if (isSensitive(name)) result = withKey(result, name, MASK)
  return result
}

function overlaid(values: JsonObject, over: JsonObject): JsonObject {
  let result = values
  for (const name of Object.keys(over)) result = withKey(result, name, own(over, name) as Json)
  return result
}

function nodeStates(nodes: readonly NodeState[], plan: Plan): { [nodeId: string]: NodeSnapshot } {
  let result: { readonly [nodeId: string]: NodeSnapshot } = {}
  for (const { index, node } of plan.nodes) result = put(result, node.id, nodeSnapshot(nodes[index]))
  return result
}

// Every own key is fresh and enumerable, also one called `__proto__`; assignment would not do.
const put = <T>(record: { readonly [key: string]: T }, key: string, value: T): { [key: string]: T } =>
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true })

function nodeSnapshot(node: NodeState = { is: 'idle' }): NodeSnapshot {
  switch (node.is) {
    case 'idle':
      return { status: 'pending' }
    case 'waiting':
      return {
        status: isSuspended(node) ? 'suspended' : 'running',
        attempt: node.attempt,
        ...renderHandoff(node),
        ...renderInvocation(node),
      }
    case 'interrupted':
    case 'retrying':
      return { status: node.is, attempt: node.attempt }
    case 'failed':
      return { status: 'failed', error: { code: node.error.code, message: node.error.message } }
    default:
      return { status: node.is }
  }
}

export function renderRow(row: RunRow, gatedBy?: readonly string[]): RunRowAnswer {
  const answer: Mutable<RunRowAnswer> = {
    runId: row.runId,
    workflowId: row.workflowId,
    status: row.status,
    tags: [...row.tags],
    startedAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
    eventCount: row.length,
  }
  if (row.scopeId !== null) answer.scopeId = row.scopeId
  if (row.parentRunId !== null) answer.parentRunId = row.parentRunId
  if (row.parentNodeId !== null) answer.parentNodeId = row.parentNodeId
  if (gatedBy !== undefined) answer.gatedBy = [...gatedBy]
  if (row.endedAt !== null) answer.completedAt = iso(row.endedAt)
  return answer
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
