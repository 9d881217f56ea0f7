import pc from 'picocolors'
import type { RunEventDoc, WireError } from '../../client/wire-shapes.js'
import { foldEvent } from '../../core/view/fold.js'
import type { PublicEvent } from '../../core/view/public-event.js'
import {
  type Activity,
  type ActivityEntry,
  emptyView,
  isSettled,
  type NodeView,
  type RunView,
} from '../../core/view/run-view.js'
import { waitsForSomeone } from '../../core/view/status.js'
import { printable } from '../terminal/terminal.js'
import { headline } from './interrupt-text.js'
import { entryText, loopText } from './loop-text.js'

/** A run as its events tell it, under the title it is shown with. */
export type Progress = RunView & { readonly title: string }

export const noProgress = (title: string): Progress => ({ ...emptyView(), title })

/** The progress that it is given is used up, like any view. */
export const advanceProgress = (progress: Progress, event: RunEventDoc): Progress => ({
  ...foldEvent(progress, event),
  title: progress.title,
})

type NodeState = 'running' | 'retrying' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'cancelled'

/** How a node is marked: as settled only while nothing has been told of it since. */
function stateOf(node: NodeView): NodeState {
  if (waitsForSomeone(node)) return 'waiting'
  if (node.status === 'retrying') return 'retrying'
  const isLast = node.settled !== undefined && node.settled.sequence === node.latest?.sequence
  return isLast && isSettled(node) ? (node.status as NodeState) : 'running'
}

const isOpen = (node: NodeView): boolean => ['running', 'retrying', 'waiting'].includes(stateOf(node))

const receiptText = ({ peer, evidence, label, why }: { readonly [name: string]: unknown }): string =>
  evidence === true ? `peer ${peer}: its receipt says ${label}` : `peer ${peer}: its receipt is no evidence: ${why}`

function noteOf(event: PublicEvent): string | undefined {
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
    case 'assay.peer.silent':
    case 'assay.peer.lost':
      return `peer ${payload.peer}: ${payload.reason}`
    case 'assay.peer.receipt':
      return receiptText(payload)
    case 'assay.peer.heard':
    case 'assay.peer.released':
      return `peer ${payload.peer}`
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
    case 'replay.divergedAtRefusal':
      return `from ${payload.originalEventId}: ${payload.originalEnvelopeKind} then, ${payload.replayEnvelopeKind} now`
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
const MARKS: { readonly [state in NodeState]: string } = {
  running: '',
  retrying: pc.yellow('↻'),
  waiting: pc.yellow('◷'),
  completed: pc.green('✓'),
  failed: pc.red('✗'),
  skipped: pc.dim('–'),
  cancelled: pc.dim('⊘'),
}

const LOOP_MARKS: { readonly [state in ActivityEntry['is']]: string } = {
  decided: pc.cyan('◆'),
  doubted: pc.yellow('!'),
  open: '',
  completed: MARKS.completed,
  failed: MARKS.failed,
  cancelled: MARKS.cancelled,
}

/** What has been decided and handed over, the latest of it. */
function loopFrame({ entries, count }: Activity, spin: string, rows: number): string[] {
  const shown = entries.slice(-rows)
  const hidden = count - shown.length
  return [
    ...(hidden > 0 ? [pc.dim(`  … ${hidden} before`)] : []),
    ...shown.map(entry => {
      const { is, childRunId } = entry
      const run = childRunId === undefined ? '' : pc.dim(`  run ${printable(childRunId)}`)
      return `  ${LOOP_MARKS[is] || spin} ${printable(entryText(entry))}${run}`
    }),
  ]
}

/** The whole picture, at most `rows` nodes of it: the open ones and the latest others; then the loop, half as much. */
export function frame(progress: Progress, tick: number, rows = 16): string[] {
  const spin = pc.cyan(SPINNER[tick % SPINNER.length] as string)
  const entries = [...progress.nodes].filter(([, node]) => node.latest !== undefined)
  const shown =
    entries.length <= rows ? entries : entries.filter(([, node], i) => isOpen(node) || i >= entries.length - rows)
  const hidden = entries.length - Math.min(shown.length, rows)
  const status = statusWord(
    progress,
    entries.map(([, node]) => node),
  )
  return [
    `${statusMark(status, spin)} ${pc.bold(printable(progress.title))} ${pc.dim(status)}${elapsed(progress.startedAt, progress.endedAt)}`,
    ...(hidden > 0 ? [pc.dim(`  … ${hidden} more`)] : []),
    ...shown.slice(-rows).map(([id, node]) => `  ${MARKS[stateOf(node)] || spin} ${nodeText(id, node)}`),
    ...loopFrame(progress.activity, spin, Math.floor(rows / 2)),
  ]
}

function statusWord({ mode }: Progress, nodes: readonly NodeView[]): string {
  if (mode === 'absent') return 'pending'
  if (mode !== 'running' && mode !== 'cancelling' && mode !== 'stopping') return mode
  return nodes.some(node => stateOf(node) === 'waiting') ? 'waiting' : 'running'
}

function nodeText(id: string, node: NodeView): string {
  const times = node.starts > 1 ? pc.dim(` ×${node.starts}`) : ''
  const text = node.latest && noteOf(node.latest)
  const note = text === undefined ? '' : pc.dim(`  ${printable(text)}`)
  return `${printable(id)}${times}${elapsed(node.startedAt, isOpen(node) ? undefined : node.settled?.at)}${note}`
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
