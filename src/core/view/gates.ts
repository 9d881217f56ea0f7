import { labelConfirmed, labelTold } from '../verification/label.js'
import type { KnownEvent, KnownOf } from './public-event.js'
import { type GatingView, type NodeView, nodeOf, type SlotView, type ViewDraft } from './run-view.js'

/** Results at gates: what is being judged, and what gates have said of each place of work. */

export function foldGate(draft: ViewDraft, event: KnownEvent): void {
  const { nodeId } = event
  if (nodeId === undefined) return
  const before = nodeOf(draft, nodeId)
  if (event.type === 'node.started') return renewSlots(draft, nodeId, event)
  if (before.gating !== undefined) foldSlots(draft, before, before.gating, event, nodeId)
  const after = changed(before, event)
  if (after !== undefined) draft.nodes.set(nodeId, after)
  if (event.type === 'assay.rework.began' && event.payload.point === 'run') goBack(draft, event.sequence)
}

function changed(before: NodeView, event: KnownEvent): NodeView | undefined {
  switch (event.type) {
    case 'assay.result.staged': {
      const { point } = event.payload
      if (point === 'run') return { ...before, staged: 'run', attempt: 0 }
      return { ...before, staged: point === 'tool' ? 'tool' : 'node' }
    }
    case 'dws.verification.started':
      return { ...before, gating: begun(event) }
    case 'assay.verification.held':
      return event.payload.proceeds ? passed(before) : undefined
    case 'dws.verification.verdict_rendered': {
      if (event.payload.proceeds) return passed(before)
      const label = event.payload.label ?? labelConfirmed(event.payload)
      return before.gating && label ? { ...before, gating: { ...before.gating, label } } : undefined
    }
    case 'agent.verified':
      return event.payload.verdict === 'pass' ? passed(before) : undefined
    case 'assay.result.withheld':
      return passed(before)
    case 'assay.tool.delivered':
    case 'assay.tool.withheld':
      return toldOf(before)
    case 'assay.rework.began':
      return event.payload.point === 'node' ? again(before) : passed(before)
    default:
      return undefined
  }
}

function begun({ payload }: KnownOf<'dws.verification.started'>): GatingView {
  const { gateId = '', attempt = 1, targetRef = '', point = 'node', workerId } = payload
  return { gateId, attempt, target: targetRef, point, ...(workerId !== undefined && { workerId }) }
}

/** The gate is done with the result; whatever stands behind it has its turn. */
function passed(before: NodeView): NodeView {
  const { gating: _, ...others } = before
  return others
}

/** The agent goes on, with what the tool has brought or without it. */
function toldOf(before: NodeView): NodeView {
  const { gating: _gating, staged: _staged, ...others } = before
  return others
}

/** The agent does the same task again. */
function again(before: NodeView): NodeView {
  const { gating: _gating, staged: _staged, invocation: _invocation, ...others } = before
  return { ...others, attempt: 0 }
}

/** The run goes back to one of its phases, and the events do not say which nodes follow it. */
function goBack(draft: ViewDraft, sequence: number): void {
  draft.setBack = sequence
  for (const [nodeId, node] of draft.nodes) {
    if (node.staged !== 'run') continue
    const { staged: _staged, gating: _gating, asked: _asked, ...before } = node
    draft.nodes.set(nodeId, before)
  }
}

function foldSlots(draft: ViewDraft, node: NodeView, gating: GatingView, event: KnownEvent, nodeId: string): void {
  if (gating.point === 'none' || gating.point === 'goal') return
  const key = slotOf(node, gating, nodeId)
  const known = draft.slots.get(key)
  const { gateId, target, workerId } = gating
  const slot: SlotView = {
    ...known,
    gateId,
    nodeId,
    ...(workerId !== undefined && { workerId }),
    ...(gating.point === 'run' && { atExit: true }),
    target,
    attempts: known?.attempts ?? 0,
  }
  // What became of it without anybody's judgement was an attempt, too.
  const attempts = Math.max(slot.attempts, gating.attempt)
  switch (event.type) {
    case 'dws.verification.verdict_rendered':
      draft.slots.set(key, { ...slot, attempts: slot.attempts + 1 })
      return
    case 'assay.verification.held':
      if (event.payload.proceeds) draft.slots.set(key, { ...slot, attempts })
      return
    case 'agent.verified': {
      const { verdict } = event.payload
      const { label: _, ...others } = slot
      const label = labelTold(event.payload, gating.label)
      draft.slots.set(key, { ...others, attempts, ...(verdict !== undefined && { verdict }), ...(label && { label }) })
    }
  }
}

/** One gate over one place of work: a node, one worker of a node, or the whole run. */
function slotOf({ workers = [] }: NodeView, { gateId, target, point, workerId }: GatingView, nodeId: string): string {
  if (point === 'run') return JSON.stringify([gateId])
  if (point === 'tool') return JSON.stringify([gateId, nodeId, target])
  const at = workers.findIndex(worker => worker.childRunId === target)
  const occurrence = workers.slice(0, Math.max(at, 0)).filter(worker => worker.workerId === workerId).length
  return JSON.stringify(workerId === undefined ? [gateId, nodeId] : [gateId, nodeId, workerId, occurrence])
}

/** A node that begins its work anew begins its attempts anew, unless it was told to do the same work again. */
function renewSlots({ slots }: ViewDraft, nodeId: string, { payload }: KnownOf<'node.started'>): void {
  if ((payload.attempt ?? 0) !== 0) return
  for (const [key, slot] of slots)
    if (slot.nodeId === nodeId && slot.attempts > 0 && !slot.atExit && slot.verdict !== 'revise')
      slots.set(key, { ...slot, attempts: 0 })
}
