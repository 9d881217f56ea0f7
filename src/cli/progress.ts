import pc from 'picocolors'
import type { Fields, RunEventDoc, RunStatus, WireError } from '../client/wire-shapes.js'
import { isWaiting } from './exit-code.js'
import { headline } from './interrupt.js'
import { advanceLoop, type LoopLine, type LoopProgress, loopText, noLoop } from './loop-progress.js'
import { printable } from './terminal.js'

/** A run as its events tell it, for showing to a person. */
export type Progress = {
  readonly title: string
  readonly status: string
  /** In the order they first started. */
  readonly nodes: ReadonlyMap<string, NodeProgress>
  readonly loop: LoopProgress
  readonly startedAt?: string
  readonly endedAt?: string
  readonly outputs?: Fields
  readonly error?: WireError
}

export type NodeProgress = {
  readonly state: 'running' | 'retrying' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'cancelled'
  readonly since: string
  readonly until?: string
  /** Times started. */
  readonly count: number
  readonly note?: string
}

export const noProgress = (title: string): Progress => ({
  title,
  status: 'pending',
  nodes: new Map(),
  loop: noLoop,
})

const NODE_STATES: { readonly [type: string]: NodeProgress['state'] } = {
  'node.started': 'running',
  'node.dispatched': 'running',
  'node.resumed': 'running',
  'node.retried': 'retrying',
  'interrupt.requested': 'waiting',
  'node.suspended': 'waiting',
  'assay.interrupt.voted': 'waiting',
  'assay.interrupt.asked': 'waiting',
  'node.completed': 'completed',
  'node.failed': 'failed',
  'node.skipped': 'skipped',
  'node.cancelled': 'cancelled',
}

const RUN_STATES: { readonly [type: string]: string } = {
  'run.started': 'running',
  'run.resumed': 'running',
  'run.paused': 'paused',
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
}

export function advance(before: Progress, event: RunEventDoc): Progress {
  const progress = { ...before, loop: advanceLoop(before.loop, event) }
  const status = RUN_STATES[event.type]
  if (status !== undefined) return advanceRun({ ...progress, status }, event)
  const state = nodeState(event)
  if (state === undefined || event.nodeId === undefined) return progress
  return { ...progress, nodes: advanceNode(progress.nodes, event, event.nodeId, state) }
}

function advanceNode(
  nodes: Progress['nodes'],
  event: RunEventDoc,
  nodeId: string,
  state: NodeProgress['state'],
): Progress['nodes'] {
  const before = nodes.get(nodeId)
  const note = noteOf(event) ?? (event.type === 'node.suspended' ? before?.note : undefined)
  const node: NodeProgress = {
    state,
    since: event.type === 'node.started' ? event.timestamp : (before?.since ?? event.timestamp),
    ...(!isOpen(state) && { until: event.timestamp }),
    count: (before?.count ?? 0) + (event.type === 'node.started' ? 1 : 0),
    ...(note !== undefined && { note }),
  }
  return new Map(nodes).set(nodeId, node)
}

function nodeState({ type, payload }: RunEventDoc): NodeProgress['state'] | undefined {
  if (type !== 'assay.child.status') return NODE_STATES[type]
  return isWaiting((payload as { status: RunStatus }).status) ? 'waiting' : 'running'
}

/** After this event the run may need someone; whether it does, the server knows. */
export const mayWait = (event: RunEventDoc): boolean =>
  event.type === 'run.paused' ||
  event.type === 'node.suspended' ||
  (event.type === 'assay.child.status' && nodeState(event) === 'waiting')

function advanceRun(progress: Progress, event: RunEventDoc): Progress {
  const { outputs, error } = (event.payload ?? {}) as { outputs?: Fields; error?: WireError }
  if (event.type === 'run.started') return { ...progress, startedAt: event.timestamp }
  if (!['completed', 'failed', 'cancelled'].includes(progress.status)) return progress
  return { ...progress, endedAt: event.timestamp, ...(outputs && { outputs }), ...(error && { error }) }
}

const isOpen = (state: NodeProgress['state']): boolean => ['running', 'retrying', 'waiting'].includes(state)

function noteOf(event: RunEventDoc): string | undefined {
  const told = loopText(event)
  if (told !== undefined) return told
  const payload = (event.payload ?? {}) as { [name: string]: unknown }
  const error = (payload.error ?? payload.lastError) as WireError | undefined
  if (event.type === 'node.retried') return `attempt ${payload.attempt} in ${payload.delayMs} ms: ${error?.message}`
  if (error !== undefined) return `${error.code}: ${error.message}`
  switch (event.type) {
    case 'node.dispatched':
      return `child run ${payload.childRunId}`
    case 'assay.child.status':
      return `child run ${payload.childRunId} ${payload.status}`
    case 'interrupt.requested':
      return `${payload.kind}: ${headline(String(payload.kind), Object(payload.data))}`
    case 'assay.interrupt.voted':
      return `${payload.voter} ${payload.action}`
    case 'interrupt.resolved':
      return `by ${payload.resolvedBy}: ${JSON.stringify(payload.resumeValue)}`
    case 'assay.run.forked':
      return `from ${payload.sourceRunId}:${payload.fromSeq}`
    case 'replay.diverged':
      return `from ${payload.originalEventId} ${payload.divergencePoint}`
  }
  return typeof payload.reason === 'string' ? payload.reason : undefined
}

