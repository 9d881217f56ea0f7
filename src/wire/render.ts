import type { Json, JsonObject } from '../core/json.js'
import { own, withKey } from '../core/json.js'
import { MASK } from '../core/run/masking.js'
import type { Plan } from '../core/run/plan.js'
import type { NodeState, RunState } from '../core/run/state.js'
import type { RunView } from '../engine/api.js'
import type { RunRow, StoredEvent } from '../engine/ports.js'
import type { NodeSnapshot, RunRowAnswer, RunSnapshot } from './run.js'

export const EVENT_SCHEMA_VERSION = 1
export const EVENT_LOG_SCHEMA_VERSION = 2

const iso = (at: number): string => new Date(at).toISOString()

/** The RunEventDoc as JSON. The payload is spliced in as the text it is stored as; `secret` never leaves. */
export function renderEvent(runId: string, event: StoredEvent, options: { readonly engineVersion: string }): string {
  let text = `{"eventId":"${runId}:${event.sequence}","runId":"${runId}","type":${JSON.stringify(event.type)},"payload":${event.payload},"timestamp":"${iso(event.at)}","sequence":${event.sequence},"schemaVersion":${EVENT_SCHEMA_VERSION},"engineVersion":"${options.engineVersion}"`
  if (event.nodeId !== null) text += `,"nodeId":${JSON.stringify(event.nodeId)}`
  if (event.cause !== null) text += `,"causationId":"${runId}:${event.cause}"`
  return `${text}}`
}

export type ChildRun = { readonly runId: string; readonly status: RunRow['status'] }

/** A run as its owner may see it: variables, inputs and channels declared `sensitive` are masked. */
export function renderSnapshot(view: RunView, childRuns: readonly ChildRun[] = []): RunSnapshot {
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
  if (plan.channels.size > 0 || Object.keys(channels).length > 0) snapshot.channels = channels
  if (started.tags !== undefined) snapshot.tags = [...started.tags]
  if (started.metadata !== undefined) snapshot.metadata = started.metadata
  if (started.configurable !== undefined) snapshot.configurable = started.configurable
  if (started.parentRunId !== undefined) snapshot.parentRunId = started.parentRunId
  if (started.parentNodeId !== undefined) snapshot.parentNodeId = started.parentNodeId
  if (childRuns.length > 0) snapshot.childRuns = childRuns.map(child => ({ runId: child.runId, status: child.status }))
  if (status.startsWith('waiting-')) {
    const current = plan.nodes[state.open[0] ?? -1]?.node.id
    if (current !== undefined) snapshot.currentNodeId = current
  }
  if (state.phase === 'ended') addOutcome(snapshot, state)
  return snapshot
}

function addOutcome(snapshot: Mutable<RunSnapshot>, state: Extract<RunState, { phase: 'ended' }>): void {
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
      return node.childRunId === undefined
        ? { status: 'running', attempt: node.attempt }
        : { status: 'running', attempt: node.attempt, childRunId: node.childRunId }
    case 'interrupted':
    case 'retrying':
      return { status: node.is, attempt: node.attempt }
    case 'failed':
      return { status: 'failed', error: { code: node.error.code, message: node.error.message } }
    default:
      return { status: node.is }
  }
}

export function renderRow(row: RunRow): RunRowAnswer {
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
  if (row.endedAt !== null) answer.completedAt = iso(row.endedAt)
  return answer
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
