import type { Fields, LoggedEvent, RunLog } from './checked.js'
import { nodesReachableFrom } from './graph.js'
import { invokes } from './invocation/invocations.js'
import { fields, get, number, text } from './json.js'

/** Where a node stands, as the events so far tell it. */
export type NodePhase =
  | 'idle'
  | 'running'
  | 'suspended'
  | 'retrying'
  /** Running when an immediate pause came. */
  | 'interrupted'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'cancelled'

export type NodeTrack = {
  phase: NodePhase
  /** Number of the latest start since the node last settled; -1 before the first. */
  attempt: number
  /** Retries announced since the node last settled. */
  retries: number
  /** The child the current attempt was handed to. */
  childRunId: string | undefined
  /** What the children at work were last said to be doing. */
  childStatuses: Map<string, string>
  /** The latest `node.started`. */
  startedBy: LoggedEvent | undefined
  /** How many times the node has settled. */
  settled: number
  /** Its work is done by an agent, which rests during a pause and goes on after it. */
  invokes: boolean
  /** An agent is at work in it. */
  invoked: boolean
  /** What that agent waits for. */
  calling: 'model' | 'tool' | undefined
  /** Its phase when the run reached the gates at its exit; set while those hold the result. */
  leaving: NodePhase | undefined
}

export type RunTrack = {
  started: boolean
  /** A pause was asked for and has not happened yet. */
  pausing: boolean
  paused: boolean
  stop: LoggedEvent | undefined
  terminal: LoggedEvent | undefined
  /** Entries into `started`, over all nodes. */
  executions: number
  /** As it was asked for when the run started, with what a branch has laid over it. */
  configurable: Fields
  /** Entries into `started` that a branch took over from its source. */
  inherited: number
}

/** `run` and `node` show the moment just before `event`. They change afterwards: read, do not keep. */
export type Step = {
  readonly event: LoggedEvent
  readonly run: Readonly<RunTrack>
  readonly node: Readonly<NodeTrack> | undefined
  readonly nodes: ReadonlyMap<string, Readonly<NodeTrack>>
}

export const TERMINAL: readonly string[] = ['run.completed', 'run.failed', 'run.cancelled']

export const SETTLED: readonly NodePhase[] = ['completed', 'failed', 'skipped', 'cancelled']

/** Waits for runs of its own, which go on while this one is paused; the node does no work itself. */
export const waitsForChild = (node: Readonly<NodeTrack>): boolean =>
  node.childRunId !== undefined || HANDS_OUT.includes(text(node.startedBy?.payload.typeId) ?? '')

/** `assay.judge` hands work to verifiers. */
const HANDS_OUT: readonly string[] = ['core.subWorkflow', 'core.dispatch', 'assay.judge']

export const NODE_EVENTS: readonly string[] = [
  'node.started',
  'node.dispatched',
  'node.completed',
  'node.failed',
  'node.retried',
  'node.skipped',
  'node.cancelled',
  'node.suspended',
  'node.suspend-failed',
  'node.resumed',
]

/** Visits the log event by event. An illegal event is applied as if it were legal, so that one mistake is one finding. */
export function walk(log: RunLog, visit: (step: Step) => void = () => undefined): Omit<Step, 'event' | 'node'> {
  const nodes = new Map<string, NodeTrack>()
  const run: RunTrack = {
    started: false,
    pausing: false,
    paused: false,
    stop: undefined,
    terminal: undefined,
    executions: 0,
    configurable: fields(log.started.configurable),
    inherited: 0,
  }
  for (const event of log.events) {
    const node = event.node !== undefined && NODE_EVENTS.includes(event.type) ? trackOf(nodes, event.node) : undefined
    visit({ event, run, node, nodes })
    if (node !== undefined) applyToNode(node, event)
    if (event.type === 'node.started' && node !== undefined)
      node.invokes = invokes(log, event.node, text(event.payload.typeId))
    applyToAgent(log, nodes, event)
    applyToExit(log, nodes, event)
    applyToRun(run, nodes, event)
  }
  return { run, nodes }
}

function trackOf(nodes: Map<string, NodeTrack>, id: string): NodeTrack {
  const known = nodes.get(id)
  if (known !== undefined) return known
  const fresh: NodeTrack = {
    phase: 'idle',
    attempt: -1,
    retries: 0,
    childRunId: undefined,
    childStatuses: new Map(),
    startedBy: undefined,
    settled: 0,
    invokes: false,
    invoked: false,
    calling: undefined,
    leaving: undefined,
  }
  nodes.set(id, fresh)
  return fresh
}

