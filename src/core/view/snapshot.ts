import { NOTHING_SPENT, type Spend, usdOf } from '../budget/budget.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import { MASK } from '../run/redaction.js'
import { isWaiting } from '../run/state.js'
import { moved } from './public-event.js'
import {
  type AskedView,
  isAtWork,
  type LoopView,
  type NodeView,
  nodeOf,
  type RunView,
  type WorkerView,
} from './run-view.js'
import { mayBeSetBack, statusOfView, waitingNode } from './status.js'

/**
 * The view as `GET /v1/runs/{id}` shows the run. A field is either exactly what the server shows or left out, and only
 * what `UNTOLD` lists is ever left out.
 */
export function viewSnapshot(view: RunView): JsonObject {
  if (view.runId === undefined || view.started === undefined) return {}
  const { runId, started } = view
  const status = statusOfView(view)
  const { workflowId, owner, inputs, tags, metadata, configurable } = started
  const snapshot = {
    runId,
    workflowId,
    status,
    owner,
    startedAt: view.startedAt && moved(view.startedAt, view.awayMs),
    completedAt: view.endedAt,
    inputs,
    tags,
    metadata,
    configurable,
    ...originOf(view),
    variables: variablesOf(view),
    channels: some(channelsOf(view)),
    nodeStates: nodeStates(view),
    ...waitingFor(view),
    ...loopOf(view),
    ...convergenceOf(view),
    ...spendOf(view),
    outputs: status === 'completed' ? view.outputs : undefined,
    error: errorOf(view),
  }
  return JSON.parse(JSON.stringify(snapshot)) as JsonObject
}

const some = <Fields extends object>(fields: Fields): Fields | undefined =>
  Object.keys(fields).length > 0 ? fields : undefined

/** A fork is nobody's child, whatever its source was. */
function originOf({ forkedFrom, isBranch, diverged, started = {} }: RunView) {
  const { parentRunId, parentNodeId, gatedBy } = started
  const parent = forkedFrom || isBranch ? {} : { parentRunId, parentNodeId, gatedBy }
  return { ...parent, forkedFrom, ...(diverged && { diverged }) }
}

const errorOf = ({ mode, error }: RunView) =>
  mode === 'failed' && error ? { code: error.code, message: error.message, details: error.details } : undefined

function variablesOf(view: RunView): JsonObject {
  const channels = Object.entries(channelsOf(view))
  const written = [...view.channels.keys()]
  return Object.fromEntries([...[...view.variables].filter(([name]) => !written.includes(name)), ...channels])
}

/** Reducers that keep something of what was there before: what that is, the definition has a say in. */
const ACCUMULATES = new Set(['append', 'votes', 'feedback', 'message', 'merge', 'counter'])

function channelsOf({ channels }: RunView): JsonObject {
  const shown = [...channels].flatMap(([name, { value, reducer, isMasked }]): [string, Json][] => {
    if (isMasked) return [[name, MASK]]
    return ACCUMULATES.has(reducer) ? [] : [[name, value]]
  })
  return Object.fromEntries(shown)
}

function nodeStates(view: RunView) {
  const shown = [...view.nodes].flatMap(([nodeId, node]) =>
    node.isUncertain || (mayBeSetBack(view, node) && node.staged !== 'run') ? [] : [[nodeId, nodeState(node)] as const],
  )
  return Object.fromEntries(shown)
}

function nodeState(node: NodeView) {
  const { status, attempt, error, workers, invocation } = node
  if (isAtWork(node))
    return {
      status: isSuspended(node) ? 'suspended' : 'running',
      attempt: node.staged === 'run' ? 0 : attempt,
      childRunId: workers?.find(worker => worker.status === 'running')?.childRunId,
      workers: workers?.map(shownWorker),
      invocation,
    }
  if (status === 'interrupted' || status === 'retrying') return { status, attempt }
  return status === 'failed' ? { status, error } : { status }
}

const isSuspended = ({ asked, isHalted }: NodeView): boolean => asked !== undefined || isHalted === true

const shownWorker = ({ workerId, status, childRunId }: WorkerView) => ({ workerId, status, childRunId })

