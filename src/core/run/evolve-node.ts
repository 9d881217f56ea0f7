import { evolveWorkers, lostPeer, PENDING } from '../handoff/evolve.js'
import { evolveQuestion, halted, released } from '../interrupt/evolve.js'
import { evolveInvocation } from '../invocation/evolve.js'
import { moveAnchors } from '../journal/evolve.js'
import { isObject, type JsonObject, own, withKey } from '../json.js'
import { isGateEvent, renewSlots } from '../verification/evolve.js'
import { heeded, regated, trialOf } from '../verification/evolve-rework.js'
import { evolveGate, noteGoal } from '../verification/evolve-run.js'
import { type Plan, type PlanNode, planNodeAt } from '../workflow/plan.js'
import { reduce } from './channels.js'
import { type Draft, including, putNode, replaced, without } from './draft.js'
import type { Invoking, Recorded, Wait } from './events.js'
import { rest } from './idle-time.js'
import type { Active, NodeState } from './state.js'
import { type CallAccount, NO_CALLS, type Waiting } from './waiting.js'

export const IDLE: NodeState = { is: 'idle' }
const NOTHING: Wait = { kind: 'none' }

type Of<Type extends Recorded['type']> = Extract<Recorded, { type: Type }>

/** Folds an event that names a node into that node, and into what it changes beyond it. */
export function evolveNode(plan: Plan, draft: Draft, event: Recorded, planNode: PlanNode): void {
  const { index } = planNode
  const before = draft.nodes[index] ?? IDLE
  const since = event.sequence
  switch (event.type) {
    case 'node.started':
      return started(draft, planNode, before, event)
    case 'core.workflowChain.event':
    case 'assay.child.status':
      return ofWorker(draft, planNode, before, event)
    case 'assay.peer.silent':
    case 'assay.peer.heard':
    case 'assay.peer.lost':
      return ofPeer(draft, planNode, before, event)
    case 'assay.peer.released':
      draft.lostPeers = (draft.lostPeers ?? []).filter(({ lost }) => lost !== event.cause)
      return
    case 'assay.peer.receipt':
      // P17: for readers; nothing follows from it.
      return
    case 'agent.handoff':
      draft.agentId = event.payload.toAgentId
      return
    case 'interrupt.requested':
    case 'assay.interrupt.voted':
    case 'interrupt.resolved':
      if (before.is === 'waiting') putNode(draft, index, evolveQuestion(planNode, before, event))
      if (event.type === 'interrupt.requested') draft.asks = replaced(draft.asks, index, (draft.asks[index] ?? 0) + 1)
      return event.type === 'assay.interrupt.voted' ? undefined : rest(draft)
    case 'node.suspended':
      if (before.is !== 'waiting' || !event.secret) return
      putNode(draft, index, halted(before, { ...event.secret, interruptId: event.payload.interruptId, at: event.at }))
      return rest(draft)
    case 'node.resumed':
      if (before.is !== 'waiting' || !before.halted) return
      putNode(draft, index, released(before, event.at))
      return rest(draft)
    case 'node.retried':
      return retried(draft, index, before, event)
    case 'node.completed':
      return completed(plan, draft, planNode, event)
    case 'node.failed':
      return settle(draft, planNode, { is: 'failed', error: event.payload.error, since })
    case 'node.skipped':
      return settle(draft, planNode, { is: 'skipped', since })
    case 'node.cancelled':
      putNode(draft, index, { is: 'cancelled', since })
      heeded(draft, event.nodeId)
      draft.open = without(draft.open, index)
      return rest(draft)
    case 'variable.changed':
      return variableChanged(draft, event)
    case 'channel.written':
      return channelWritten(plan, draft, event)
    default:
      if (isGateEvent(event)) {
        evolveGate(plan, draft, before, event, index)
        return draft.open.length > 0 ? rest(draft) : undefined
      }
      ofAgent(draft, index, before, event)
  }
}

function started(draft: Draft, { index, agentId }: PlanNode, before: NodeState, event: Of<'node.started'>): void {
  const { attempt } = event.payload
  putNode(draft, index, begun(draft.runId, before, event))
  if (agentId !== undefined) draft.agentId = agentId
  draft.executions += 1
  if (attempt === 0) {
    draft.starts = replaced(draft.starts, index, (draft.starts[index] ?? 0) + 1)
    if (draft.gated) regated(draft, { slots: renewSlots(draft.gated.slots, event.nodeId) })
  }
  draft.touched = without(draft.touched, index)
  draft.open = including(draft.open, index)
  if (draft.idleSince !== null) rest(draft)
}

