import { chance } from './choice.js'
import { type Asked, answerTo, type Closing, olderRequest, type Question, questionFor } from './questions.js'
import type { SimulatedRun } from './simulated-run.js'
import type { NodeState } from './simulated-state.js'
import type { Node } from './workflows.js'

/** Nobody answers: a clarification, say, is then answered by nothing. */
export type Silence = {
  readonly value: { readonly action?: unknown; readonly answers?: unknown } | null
  readonly by: string
}

/** A node asks someone outside and waits. */
export function ask(
  run: SimulatedRun,
  node: Node,
  state: NodeState,
  question: Question = questionFor(node.typeId, run.world.choose),
  cause?: number,
): void {
  const { choose } = run.world
  const { kind, data, suspended = {} } = question
  const nodeId = node.id
  const limits = chance(choose, 2) ? { timeoutMs: 10 + choose(200) } : {}
  const [interruptId, requestedAt, key] = [`int-${run.events.length}`, run.time(), `${nodeId}:${state.asks++}`]
  const names = { nodeId, interruptId, kind, key }
  run.emit(
    'interrupt.requested',
    nodeId,
    { runId: run.runId, ...names, data, ...limits, requestedAt },
    { pass: 0, cause },
  )
  const due = Math.min(
    limits.timeoutMs ?? Number.POSITIVE_INFINITY,
    node.settings?.timeoutMs ?? Number.POSITIVE_INFINITY,
  )
  state.asked = { interruptId, kind, data, votes: [], dueAt: Number.isFinite(due) ? run.at + due : undefined }
  const older = olderRequest(state.asked, nodeId)
  if (older !== undefined) run.emit(older[0], nodeId, older[1], { pass: 0 })
  run.emit('node.suspended', nodeId, { ...names, ...suspended }, { pass: 0 })
  state.phase = 'suspended'
}

/** Someone answers, or time runs out. */
export function hear(run: SimulatedRun, node: Node, state: NodeState, asked: Asked): void {
  const { choose } = run.world
  const { interruptId, dueAt } = asked
  run.at += choose(20)
  if (dueAt !== undefined && (run.at >= dueAt || chance(choose, 4))) {
    run.at = Math.max(run.at, dueAt)
    const approval = asked.kind === 'approval' || asked.kind === 'low-confidence'
    return close(run, node, state, asked, { value: approval ? { action: 'reject' } : null, by: 'timeout' })
  }
  const answer = answerTo(asked, choose, run.time())
  const names = { nodeId: node.id, interruptId }
  if (answer.is === 'answer') return close(run, node, state, asked, answer)
  if (answer.is === 'question') {
    run.emit('assay.interrupt.asked', node.id, { ...names, by: 'ann', question: 'What is it?' }, { pass: 0 })
    return
  }
  const { voter, action, closes } = answer
  run.emit('assay.interrupt.voted', node.id, { ...names, voter, action, by: voter }, { pass: 0 })
  state.asked = { ...asked, votes: [...asked.votes, { voter, action }] }
  if (closes !== undefined) close(run, node, state, asked, closes)
}

function close(run: SimulatedRun, node: Node, state: NodeState, asked: Asked, { value, by }: Closing | Silence): void {
  const { kind, interruptId } = asked
  const nodeId = node.id
  const [late, rejected, at] = [by === 'timeout', value?.action === 'reject', run.time()]
  const outcome = rejected ? { outcome: 'rejected' } : late ? { outcome: 'timed-out' } : {}
  const masked = !late && chance(run.world.choose, 6)
  const resolved = {
    nodeId,
    interruptId,
    kind,
    resumeValue: masked ? '[REDACTED]' : value,
    resolvedAt: at,
    resolvedBy: by,
    ...outcome,
    ...(late ? { reason: 'timeout' } : { shownHash: 'h'.repeat(43) }),
  }
  const secret = masked ? { resumeValue: value } : undefined
  const answeredAt = run.emit('interrupt.resolved', nodeId, resolved, { pass: 0, secret })
  if (kind === 'approval') {
    const told = late ? { action: 'timeout' } : { action: value?.action, decidedBy: by }
    run.emit('approval.received', nodeId, { nodeId, ...told, decidedAt: at }, { pass: 0 })
  }
  if (kind === 'clarification' && !late)
    run.emit('clarification.resolved', nodeId, { nodeId, answers: value?.answers, answeredBy: by }, { pass: 0 })
  run.emit('node.resumed', nodeId, { nodeId, interruptId }, { pass: 0 })
  state.phase = 'running'
  delete state.asked
  run.goOn(node, state, { kind, value, late, rejected, answeredAt })
}

/** What was answered, or that nobody did. */
export type Heard = {
  readonly kind: string
  readonly value: Silence['value'] | Closing['value']
  readonly late: boolean
  readonly rejected: boolean
  /** Sequence of the answer. */
  readonly answeredAt: number
}
