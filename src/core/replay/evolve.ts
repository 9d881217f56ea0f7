import { ceilingsOf } from '../budget/decide.js'
import { orphaned } from '../handoff/evolve.js'
import { changed } from '../interrupt/evolve.js'
import { type Draft, putNode } from '../run/draft.js'
import { rest } from '../run/idle-time.js'
import { nodeAt } from '../run/state.js'
import type { OnWorkers, Waiting } from '../run/waiting.js'
import { orphanedVerifiers } from '../verification/evolve.js'
import type { RunForked } from './events.js'

/**
 * The run goes on as one of its own: between the event it was cut at and now, time stood still. Children belong to the
 * source; those it still waits for are started anew.
 */
export function branch(draft: Draft, forked: RunForked, away: number): void {
  const { configurable, tags, metadata, principalScope, workflowDigest, traceparent } = forked
  const { configurable: before } = draft.started
  draft.started = {
    ...draft.started,
    ...(configurable === undefined ? {} : { configurable: { ...before, ...configurable } }),
    ...(tags === undefined ? {} : { tags }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(principalScope === undefined ? {} : { principalScope }),
    ...(workflowDigest === undefined ? {} : { workflowDigest }),
    ...(traceparent === undefined ? {} : { traceparent }),
  }
  // Whoever branches off may let the run spend more, or less; what it has spent stays spent.
  if (configurable?.budget !== undefined) draft.budget = ceilingsOf(draft)
  draft.startedAt += away
  if (draft.idleSince !== null) draft.idleSince += away
  if (draft.mode.kind === 'paused' || draft.mode.kind === 'pausing') draft.mode = { kind: 'running' }
  for (const index of draft.open) {
    const node = nodeAt(draft, index)
    if (node.is !== 'waiting' && node.is !== 'retrying') continue
    // Calls that the source has paid for are not this run's: what it makes of its own, it pays for.
    const { calls: _, ...own } = node
    putNode(draft, index, own.is === 'waiting' ? moved(own, away, draft.lastAt) : { ...own, dueAt: own.dueAt + away })
  }
  // Nor are peers that it gave up, or whoever called it.
  delete draft.lostPeers
  delete draft.origin
  rest(draft)
}

/** The same wait, later, and without what belongs to the source. */
function moved(before: Waiting, away: number, at: number): Waiting {
  const { halted } = before
  const shifted = {
    ...before,
    sinceAt: before.sinceAt + away,
    ...(halted ? { halted: { ...halted, at: halted.at + away } } : {}),
  }
  const later = changed(shifted, asked => ({ ...asked, requestedAt: asked.requestedAt + away }))
  switch (later.on) {
    case 'agent':
      return { ...later, invocation: { ...later.invocation, inherited: true } }
    case 'workers':
      return { ...later, workers: orphaned(later.workers, at), ...movedHold(later.hold, away) }
    case 'gate': {
      const held = { ...later, ...movedHold(later.hold, away) }
      if (held.point === 'tool') return { ...held, invocation: { ...held.invocation, inherited: true } }
      return held.point === 'node' && held.invocation
        ? { ...held, invocation: { ...held.invocation, inherited: true } }
        : held
    }
    default:
      return later
  }
}

function movedHold<Hold extends NonNullable<OnWorkers['hold']>>(hold: Hold | undefined, away: number) {
  if (hold === undefined) return {}
  const gating = 'gating' in hold ? { gating: orphanedVerifiers(hold.gating) } : {}
  const due = 'dueAt' in hold && hold.dueAt !== undefined ? { dueAt: hold.dueAt + away } : {}
  return { hold: { ...hold, ...gating, ...due } }
}