/** One event as one plain line, for pipes, files and `runs events`. */
export function eventLine(event: RunEventDoc): string {
  const payload = (event.payload ?? {}) as { [name: string]: unknown }
  const note =
    noteOf(event) ??
    (event.type === 'run.completed' && payload.outputs !== undefined ? JSON.stringify(payload.outputs) : undefined) ??
    (event.type === 'channel.written' ? `${payload.channel} ← ${JSON.stringify(payload.value)}` : undefined) ??
    (event.type === 'variable.changed' ? `${payload.name} = ${JSON.stringify(payload.next)}` : undefined)
  const place = event.nodeId === undefined ? '' : ` ${event.nodeId}`
  const text = `${event.timestamp} ${String(event.sequence).padStart(4)} ${event.type}${place}${note ? `  ${note}` : ''}`
  return printable(text)
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const MARKS: { readonly [state in NodeProgress['state']]: string } = {
  running: '',
  retrying: pc.yellow('↻'),
  waiting: pc.yellow('◷'),
  completed: pc.green('✓'),
  failed: pc.red('✗'),
  skipped: pc.dim('–'),
  cancelled: pc.dim('⊘'),
}

const LOOP_MARKS: { readonly [state in LoopLine['is']]: string } = {
  decided: pc.cyan('◆'),
  doubted: pc.yellow('!'),
  open: '',
  completed: MARKS.completed,
  failed: MARKS.failed,
  cancelled: MARKS.cancelled,
}

/** What has been decided and handed over, the latest of it. */
function loopFrame({ lines, count }: LoopProgress, spin: string, rows: number): string[] {
  const shown = lines.slice(-rows)
  const hidden = count - shown.length
  return [
    ...(hidden > 0 ? [pc.dim(`  … ${hidden} before`)] : []),
    ...shown.map(({ is, text, childRunId }) => {
      const run = childRunId === undefined ? '' : pc.dim(`  run ${printable(childRunId)}`)
      return `  ${LOOP_MARKS[is] || spin} ${printable(text)}${run}`
    }),
  ]
}

/** The whole picture, at most `rows` nodes of it: the open ones and the latest others; then the loop, half as much. */
export function frame(progress: Progress, tick: number, rows = 16): string[] {
  const spin = pc.cyan(SPINNER[tick % SPINNER.length] as string)
  const entries = [...progress.nodes]
  const shown =
    entries.length <= rows ? entries : entries.filter(([, node], i) => isOpen(node.state) || i >= entries.length - rows)
  const hidden = entries.length - Math.min(shown.length, rows)
  const status =
    progress.status === 'running' && entries.some(([, { state }]) => state === 'waiting') ? 'waiting' : progress.status
  return [
    `${statusMark(status, spin)} ${pc.bold(printable(progress.title))} ${pc.dim(status)}${elapsed(progress.startedAt, progress.endedAt)}`,
    ...(hidden > 0 ? [pc.dim(`  … ${hidden} more`)] : []),
    ...shown.slice(-rows).map(([id, node]) => `  ${MARKS[node.state] || spin} ${nodeText(id, node)}`),
    ...loopFrame(progress.loop, spin, Math.floor(rows / 2)),
  ]
}

function nodeText(id: string, node: NodeProgress): string {
  const times = node.count > 1 ? pc.dim(` ×${node.count}`) : ''
  const note = node.note === undefined ? '' : pc.dim(`  ${printable(node.note)}`)
  return `${printable(id)}${times}${elapsed(node.since, node.until)}${note}`
}

function statusMark(status: string, spin: string): string {
  const marks: { [status: string]: string } = {
    completed: MARKS.completed,
    failed: MARKS.failed,
    cancelled: MARKS.cancelled,
    paused: MARKS.waiting,
    waiting: MARKS.waiting,
  }
  return marks[status] ?? spin
}

function elapsed(from: string | undefined, to: string | undefined): string {
  if (from === undefined || to === undefined) return ''
  const ms = Date.parse(to) - Date.parse(from)
  return pc.dim(ms < 1000 ? `  ${ms} ms` : `  ${(ms / 1000).toFixed(1)} s`)
}