/** What the node waits on says what is kept of it. */
function begun(runId: string, before: NodeState, { payload, secret, sequence, at }: Of<'node.started'>): Waiting {
  const failures = before.is === 'retrying' || before.is === 'interrupted' ? before.failures : 0
  const wait = secret?.wait ?? NOTHING
  const { attempt } = payload
  const calls = carried(before)
  // Most nodes settle at once, and this is on the way of each of them: one object, and no copy of it.
  if (calls === undefined && (wait.kind === 'none' || wait.kind === 'timer' || wait.kind === 'effect'))
    return { is: 'waiting', on: 'host', attempt, failures, since: sequence, sinceAt: at, wait }
  const own = { is: 'waiting', attempt, failures, since: sequence, sinceAt: at, ...(calls ? { calls } : {}) } as const
  switch (wait.kind) {
    case 'handoff':
      return { ...own, on: 'workers', wait, workers: wait.workers.map(() => PENDING) }
    case 'agent':
      return { ...own, on: 'brief', wait }
    case 'judge':
      return { ...own, on: 'gate', point: 'none', wait, staged: trialOf(runId, sequence, wait) }
    case 'interrupt':
      return { ...own, on: 'person', wait }
    default:
      return { ...own, on: 'host', wait }
  }
}

/** What one attempt of a node leaves to the next: calls that are paid for, and the one that was lost last. */
function carried(before: NodeState): CallAccount | undefined {
  if ((before.is !== 'waiting' && before.is !== 'retrying') || before.calls === undefined) return undefined
  const { made, paid, ...spoiled } = before.calls
  const calls = Math.max(made.calls, paid.calls)
  const uses = Math.max(made.uses, paid.uses)
  return { ...NO_CALLS, paid: { calls, uses }, ...spoiled }
}

/** Ends that say whether the worker reached its goal. */
const ENDED_CHILD: ReadonlySet<string> = new Set(['child.completed', 'child.failed'])

function ofWorker(
  draft: Draft,
  planNode: PlanNode,
  before: NodeState,
  event: Of<'core.workflowChain.event' | 'assay.child.status'>,
): void {
  if (before.is === 'waiting' && before.on === 'workers') {
    if (event.type === 'core.workflowChain.event' && ENDED_CHILD.has(event.payload.phase))
      noteGoal(draft, before, event)
    putNode(draft, planNode.index, { ...before, workers: evolveWorkers(planNode, before.workers, event) })
  }
  if (event.type === 'core.workflowChain.event' && event.payload.phase === 'output.harvested')
    // R-VERIFY-23: due to its `child.completed`.
    regated(draft, {
      latest: { target: event.payload.childRunId ?? '', sequence: event.cause ?? event.sequence },
    })
  rest(draft)
}

/** Those that were lost longest ago are let go of, should there be so many. */
const MOST_LOST = 100

function ofPeer(
  draft: Draft,
  planNode: PlanNode,
  before: NodeState,
  event: Of<'assay.peer.silent' | 'assay.peer.heard' | 'assay.peer.lost'>,
): void {
  if (before.is !== 'waiting' || before.on !== 'workers') return
  const lost = event.type === 'assay.peer.lost' ? lostPeer(before.workers, event, event.cause) : undefined
  if (lost) draft.lostPeers = [...(draft.lostPeers ?? []), lost].slice(-MOST_LOST)
  putNode(draft, planNode.index, { ...before, workers: evolveWorkers(planNode, before.workers, event) })
  if (lost) rest(draft)
}

function ofAgent(draft: Draft, index: number, before: NodeState, event: Recorded): void {
  const { sequence } = event
  if (event.type === 'agent.decided') regated(draft, { latest: { target: `${draft.runId}:${sequence}`, sequence } })
  if (before.is !== 'waiting') return
  const { brief, anchors } = (event.type === 'agent.invocation.started' && event.secret) || {}
  if (anchors) moveAnchors(draft, anchors)
  if (brief && before.on === 'brief' && !namesModel(before.wait) && !hasOwnModel(draft, brief.agentId)) {
    const use = modelUse(before.wait.role, brief.modelClass)
    const { promptHash } = brief
    // One that only stands in for another is no choice for whoever needs less.
    const { provider, model } = brief.substituted ?? brief
    draft.models = { ...draft.models, [use]: { provider, model, ...(promptHash === undefined ? {} : { promptHash }) } }
  }
  const after = evolveInvocation(before, event)
  if (after !== before) putNode(draft, index, after)
}

