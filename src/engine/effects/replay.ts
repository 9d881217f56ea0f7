import { Replay } from '../../core/replay/decide.js'
import type { Fork } from '../../core/replay/events.js'
import { inherited } from '../../core/replay/fork.js'
import type { Rules } from '../../core/run/decide.js'
import { MAX_EVENTS } from '../../core/run/decision-context.js'
import type { Recorded } from '../../core/run/events.js'
import { WORK_LIMITS } from '../../core/work-limits.js'
import type { Store } from '../ports/store.js'
import { decode } from '../runtime/encode.js'
import { keptState } from '../runtime/snapshot.js'
import type { PerformEffect } from './effect-context.js'
import { type AnswerToday, answersOfToday } from './replay-today.js'

/**
 * Goes on with a replay that its first commit did not finish. It is told again from its beginning, which gives the same
 * events, and what is not in its log yet is appended.
 */
export const replay: PerformEffect<'replay'> = async (context, { rules, runId, tenant, state }, { fork }, signal) => {
  const replay = await openReplay(context.store, rules, fork, runId)
  const known = state.phase === 'absent' ? 0 : state.next
  const diverged = state.phase !== 'absent' && state.diverged
  const answer = await answersOfToday(context, { runId, tenant, fork, known, diverged })
  const batch = () => nextBatch(replay, known, answer)
  for (let events = await batch(); events !== undefined; events = await batch()) {
    if (signal.aborted) return undefined
    if (events.length > 0) await context.runs.submit(runId, { type: 'Retold', events }, { asHolder: true })
    await context.turns.next(tenant)
  }
  // Cannot be, by the rules; if it is, the run must not be told again for ever.
  if (replay.state.phase === 'active') return { input: { type: 'CancelRun', by: 'host', reason: 'replay-has-no-end' } }
  return undefined
}

/** A replay at the point where it parts from its source. */
export async function openReplay(store: Store, rules: Rules, fork: Fork, runId: string): Promise<Replay> {
  const { sourceRunId, fromSeq, sourceLength } = fork
  const kept = (await keptState(store, sourceRunId, fromSeq)) ?? { phase: 'absent' }
  const from = kept.phase === 'absent' ? 0 : kept.next
  const rows = await store.readEvents(sourceRunId, from, sourceLength - from)
  const log = rows.map(row => decode(sourceRunId, row))
  return new Replay(rules, inherited(kept, runId, fork), fork, runId, log)
}

/**
 * A commit's worth of events from `known` on, and no more than may be decided in one go; none, if that was all of it.
 * Undefined when everything has been told.
 */
export async function nextBatch(
  replay: Replay,
  known: number,
  answer: AnswerToday,
): Promise<readonly Recorded[] | undefined> {
  const events: Recorded[] = []
  const before = replay.steps
  while (events.length < MAX_EVENTS && replay.steps - before < WORK_LIMITS.decision) {
    const { question, state } = replay
    const told = replay.next(question && state.phase === 'active' ? await answer(question, state.next) : undefined)
    if (told === undefined) return events.length > 0 ? events : undefined
    events.push(...told.filter(({ sequence }) => sequence >= known))
  }
  return events
}
