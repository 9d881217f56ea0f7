import { type JsonObject, withKey } from '../json.js'
import { reduce } from './channels.js'
import type { Recorded, RunStarted, RunStartedSecret } from './event.js'
import type { Plan } from './plan.js'
import type { Active, Ended, NodeState, Outcome, RunState } from './state.js'

const IDLE: NodeState = { is: 'idle' }

/** Folds one event into the state. Holds no rule, refuses nothing: what is in the log has happened. */
export function evolve(plan: Plan, state: RunState, event: Recorded): RunState {
  if (state.phase === 'absent')
    return event.type === 'run.started' ? begin(plan, event, event.payload, event.secret) : state
  const told = { ...state, next: event.sequence + 1, lastAt: event.at }
  switch (event.type) {
    case 'run.completed':
      return ended(told, event.at, { status: 'completed', outputs: event.payload.outputs })
    case 'run.failed': {
      const { error, failedNodeId } = event.payload
      return ended(
        told,
        event.at,
        failedNodeId === undefined ? { status: 'failed', error } : { status: 'failed', error, failedNodeId },
      )
    }
    case 'run.cancelled': {
      const { reason } = event.payload
      return ended(told, event.at, reason === undefined ? { status: 'cancelled' } : { status: 'cancelled', reason })
    }
    case 'variable.changed': {
      const { name, next } = event.payload
      return { ...told, variables: withKey(state.variables, name, event.secret?.next ?? next) }
    }
    case 'channel.written':
      return { ...told, channels: withKey(state.channels, event.payload.channel, folded(plan, state.channels, event)) }
    default:
      return told.phase === 'ended' ? told : evolveActive(plan, told, event)
  }
}

function evolveActive(plan: Plan, state: Active, event: Recorded): RunState {
  switch (event.type) {
    case 'assay.pause.requested':
      return { ...state, mode: { kind: 'pausing', ...event.payload } }
    case 'run.paused': {
      const paused: Active = { ...state, mode: { kind: 'paused', at: event.at } }
      return event.payload.drainPolicy === 'immediate' ? interrupt(paused) : paused
    }
    case 'run.resumed': {
      const pausedMs = state.mode.kind === 'paused' ? event.at - state.mode.at : 0
      return { ...state, mode: { kind: 'running' }, pausedMs: state.pausedMs + pausedMs }
    }
    case 'assay.stop.requested':
      return { ...state, mode: { kind: 'stopping', stop: event.payload }, touched: [] }
    default:
      return event.nodeId === undefined ? state : evolveNode(plan, state, event, plan.indexOf.get(event.nodeId)!)
  }
}

function evolveNode(plan: Plan, state: Active, event: Recorded, index: number): Active {
  const before = state.nodes[index] ?? IDLE
  const since = event.sequence
  switch (event.type) {
    case 'node.started': {
      const { attempt } = event.payload
      const counted = {
        ...untouch(state, index),
        executions: state.executions + 1,
        starts: attempt === 0 ? replaced(state.starts, index, (state.starts[index] ?? 0) + 1) : state.starts,
      }
      const failures = before.is === 'retrying' || before.is === 'interrupted' ? before.failures : 0
      const wait = event.secret?.wait ?? { kind: 'none' }
      return open(withNode(counted, index, { is: 'waiting', attempt, failures, since, sinceAt: event.at, wait }), index)
    }
    case 'node.dispatched':
      return before.is === 'waiting'
        ? withNode(state, index, { ...before, childRunId: event.payload.childRunId })
        : state
    case 'node.retried': {
      const { attempt, delayMs } = event.payload
      const failures = before.is === 'waiting' ? before.failures + 1 : 1
      return open(
        withNode(state, index, { is: 'retrying', attempt, failures, dueAt: event.at + delayMs, since }),
        index,
      )
    }
    case 'node.completed': {
      const outputs: JsonObject = event.secret?.outputs ?? event.payload.outputs
      const settled = settle(plan, withNode(state, index, { is: 'completed', outputs, since }), index)
      return plan.nodes[index]!.type.loops ? turnLoop(plan, settled, index, outputs) : settled
    }
    case 'node.failed':
      return settle(plan, withNode(state, index, { is: 'failed', error: event.payload.error, since }), index)
    case 'node.skipped':
      return settle(plan, withNode(state, index, { is: 'skipped', since }), index)
    case 'node.cancelled':
      return close(withNode(state, index, { is: 'cancelled', since }), index)
    default:
      return state
  }
}

