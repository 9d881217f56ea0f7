import { type JsonObject, withKey } from '../json.js'
import { reduce } from './channels.js'
import type { Fork, Invoking, Recorded, RunForked, RunStarted, RunStartedSecret, Wait } from './event.js'
import { type Draft, including, put, replaced, without } from './draft.js'
import { evolveInvocation } from './evolve-invocation.js'
import { evolveOrchestrator } from './evolve-orchestrator.js'
import { evolveGate, noteGoal } from './evolve-course.js'
import { isGateEvent, orphanedJudges, renewSlots } from './evolve-gate.js'
import { heeded, trialOf } from './evolve-rework.js'
import { evolveSpend, evolveVerification } from './evolve-spend.js'
import { evolveWorkers, orphaned, PENDING } from './evolve-workers.js'
import { placeOf } from './gating.js'
import type { Plan } from './plan.js'
import { ceilingsOf } from './spending.js'
import {
  type Active,
  type Asked,
  childStatusOf,
  type Ended,
  type NodeState,
  type Outcome,
  type RunState,
} from './state.js'

const IDLE: NodeState = { is: 'idle' }
const NOTHING: Wait = { kind: 'none' }

/** Folds one event into the state. Holds no rule, refuses nothing: what is in the log has happened. */
export function evolve(plan: Plan, state: RunState, event: Recorded): RunState {
  if (state.phase === 'absent')
    return event.type === 'run.started' ? begin(plan, event, event.payload, event.secret, state.fork) : state
  if (state.phase === 'ended') return { ...state, next: event.sequence + 1, lastAt: event.at }
  const outcome = outcomeOf(event)
  if (outcome) return end(state, event, outcome)
  const draft: Draft = { ...state, next: event.sequence + 1, lastAt: event.at }
  const spend = evolveSpend(state, event, nodeOf(plan, state, event))
  if (spend) draft.spend = spend
  const verification = spend && evolveVerification(state, event)
  if (verification) draft.verification = verification
  if (event.nodeId === undefined) evolveRun(draft, event, state.lastAt)
  else {
    const planNode = plan.nodes[plan.indexOf.get(event.nodeId)!]!
    const loop = planNode.type.role && evolveOrchestrator(planNode, state, event)
    if (loop) draft.orchestrator = loop
    evolveNode(plan, draft, event, planNode.index)
  }
  return draft
}

const nodeOf = (plan: Plan, { nodes }: Active, { nodeId }: Recorded): NodeState | undefined =>
  nodeId === undefined ? undefined : nodes[plan.indexOf.get(nodeId)!]

function outcomeOf(event: Recorded): Outcome | undefined {
  switch (event.type) {
    case 'run.completed':
      return completedWith(event.payload)
    case 'run.failed': {
      const { error, failedNodeId } = event.payload
      return failedNodeId === undefined ? { status: 'failed', error } : { status: 'failed', error, failedNodeId }
    }
    case 'run.cancelled': {
      const { reason } = event.payload
      return reason === undefined ? { status: 'cancelled' } : { status: 'cancelled', reason }
    }
    default:
      return undefined
  }
}

const completedWith = ({ outputs, goalSatisfied }: { outputs: JsonObject; goalSatisfied?: boolean }): Outcome =>
  goalSatisfied === undefined ? { status: 'completed', outputs } : { status: 'completed', outputs, goalSatisfied }

function evolveRun(draft: Draft, event: Recorded, before: number): void {
  switch (event.type) {
    case 'assay.pause.requested':
      draft.mode = { kind: 'pausing', ...event.payload }
      return
    case 'run.paused':
      draft.mode = { kind: 'paused', at: event.at }
      if (event.payload.drainPolicy === 'immediate') interrupt(draft)
      return rest(draft)
    case 'run.resumed':
      draft.mode = { kind: 'running' }
      return rest(draft)
    case 'assay.run.forked':
      return branch(draft, event.payload, event.at - before)
    case 'replay.diverged':
      // A replay of a replay repeats what its source reported, and still has its own to report.
      if (event.payload.sourceRunId === draft.fork?.sourceRunId) draft.diverged = true
      return
    case 'assay.stop.requested':
      draft.mode = { kind: 'stopping', stop: event.payload }
      draft.touched = []
      return
    case 'budget.reserved':
      draft.budget = event.payload.effectiveBudget
      return
    case 'budget.threshold.crossed':
      draft.warned = [...(draft.warned ?? []), event.payload.dimension]
  }
}

