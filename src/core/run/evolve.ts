import { chargesOf, evolveHeld, evolveSpend, evolveVerification, paidOf } from '../budget/evolve.js'
import type { JsonObject } from '../json.js'
import { absent } from '../present.js'
import type { Fork } from '../replay/events.js'
import { branch } from '../replay/evolve.js'
import { evolveOrchestrator } from '../supervisor/evolve.js'
import { evolveCosts } from '../verification/cost.js'
import { regated } from '../verification/evolve-rework.js'
import { type Plan, planNodeOf } from '../workflow/plan.js'
import { type Draft, putNode } from './draft.js'
import type { Recorded, RunStarted, RunStartedSecret } from './events.js'
import { evolveNode, IDLE } from './evolve-node.js'
import type { ForeignEvent } from '../handoff/foreign-cause.js'
import { rest } from './idle-time.js'
import { type Active, type Ended, type NodeState, nodeAt, outlasting, type RunOutcome, type RunState } from './state.js'

/** Folds one event into the state. Holds no rule, refuses nothing: what is in the log has happened. */
export function evolve(plan: Plan, state: RunState, event: Recorded): RunState {
  if (state.phase === 'absent')
    return event.type === 'run.started' ? begin(plan, event, event.payload, event.secret, state.fork) : state
  if (state.phase === 'ended') return { ...state, next: event.sequence + 1, lastAt: event.at }
  const outcome = outcomeOf(event)
  if (outcome) return end(state, event, outcome)
  const draft: Draft = { ...state, next: event.sequence + 1, lastAt: event.at }
  if (event.foreignCause !== undefined && draft.origin?.eventId === event.foreignCause) delete draft.origin
  const { nodeId } = event
  const planNode =
    nodeId === undefined ? undefined : (planNodeOf(plan, nodeId) ?? absent(`node "${nodeId}" in the plan`))
  charge(draft, event, planNode && state.nodes[planNode.index])
  if (planNode === undefined) evolveRun(draft, event, state.lastAt)
  else {
    if (event.type === 'replay.divergedAtRefusal' && event.payload.sourceRunId === draft.fork?.sourceRunId)
      draft.diverged = true
    const loop = planNode.type.role && evolveOrchestrator(planNode, state, event)
    if (loop) draft.orchestrator = loop
    evolveNode(plan, draft, event, planNode)
  }
  return draft
}

/** What the event has cost, in the ledgers of the run and at the place whose work it is. */
function charge(draft: Draft, event: Recorded, node: NodeState | undefined): void {
  const charges = chargesOf(event, node)
  const held = evolveHeld(draft, charges)
  if (held) draft.held = held
  const paid = paidOf(charges)
  const spend = evolveSpend(draft, paid)
  if (spend) draft.spend = spend
  const verification = spend && evolveVerification(draft, paid)
  if (verification) draft.verification = verification
  const costs = draft.gated && evolveCosts(draft.gated, event, node, paid)
  if (costs && costs !== draft.gated?.costs) regated(draft, { costs })
}

function outcomeOf(event: Recorded): RunOutcome | undefined {
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

const completedWith = ({ outputs, goalSatisfied, against }: Completed): RunOutcome => ({
  status: 'completed',
  outputs,
  ...(goalSatisfied === undefined ? {} : { goalSatisfied }),
  ...(against === undefined ? {} : { against }),
})

type Completed = Extract<Recorded, { type: 'run.completed' }>['payload']

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
      if (event.secret?.journal) draft.journal = event.secret.journal
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
      draft.warned = [...draft.warned, event.payload.dimension]
  }
}

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
  const draft: Draft = {
    phase: 'active',
    mode: { kind: 'running' },
    runId: event.runId,
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
    models: {},
    warned: [],
    gaveUp: [],
  }
  if (fork) draft.fork = fork
  if (started.foreignParent) draft.origin = originIn(started.foreignParent)
  if (secret?.withheld) draft.withheld = secret.withheld
  if (secret?.journal) draft.journal = secret.journal
  if (secret?.gates) draft.gated = { gates: secret.gates, slots: {}, reworks: 0, feedback: {}, costs: {} }
  return draft
}

const originIn = ({ hostId, eventId }: ForeignEvent): ForeignEvent => ({ hostId, eventId })

/** Every run passes here: what is left is made once and filled up, not copied. */
const end = (state: Active, event: Recorded, outcome: RunOutcome): Ended =>
  Object.assign(outlasting(state), {
    phase: 'ended' as const,
    next: event.sequence + 1,
    lastAt: event.at,
    endedAt: event.at,
    outcome,
  })

/**
 * An immediate pause stops what the host itself was doing. Workers and people go on by themselves; an agent goes on from
 * its latest round.
 */
function interrupt(draft: Draft): void {
  for (const index of draft.open) {
    const node = nodeAt(draft, index)
    if (node.is === 'waiting' && node.on === 'host')
      putNode(draft, index, { is: 'interrupted', attempt: node.attempt, failures: node.failures })
  }
}

const namesOfSensitive = (declared: ReadonlyMap<string, { readonly sensitive?: boolean }>): string[] =>
  [...declared].filter(([, { sensitive }]) => sensitive).map(([name]) => name)
