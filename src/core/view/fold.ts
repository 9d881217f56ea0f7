import { leastOf, policyOf } from '../budget/budget.js'
import type { JsonObject } from '../json.js'
import { foldActivity } from './activity.js'
import { foldChannel, foldVariable } from './data.js'
import { foldGate } from './gates.js'
import { foldInvocation } from './invocation.js'
import { foldLoop } from './loop.js'
import { foldNode } from './nodes.js'
import { asKnown, type KnownEvent, type KnownOf, moved, type PublicEvent } from './public-event.js'
import { isAtWork, type NodeView, type RunView, type ViewDraft } from './run-view.js'
import { foldSpend } from './spend.js'
import { foldWorkers } from './workers.js'

/** Folds one public event into the view, which is used up by it (V2). What it does not know, it passes over. */
export function foldEvent(view: RunView, event: PublicEvent): RunView {
  const draft = { ...view, runId: event.runId, length: event.sequence + 1, lastAt: event.timestamp } as ViewDraft
  const known = asKnown(event)
  draft.activity = foldActivity(view.activity, event)
  // Spending, workers and gates are read off the node as it was before the event, so it changes last.
  foldSpend(draft, known)
  foldLoop(draft, known)
  foldWorkers(draft, known)
  foldGate(draft, known)
  foldInvocation(draft, known)
  foldNode(draft, known, event)
  foldRun(draft, known, view.lastAt)
  return draft
}

function foldRun(draft: ViewDraft, event: KnownEvent, before: string | undefined): void {
  switch (event.type) {
    case 'run.started':
      return begin(draft, event)
    case 'run.paused':
      draft.mode = 'paused'
      if (event.payload.drainPolicy === 'immediate') stopWork(draft)
      return
    case 'run.resumed':
      draft.mode = 'running'
      return
    case 'assay.stop.requested':
      draft.mode = event.payload.outcome === 'cancelled' ? 'cancelling' : 'stopping'
      return
    case 'assay.run.forked':
      return branch(draft, event, before)
    case 'replay.diverged':
    case 'replay.divergedAtRefusal':
      // A replay of a replay repeats what its source reported, and still has its own to report.
      if (event.payload.sourceRunId === draft.forkedFrom?.runId) draft.diverged = true
      return
    case 'budget.reserved':
      draft.budget = event.payload.effectiveBudget ?? {}
      return
    case 'variable.changed':
      return foldVariable(draft, event)
    case 'channel.written':
      return foldChannel(draft, event)
    default:
      return end(draft, event)
  }
}

function begin(draft: ViewDraft, { payload, timestamp }: KnownOf<'run.started'>): void {
  draft.mode = 'running'
  draft.started = payload
  draft.startedAt = timestamp
  for (const [name, value] of Object.entries(payload.inputs ?? {})) draft.variables.set(name, value)
}

function end(draft: ViewDraft, event: KnownEvent): void {
  switch (event.type) {
    case 'run.completed': {
      const { outputs, goalSatisfied, against } = event.payload
      draft.mode = 'completed'
      if (outputs !== undefined) draft.outputs = outputs
      if (goalSatisfied !== undefined) draft.goalSatisfied = goalSatisfied
      if (against !== undefined) draft.against = against
      break
    }
    case 'run.failed': {
      draft.mode = 'failed'
      if (event.payload.error !== undefined) draft.error = event.payload.error
      break
    }
    case 'run.cancelled':
      draft.mode = 'cancelled'
      break
    default:
      return
  }
  draft.endedAt = event.timestamp
}

/** Types whose work goes on by itself while the run is paused. */
const OUTLASTS_PAUSE = new Set([
  'core.agent',
  'core.ai.callPrompt',
  'core.ai.structuredOutput',
  'conformance.modelCapability.insufficient',
  'assay.verify',
  'assay.judge',
  'core.dispatch',
  'core.subWorkflow',
])
/** Types whose work a pause stops. Of others it is not known. */
const STOPS_WITH_PAUSE = new Set([
  'core.delay',
  'core.channelWrite',
  'core.conformance.side-effect',
  'core.memoryGet',
  'core.memoryPut',
])

/** An immediate pause stops what the host itself was doing; workers, agents and people go on. */
function stopWork(draft: ViewDraft): void {
  for (const [nodeId, node] of draft.nodes) {
    if (node.status !== 'running' || goesOn(node)) continue
    const isStopped = node.typeId !== undefined && STOPS_WITH_PAUSE.has(node.typeId)
    draft.nodes.set(nodeId, isStopped ? { ...node, status: 'interrupted' } : { ...node, isUncertain: true })
  }
}

const goesOn = ({ typeId, asked, isHalted, workers, invocation, staged }: NodeView): boolean =>
  (typeId !== undefined && OUTLASTS_PAUSE.has(typeId)) ||
  asked !== undefined ||
  isHalted === true ||
  workers !== undefined ||
  invocation !== undefined ||
  staged !== undefined

/** The run goes on as one of its own: time stood still since it was cut, and children are started anew. */
function branch(draft: ViewDraft, { payload, timestamp }: KnownOf<'assay.run.forked'>, before = timestamp): void {
  const { configurable, tags, metadata, principalScope, workflowDigest } = payload
  const { started = {} } = draft
  const away = Date.parse(timestamp) - Date.parse(before)
  draft.isBranch = true
  draft.started = {
    ...started,
    ...(configurable && { configurable: { ...started.configurable, ...configurable } }),
    ...(tags && { tags }),
    ...(metadata && { metadata }),
    ...(principalScope && { principalScope }),
    ...(workflowDigest && { workflowDigest }),
  }
  if (configurable?.budget !== undefined) draft.budget = ceilingsOf(draft.started)
  draft.awayMs += away
  if (draft.mode === 'paused') draft.mode = 'running'
  for (const [nodeId, node] of draft.nodes) if (isAtWork(node)) draft.nodes.set(nodeId, branched(node, away))
}

const ceilingsOf = ({ grant, configurable, policies }: NonNullable<RunView['started']>) =>
  leastOf([grant ?? {}, policyOf((configurable as JsonObject | undefined)?.budget), ...(policies ?? [])])

function branched(before: NodeView, away: number): NodeView {
  const { waiting: _, ...node } = before
  const { asked, workers } = node
  return {
    ...node,
    ...(asked && { asked: { ...asked, requestedAt: moved(asked.requestedAt, away) } }),
    ...(workers && { workers: workers.map(startedAnew) }),
  }
}

function startedAnew(worker: NonNullable<NodeView['workers']>[number]) {
  if (worker.status !== 'running') return worker
  const { childRunId: _, ...others } = worker
  return { ...others, status: 'dispatching' as const }
}