/** What a waiting run asks, and where; a replay asks nobody. */
function waitingFor(view: RunView) {
  const waiting = isWaiting(statusOfView(view)) ? waitingNode(view) : undefined
  if (waiting === undefined) return {}
  const { nodeId, node } = waiting
  const isAsking = node.asked !== undefined && view.forkedFrom?.mode !== 'replay'
  return { currentNodeId: nodeId, ...(isAsking && { interrupt: askedOf(nodeId, node.asked!) }) }
}

/** A question as the server shows it, but for what `UNTOLD` lists. */
function askedOf(nodeId: string, asked: AskedView) {
  const { kind, interruptId, key, data, resumeSchema, timeoutMs, requestedAt, votes } = asked
  const required = kind === 'approval' ? data.requiredApprovals : undefined
  return {
    kind,
    nodeId,
    interruptId,
    key,
    data,
    ...(resumeSchema && { resumeSchema }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    requestedAt,
    ...(typeof required === 'number' && required > 1 && { requiredApprovals: required, votes }),
  }
}

function loopOf(view: RunView) {
  const { loop, started = {} } = view
  if (loop === undefined) return {}
  const limit = started.configurable?.maxLoopIterations
  const { iteration, decision, agentId } = loop
  return {
    runOrchestrator: { agentId },
    loop: {
      iteration,
      phase: phaseOf(view, loop),
      decision: decision && decisionOf(decision),
      ...(typeof limit === 'number' && { limit }),
    },
  }
}

const decisionOf = ({ kind, nextWorkerIds, confidence }: JsonObject) => ({
  kind,
  ...(kind === 'next-worker' && { nextWorkerIds }),
  confidence,
})

/** Undefined where the events do not say. */
function phaseOf(view: RunView, { nodeId }: LoopView): string | undefined {
  const supervisor = nodeOf(view, nodeId)
  if (view.endedAt !== undefined) return 'done'
  if (isAtWork(supervisor)) return isSuspended(supervisor) ? 'suspended' : 'deciding'
  if (mayBeSetBack(view, supervisor)) return undefined
  if (supervisor.status === 'completed' && supervisor.route === 'done') return 'done'
  for (const node of view.nodes.values()) {
    if (node.typeId !== 'core.dispatch' || node.status !== 'running') continue
    // Until the first hand-off it may be a dispatch that has nothing to hand over.
    if (node.workers === undefined) return undefined
    return isSuspended(node) ? 'suspended' : 'dispatching'
  }
  return 'deciding'
}

/** Absent while nothing has been judged, and nothing said of the goal. */
function convergenceOf(view: RunView) {
  const { loop, slots, mode, goalSatisfied, against } = view
  if (loop !== undefined && loop.decision === undefined) return {}
  const successCriteria = criteriaOf(loop?.decision)
  const verdicts = [...slots.values()].flatMap(({ target, verdict, label }) =>
    verdict ? [{ target, verdict, ...(label && { label }) }] : [],
  )
  if (successCriteria === undefined && verdicts.length === 0 && goalSatisfied === undefined) return {}
  const told = mode === 'completed' ? goalSatisfied : undefined
  return {
    convergence: {
      successCriteria,
      ...(told !== undefined && { goalSatisfied: told }),
      verdicts,
      ...(against && { against }),
    },
  }
}

function criteriaOf(decision: JsonObject | undefined) {
  const criteria = decision?.kind === 'terminate' ? decision.successCriteria : undefined
  return Array.isArray(criteria) ? criteria.filter(isObject).map(({ key, met }) => ({ key, met })) : undefined
}

function spendOf(view: RunView) {
  const { spend, held, budget, slots, hasUntoldSpend } = view
  const gates = [...slots.values()].map(({ gateId, nodeId, workerId, target, verdict, label, attempts }) => ({
    gateId,
    nodeId,
    workerId,
    target,
    verdict,
    ...(label && { label }),
    attempts,
  }))
  if (spend === undefined && held === undefined && budget === undefined && gates.length === 0) return {}
  const told = hasUntoldSpend ? undefined : (spend ?? NOTHING_SPENT)
  return {
    metrics: told && { openwopCost: { usd: usdOf(told.costNano) } },
    assay: some({
      ...(told && { spend: spentOf(told) }),
      ...(told && held && { held: spentOf(held) }),
      ...(budget && { budget }),
      ...(gates.length > 0 && { gates }),
    }),
  }
}

const spentOf = ({ costNano, ...counted }: Spend) => ({ ...counted, costUsd: usdOf(costNano) })