function evolveNode(plan: Plan, draft: Draft, event: Recorded, index: number): void {
  const before = draft.nodes[index] ?? IDLE
  const since = event.sequence
  switch (event.type) {
    case 'node.started': {
      const { attempt } = event.payload
      const failures = before.is === 'retrying' || before.is === 'interrupted' ? before.failures : 0
      const wait = event.secret?.wait ?? NOTHING
      const waiting: NodeState = {
        is: 'waiting',
        attempt,
        failures,
        since,
        sinceAt: event.at,
        wait,
        ...carried(before),
      }
      if (wait.kind === 'handoff') put(draft, index, { ...waiting, workers: wait.workers.map(() => PENDING) })
      else if (wait.kind === 'judge')
        put(draft, index, { ...waiting, staged: trialOf(draft.runId, since, wait.output) })
      else put(draft, index, waiting)
      const { agentId } = plan.nodes[index]!
      if (agentId !== undefined) draft.agentId = agentId
      draft.executions += 1
      if (attempt === 0) {
        draft.starts = replaced(draft.starts, index, (draft.starts[index] ?? 0) + 1)
        if (draft.slots) draft.slots = renewSlots(draft.slots, event.nodeId)
      }
      draft.touched = without(draft.touched, index)
      draft.open = including(draft.open, index)
      if (draft.idleSince !== null) rest(draft)
      return
    }
    case 'core.workflowChain.event':
    case 'assay.child.status':
      if (before.is === 'waiting' && before.workers) {
        if (event.type === 'core.workflowChain.event' && event.payload.phase === 'child.completed')
          noteGoal(draft, before, event)
        put(draft, index, { ...before, workers: evolveWorkers(plan.nodes[index]!, before.workers, event) })
      }
      if (event.type === 'core.workflowChain.event' && event.payload.phase === 'output.harvested')
        // R-VERIFY-23: due to its `child.completed`.
        draft.latest = { target: event.payload.childRunId ?? '', sequence: event.cause ?? since }
      return rest(draft)
    case 'agent.handoff':
      draft.agentId = event.payload.toAgentId
      return
    case 'agent.invocation.started': {
      const { brief } = event.secret ?? {}
      if (brief && before.is === 'waiting' && before.wait.kind === 'agent' && !namesModel(before.wait)) {
        const use = modelUse(before.wait.role, brief.modelClass)
        draft.models = { ...draft.models, [use]: { provider: brief.provider, model: brief.model } }
      }
      if (before.is === 'waiting') put(draft, index, evolveInvocation(before, event))
      return
    }
    case 'interrupt.requested':
      if (before.is === 'waiting') {
        const wait: Wait = OUTLASTS_PAUSE.has(before.wait.kind) ? before.wait : { kind: 'interrupt' }
        put(draft, index, { ...before, wait, asked: askedBy(event) })
      }
      draft.asks = replaced(draft.asks, index, (draft.asks[index] ?? 0) + 1)
      return rest(draft)
    case 'assay.interrupt.voted':
      if (before.is === 'waiting' && before.asked) {
        const { voter, action } = event.payload
        const votes = [...before.asked.votes, { voter, action }]
        put(draft, index, { ...before, asked: { ...before.asked, votes } })
      }
      return
    case 'interrupt.resolved':
      if (before.is === 'waiting') {
        const { asked: _, workers, ...others } = before
        // A person who answers for a gate says nothing about the merge yet.
        const told = workers && { workers: others.gating ? workers : evolveWorkers(plan.nodes[index]!, workers, event) }
        put(draft, index, { ...others, ...told })
      }
      return rest(draft)
    case 'node.retried': {
      const { attempt, delayMs } = event.payload
      const failures = before.is === 'waiting' ? before.failures + 1 : 1
      put(draft, index, { is: 'retrying', attempt, failures, dueAt: event.at + delayMs, since, ...carried(before) })
      draft.open = including(draft.open, index)
      return
    }
    case 'node.completed': {
      const outputs: JsonObject = event.secret?.outputs ?? event.payload.outputs
      const { type } = plan.nodes[index]!
      settle(plan, draft, index, { is: 'completed', outputs, since })
      if (type.loops) turnLoop(plan, draft, index, type.chosenPort?.(outputs))
      return
    }
    case 'node.failed':
      return settle(plan, draft, index, { is: 'failed', error: event.payload.error, since })
    case 'node.skipped':
      return settle(plan, draft, index, { is: 'skipped', since })
    case 'node.cancelled':
      put(draft, index, { is: 'cancelled', since })
      if (draft.feedback) heeded(draft, placeOf(event.nodeId))
      draft.open = without(draft.open, index)
      return rest(draft)
    case 'variable.changed': {
      const { name, next } = event.payload
      draft.variables = withKey(draft.variables, name, event.secret ? event.secret.next : next)
      if (event.secret) draft.hidden = { ...draft.hidden, variables: withName(draft.hidden.variables, name) }
      return
    }
    case 'channel.written': {
      const { channel } = event.payload
      draft.channels = withKey(draft.channels, channel, folded(plan, draft.channels, event))
      if (event.secret?.value !== undefined)
        draft.hidden = { ...draft.hidden, channels: withName(draft.hidden.channels, channel) }
      return
    }
    default:
      if (isGateEvent(event)) {
        evolveGate(plan, draft, before, event, index)
        return draft.open.length > 0 ? rest(draft) : undefined
      }
      if (event.type === 'agent.decided') {
        draft.latest = { target: `${draft.runId}:${since}`, sequence: since }
        if (before.is === 'waiting') return put(draft, index, evolveInvocation({ ...before, decided: since }, event))
      }
      if (before.is === 'waiting' && before.invocation) put(draft, index, evolveInvocation(before, event))
  }
}