/** What a workflow names for one agent of its own is no choice for others. */
const namesModel = ({ agent }: Invoking): boolean => 'inline' in agent && agent.inline.model !== undefined

/** Nor is what the run names for one agent alone. */
function hasOwnModel({ started: { configurable = {} } }: Draft, agentId: string): boolean {
  const agents = isObject(configurable.ai) ? configurable.ai.agents : undefined
  const said = isObject(agents) ? own(agents, agentId) : undefined
  return isObject(said) && said.model !== undefined
}

/** R-LIVE-3: within a run, one role and class of agent has one model. */
export const modelUse = (role: string, modelClass: string): string => `${role}:${modelClass}`

function retried(
  draft: Draft,
  index: number,
  before: NodeState,
  { payload, at, sequence: since }: Of<'node.retried'>,
): void {
  const { attempt, delayMs } = payload
  const failures = before.is === 'waiting' ? before.failures + 1 : 1
  const calls = carried(before)
  const again = { is: 'retrying', attempt, failures, dueAt: at + delayMs, since } as const
  putNode(draft, index, calls ? { ...again, calls } : again)
  draft.open = including(draft.open, index)
}

function completed(
  plan: Plan,
  draft: Draft,
  planNode: PlanNode,
  { payload, secret, sequence }: Of<'node.completed'>,
): void {
  const outputs: JsonObject = secret?.outputs ?? payload.outputs
  const { type } = planNode
  settle(draft, planNode, { is: 'completed', outputs, since: sequence })
  if (type.loops) turnLoop(plan, draft, planNode.index, type.chosenPort?.(outputs))
}

/** The node is done with; those its edges lead to may have their turn now. */
function settle(draft: Draft, { index, node: { id }, outbound }: PlanNode, node: NodeState): void {
  putNode(draft, index, node)
  // What is passed over has not been done again, and the run must not end as if it had.
  if (node.is !== 'skipped') heeded(draft, id)
  draft.open = without(draft.open, index)
  draft.touched = without(draft.touched, index)
  for (const edge of outbound) draft.touched = including(draft.touched, edge.target)
  if (draft.open.length > 0 || draft.idleSince !== null) rest(draft)
}

/** Another pass. If the body runs again, its nodes are as if they had never run. */
function turnLoop(plan: Plan, draft: Draft, index: number, port: string | undefined): void {
  if (port === 'done') return
  const nodes = draft.nodes.slice()
  const passes = draft.passes.slice()
  passes[index] = (passes[index] ?? 0) + 1
  if (port === 'again') draft.touched = including(draft.touched, index)
  else
    for (const inner of planNodeAt(plan, index).body) {
      nodes[inner] = IDLE
      passes[inner] = 0
    }
  draft.nodes = nodes
  draft.passes = passes
}

function variableChanged(draft: Draft, { payload: { name, next }, secret }: Of<'variable.changed'>): void {
  draft.variables = withKey(draft.variables, name, secret ? secret.next : next)
  if (secret) draft.hidden = { ...draft.hidden, variables: withName(draft.hidden.variables, name) }
}

function channelWritten(plan: Plan, draft: Draft, event: Of<'channel.written'>): void {
  const { channel } = event.payload
  draft.channels = withKey(draft.channels, channel, folded(plan, draft.channels, event))
  if (event.secret?.value !== undefined)
    draft.hidden = { ...draft.hidden, channels: withName(draft.hidden.channels, channel) }
}

function folded(plan: Plan, channels: Active['channels'], event: Of<'channel.written'>) {
  const { channel, value, reducer, ttlMs } = { ttlMs: undefined, ...event.payload, ...event.secret }
  const declared = plan.channels.get(channel)
  const age = declared?.ttlMs ?? ttlMs
  return reduce(Object.hasOwn(channels, channel) ? channels[channel] : undefined, {
    value,
    reducer,
    at: event.at,
    ...(declared?.maxSize === undefined ? {} : { maxSize: declared.maxSize }),
    ...(age === undefined ? {} : { ttlMs: age }),
  })
}

const withName = (names: readonly string[], name: string): readonly string[] =>
  names.includes(name) ? names : [...names, name]