function begin(
  plan: Plan,
  event: Recorded,
  started: Readonly<RunStarted>,
  secret: RunStartedSecret | undefined,
): Active {
  const defaults: [string, JsonObject[string]][] = []
  for (const { name, defaultValue } of plan.variables.values())
    if (defaultValue !== undefined) defaults.push([name, defaultValue])
  const channels: [string, JsonObject[string]][] = []
  for (const [name, channel] of plan.channels) if (channel.default !== undefined) channels.push([name, channel.default])
  return {
    phase: 'active',
    mode: { kind: 'running' },
    runId: event.runId,
    started,
    startedAt: event.at,
    next: event.sequence + 1,
    lastAt: event.at,
    variables: { ...Object.fromEntries(defaults), ...started.inputs, ...secret?.inputs },
    channels: Object.fromEntries(channels),
    nodes: plan.nodes.map(() => IDLE),
    starts: plan.nodes.map(() => 0),
    passes: plan.nodes.map(() => 0),
    open: [],
    touched: plan.entry,
    executions: 0,
    pausedMs: 0,
  }
}

const ended = (state: Active | Ended, endedAt: number, outcome: Outcome): Ended => {
  const { mode: _mode, ...told } = { mode: undefined, ...state }
  return { ...told, phase: 'ended', endedAt, outcome, open: [], touched: [] }
}

/** The body runs again: its nodes are as if they had never run. */
function turnLoop(plan: Plan, state: Active, index: number, outputs: JsonObject): Active {
  if (outputs.continue !== true) return state
  const nodes = [...state.nodes]
  const passes = replaced(state.passes, index, (state.passes[index] ?? 0) + 1)
  for (const inner of plan.nodes[index]!.body) {
    nodes[inner] = IDLE
    passes[inner] = 0
  }
  return { ...state, nodes, passes }
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

/** An immediate pause stops what the host itself was doing; children are runs of their own and go on. */
function interrupt(state: Active): Active {
  let next = state
  for (const index of state.open) {
    const node = state.nodes[index]!
    if (node.is === 'waiting' && node.wait.kind !== 'child')
      next = withNode(next, index, { is: 'interrupted', attempt: node.attempt, failures: node.failures })
  }
  return next
}

const withNode = (state: Active, index: number, node: NodeState): Active => ({
  ...state,
  nodes: replaced(state.nodes, index, node),
})

function replaced<T>(list: readonly T[], index: number, value: T): T[] {
  const copy = list.slice()
  copy[index] = value
  return copy
}

const settle = (plan: Plan, state: Active, index: number): Active =>
  touch(
    close(untouch(state, index), index),
    plan.nodes[index]!.outbound.map(edge => edge.target),
  )

const open = (state: Active, index: number): Active =>
  state.open.includes(index) ? state : { ...state, open: [...state.open, index].sort((a, b) => a - b) }

const close = (state: Active, index: number): Active => ({
  ...state,
  open: state.open.filter(other => other !== index),
})

const untouch = (state: Active, index: number): Active =>
  state.touched.includes(index) ? { ...state, touched: state.touched.filter(other => other !== index) } : state

function touch(state: Active, targets: readonly number[]): Active {
  const fresh = targets.filter((target, i) => !state.touched.includes(target) && targets.indexOf(target) === i)
  return fresh.length === 0 ? state : { ...state, touched: [...state.touched, ...fresh].sort((a, b) => a - b) }
}