/** What a workflow names for one agent of its own is no choice for others. */
const namesModel = ({ agent }: Invoking): boolean => 'inline' in agent && agent.inline.model !== undefined

/** What one attempt of a node leaves to the next: calls that are paid for, and the one that was lost last. */
function carried(before: NodeState): Pick<Extract<NodeState, { is: 'retrying' }>, 'paid' | 'spoiled'> {
  if (before.is !== 'waiting' && before.is !== 'retrying') return {}
  const { told = 0, uses = 0 } = before.is === 'waiting' ? before : {}
  const { calls: paidCalls, uses: paidUses } = before.paid ?? { calls: 0, uses: 0 }
  const paid = { calls: Math.max(told, paidCalls), uses: Math.max(uses, paidUses) }
  return {
    ...(paid.calls + paid.uses > 0 ? { paid } : {}),
    ...(before.spoiled === undefined ? {} : { spoiled: before.spoiled }),
  }
}

/** R-LIVE-3: within a run, one role and class of agent has one model. */
export const modelUse = (role: string, modelClass: string): string => `${role}:${modelClass}`

function begin(
  plan: Plan,
  event: Recorded,
  started: Readonly<RunStarted>,
  secret: RunStartedSecret | undefined,
  fork: Fork | undefined,
): Active {
  const defaults: [string, JsonObject[string]][] = []
  for (const { name, defaultValue } of plan.variables.values())
    if (defaultValue !== undefined && !started.unsetInputs?.includes(name)) defaults.push([name, defaultValue])
  const channels: [string, JsonObject[string]][] = []
  for (const [name, channel] of plan.channels) if (channel.default !== undefined) channels.push([name, channel.default])
  return {
    phase: 'active',
    mode: { kind: 'running' },
    runId: event.runId,
    ...(fork ? { fork } : {}),
    started,
    startedAt: event.at,
    next: event.sequence + 1,
    lastAt: event.at,
    variables: { ...Object.fromEntries(defaults), ...started.inputs, ...secret?.inputs },
    channels: Object.fromEntries(channels),
    hidden: {
      variables: [...new Set([...namesOfSensitive(plan.variables), ...Object.keys(secret?.inputs ?? {})])],
      channels: namesOfSensitive(plan.channels),
    },
    secretInputs: secret?.inputs ?? {},
    nodes: plan.nodes.map(() => IDLE),
    starts: plan.nodes.map(() => 0),
    passes: plan.nodes.map(() => 0),
    open: [],
    touched: plan.entry,
    executions: 0,
    asks: plan.nodes.map(() => 0),
    idleMs: 0,
    idleSince: null,
    diverged: false,
    ...(secret?.gates ? { gates: secret.gates } : {}),
  }
}