function applyToNode(node: NodeTrack, event: LoggedEvent): void {
  switch (event.type) {
    case 'node.started': {
      const freshRound = node.phase !== 'retrying' && node.phase !== 'interrupted'
      if (freshRound) node.retries = 0
      node.attempt = number(event.payload.attempt) ?? (freshRound ? 0 : node.attempt + 1)
      node.phase = 'running'
      node.childRunId = undefined
      node.childStatuses.clear()
      node.startedBy = event
      return
    }
    case 'node.dispatched':
      node.childRunId = text(event.payload.childRunId)
      node.childStatuses.set(String(event.payload.childRunId), 'running')
      return
    case 'node.retried':
      node.phase = 'retrying'
      node.retries += 1
      return
    case 'node.suspended':
      node.phase = 'suspended'
      return
    case 'node.resumed':
      node.phase = 'running'
      return
    case 'node.suspend-failed':
      return
    default:
      node.phase = event.type.slice('node.'.length) as NodePhase
      node.settled += 1
      node.leaving = undefined
  }
}

/** A gate at the exit may send the run back to a node: that node and all after it count as not yet run. */
function applyToExit({ graph }: RunLog, nodes: Map<string, NodeTrack>, event: LoggedEvent): void {
  const { type, payload, node: id = '' } = event
  if (type === 'assay.result.staged' && payload.point === 'run') {
    const node = trackOf(nodes, id)
    node.leaving = node.phase
    node.phase = 'running'
  }
  if (type !== 'assay.rework.began') return
  const { point } = payload
  if (point !== 'run') {
    // Work that was sent back begins anew in the same attempt of the node: another child, another first try.
    const node = trackOf(nodes, id)
    node.childRunId = undefined
    if (point === 'node') Object.assign(node, { attempt: 0, retries: 0 })
    return
  }
  for (const node of nodes.values())
    if (node.leaving !== undefined) Object.assign(node, { phase: node.leaving, leaving: undefined })
  for (const undone of nodesReachableFrom(graph, id))
    Object.assign(trackOf(nodes, undone), { phase: 'idle', settled: 0 })
}

function applyToAgent(log: RunLog, nodes: ReadonlyMap<string, NodeTrack>, event: LoggedEvent): void {
  const node = nodes.get(event.node ?? '')
  if (node === undefined) return
  switch (event.type) {
    case 'node.started':
    case 'agent.invocation.completed':
      node.invoked = false
      node.calling = undefined
      return
    case 'agent.invocation.started':
      node.invoked = true
      // Without the definition only this tells that an agent decides here, which rests during a pause.
      if (log.graph === undefined && node.phase === 'interrupted') node.phase = 'running'
      return
    case 'assay.model.requested':
      node.calling = 'model'
      return
    case 'agent.toolCalled':
      node.calling = node.invoked ? 'tool' : undefined
      return
    case 'provider.usage':
    case 'assay.model.lost':
    case 'agent.toolReturned':
      node.calling = undefined
  }
}

function applyToRun(run: RunTrack, nodes: Map<string, NodeTrack>, event: LoggedEvent): void {
  if (event.type === 'run.started') run.started = true
  else if (event.type === 'node.started') run.executions += 1
  else if (event.type === 'assay.pause.requested') run.pausing = true
  else if (event.type === 'assay.stop.requested') run.stop ??= event
  else if (event.type === 'run.paused') {
    run.paused = true
    run.pausing = false
    if (get(event.payload, 'drainPolicy') !== 'immediate') return
    for (const node of nodes.values())
      if (node.phase === 'running' && !node.invokes && !node.invoked && node.leaving === undefined)
        node.phase = 'interrupted'
  } else if (event.type === 'run.resumed') run.paused = false
  else if (event.type === 'assay.child.status')
    trackOf(nodes, event.node ?? '').childStatuses.set(String(event.payload.childRunId), String(event.payload.status))
  else if (event.type === 'core.workflowChain.event' && text(event.payload.phase)?.startsWith('child.'))
    trackOf(nodes, event.node ?? '').childStatuses.delete(String(event.payload.childRunId))
  else if (event.type === 'assay.run.forked') branchOff(run, nodes, event)
  else if (TERMINAL.includes(event.type)) run.terminal ??= event
}

/** A branch goes on by itself: no pause of its source holds it, and children of its source are not its own. */
function branchOff(run: RunTrack, nodes: Map<string, NodeTrack>, event: LoggedEvent): void {
  run.paused = false
  run.pausing = false
  run.configurable = { ...run.configurable, ...fields(event.payload.configurable) }
  run.inherited = run.executions
  for (const node of nodes.values()) {
    node.childRunId = undefined
    node.childStatuses.clear()
  }
}