const end = (state: Active, event: Recorded, outcome: Outcome): Ended => ({
  phase: 'ended',
  endedAt: event.at,
  outcome,
  runId: state.runId,
  ...(state.fork ? { fork: state.fork } : {}),
  started: state.started,
  startedAt: state.startedAt,
  next: event.sequence + 1,
  lastAt: event.at,
  variables: state.variables,
  channels: state.channels,
  hidden: state.hidden,
  secretInputs: state.secretInputs,
  nodes: state.nodes,
  starts: state.starts,
  passes: state.passes,
  open: [],
  touched: [],
  executions: state.executions,
  asks: state.asks,
  idleMs: state.idleMs,
  idleSince: null,
  diverged: state.diverged,
  ...(state.orchestrator ? { orchestrator: state.orchestrator } : {}),
  ...(state.agentId === undefined ? {} : { agentId: state.agentId }),
  ...(state.models ? { models: state.models } : {}),
  ...(state.spend ? { spend: state.spend } : {}),
  ...(state.budget ? { budget: state.budget } : {}),
  ...(state.gates ? { gates: state.gates } : {}),
  ...(state.slots ? { slots: state.slots } : {}),
  ...(state.verification ? { verification: state.verification } : {}),
  ...(state.reworks ? { reworks: state.reworks } : {}),
  ...(state.gaveUp ? { gaveUp: state.gaveUp } : {}),
})

const askedBy = ({ payload, secret, at }: Extract<Recorded, { type: 'interrupt.requested' }>): Asked => ({
  interruptId: payload.interruptId,
  key: payload.key,
  kind: payload.kind,
  data: secret?.data ?? payload.data,
  shown: payload.data,
  ...(payload.resumeSchema === undefined ? {} : { resumeSchema: payload.resumeSchema }),
  ...(payload.timeoutMs === undefined ? {} : { timeoutMs: payload.timeoutMs }),
  requestedAt: at,
  votes: [],
})

/** Keeps account of the time in which nothing but someone outside can move the run. */
function rest(draft: Draft): void {
  const { mode, open, nodes } = draft
  const idle = mode.kind === 'paused' || (open.length > 0 && open.every(index => waitsForSomeone(nodes[index]!)))
  if (idle && draft.idleSince === null) draft.idleSince = draft.lastAt
  if (idle || draft.idleSince === null) return
  draft.idleMs += draft.lastAt - draft.idleSince
  draft.idleSince = null
}

/** One worker that is at work is enough for the run not to rest. */
const waitsForSomeone = (node: NodeState): boolean =>
  node.is === 'waiting' &&
  (node.asked !== undefined || childStatusOf(node) !== undefined) &&
  !(node.workers ?? []).some(worker => worker.is === 'running' && worker.childStatus === undefined)

/**
 * The run goes on as one of its own: between the event it was cut at and now, time stood still. Children belong to the
 * source; those it still waits for are started anew.
 */
function branch(draft: Draft, { configurable, tags, metadata, principalScope }: RunForked, away: number): void {
  const { configurable: before } = draft.started
  draft.started = {
    ...draft.started,
    ...(configurable === undefined ? {} : { configurable: { ...before, ...configurable } }),
    ...(tags === undefined ? {} : { tags }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(principalScope === undefined ? {} : { principalScope }),
  }
  // Whoever branches off may let the run spend more, or less; what it has spent stays spent.
  if (configurable?.budget !== undefined) draft.budget = ceilingsOf(draft)
  draft.startedAt += away
  if (draft.idleSince !== null) draft.idleSince += away
  if (draft.mode.kind === 'paused' || draft.mode.kind === 'pausing') draft.mode = { kind: 'running' }
  for (const index of draft.open) {
    const node = draft.nodes[index]!
    if (node.is === 'waiting') {
      const asked = node.asked && { asked: { ...node.asked, requestedAt: node.asked.requestedAt + away } }
      const workers = node.workers && { workers: orphaned(node.workers) }
      // Calls that the source has paid for are not this run's: what it makes of its own, it pays for.
      const invocation = node.invocation && { invocation: { ...node.invocation, inherited: true as const } }
      const gating = node.gating && { gating: orphanedJudges(node.gating, away) }
      const due = node.inspection?.dueAt
      const inspection = due !== undefined && { inspection: { ...node.inspection!, dueAt: due + away } }
      const { told: _told, uses: _uses, paid: _paid, spoiled: _spoiled, ...others } = node
      const moved = { ...asked, ...workers, ...invocation, ...gating, ...inspection }
      put(draft, index, { ...others, ...moved, sinceAt: node.sinceAt + away })
    } else if (node.is === 'retrying') {
      const { paid: _paid, spoiled: _spoiled, ...others } = node
      put(draft, index, { ...others, dueAt: node.dueAt + away })
    }
  }
  rest(draft)
}

/** Another pass. If the body runs again, its nodes are as if they had never run. */
function turnLoop(plan: Plan, draft: Draft, index: number, port: string | undefined): void {
  if (port === 'done') return
  const nodes = draft.nodes.slice()
  const passes = draft.passes.slice()
  passes[index] = (passes[index] ?? 0) + 1
  if (port === 'again') draft.touched = including(draft.touched, index)
  else
    for (const inner of plan.nodes[index]!.body) {
      nodes[inner] = IDLE
      passes[inner] = 0
    }
  draft.nodes = nodes
  draft.passes = passes
}

function folded(plan: Plan, channels: Active['channels'], event: Extract<Recorded, { type: 'channel.written' }>) {
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

/** Workers and people go on by themselves; an agent goes on from its latest round. */
const OUTLASTS_PAUSE: ReadonlySet<Wait['kind']> = new Set(['handoff', 'interrupt', 'agent', 'judge', 'exit'])

/** An immediate pause stops what the host itself was doing; children are runs of their own and go on. */
function interrupt(draft: Draft): void {
  for (const index of draft.open) {
    const node = draft.nodes[index]!
    if (node.is === 'waiting' && !OUTLASTS_PAUSE.has(node.wait.kind))
      put(draft, index, { is: 'interrupted', attempt: node.attempt, failures: node.failures })
  }
}

/** The node is done with; those its edges lead to may have their turn now. */
function settle(plan: Plan, draft: Draft, index: number, node: NodeState): void {
  put(draft, index, node)
  // What is passed over has not been done again, and the run must not end as if it had.
  if (draft.feedback && node.is !== 'skipped') heeded(draft, placeOf(plan.nodes[index]!.node.id))
  draft.open = without(draft.open, index)
  draft.touched = without(draft.touched, index)
  for (const edge of plan.nodes[index]!.outbound) draft.touched = including(draft.touched, edge.target)
  if (draft.open.length > 0 || draft.idleSince !== null) rest(draft)
}

const withName = (names: readonly string[], name: string): readonly string[] =>
  names.includes(name) ? names : [...names, name]

const namesOfSensitive = (declared: ReadonlyMap<string, { readonly sensitive?: boolean }>): string[] =>
  [...declared].filter(([, { sensitive }]) => sensitive).map(([name]) => name)
